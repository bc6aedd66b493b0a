import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ownTasksDir } from '../../base/paths.ts';
import {
  type AppError,
  AppFailure,
  type Dtype,
  type Evaluation,
  err,
  type Result,
  type SizeSet,
  type TaskDetail,
  type TaskEntry,
  type ToolPaths,
} from '../../contract/index.ts';
import { planEvaluation, stepIds } from '../../evaluate/plan.ts';
import {
  bytesOf,
  candidateName,
  flopsOf,
  type LoadedTask,
  loadTask,
  originName,
  problemsOf,
  signature,
  taskFolders,
  weightsOf,
} from '../../evaluate/task/index.ts';
import { buildArgv } from '../../jobs/substitute.ts';
import { resolveTools } from '../../toolchain/index.ts';
import { settingsOf, taskParts } from '../context.ts';
import { newestBaseline } from './baseline.ts';
import type { ApiContext, Handlers } from './context.ts';

const entry = (task: LoadedTask, dtype: Dtype): TaskEntry => ({
  id: task.task.id,
  dtype,
  wrapper: originName(task.task, dtype),
  title: task.task.title,
  category: task.task.category,
  sizes: { published: task.task.sizes.published.length, large: task.task.sizes.large.length },
  library: task.library !== null,
  fault: null,
  ...(task.task.category === 'user' ? { own: true } : {}),
});

/** Every task with each data type it has; one that cannot be loaded is one line with its fault. */
async function entries(root: string): Promise<TaskEntry[]> {
  const out: TaskEntry[] = [];
  const own = ownTasksDir();
  for (const { id, own: isOwn } of taskFolders(root, own)) {
    const loaded = loadTask(root, id, own);
    if (loaded.ok) out.push(...loaded.value.task.dtypes.map((dtype) => entry(loaded.value, dtype)));
    else
      out.push({
        id,
        dtype: 'fp32',
        title: null,
        category: null,
        sizes: null,
        library: false,
        fault: loaded.error.message,
        ...(isOwn ? { own: true } : {}),
      });
    // All of them take a second on a slow machine: other calls and events go on between.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return out;
}

/** Changes whenever a file of a task does. */
function stampOf(root: string): string {
  const parts: string[] = [];
  for (const { dir } of taskFolders(root, ownTasksDir()))
    for (const name of readdirSync(dir)) {
      const { mtimeMs, size } = statSync(join(dir, name));
      parts.push(`${dir}/${name} ${mtimeMs} ${size}`);
    }
  return parts.join('\n');
}

/** Checking fifty tasks takes a second: it is done once for files that stay the same. */
class TaskList {
  readonly #root: string;
  #known: { stamp: string; list: Promise<TaskEntry[]> } | null = null;

  constructor(root: string) {
    this.#root = root;
  }

  get(): Promise<TaskEntry[]> {
    const stamp = stampOf(this.#root);
    if (this.#known?.stamp === stamp) return this.#known.list;
    const known = { stamp, list: entries(this.#root) };
    this.#known = known;
    known.list.catch(() => {
      if (this.#known === known) this.#known = null;
    });
    return known.list;
  }
}

/** Scored problems with weights that sum to 1. */
function problems(task: LoadedTask, dtype: Dtype, sizeSet: SizeSet): TaskDetail['problems'] {
  const list = problemsOf(task.task, dtype, sizeSet);
  const weights = weightsOf(task.task, dtype, list);
  const sum = weights.reduce((a, b) => a + b, 0);
  return list.map((problem, i) => {
    const { read, write } = bytesOf(task.task, dtype, problem);
    return {
      id: problem.id,
      dims: problem.dims,
      weight: (weights[i] as number) / sum,
      bytes: read + write,
      flop: flopsOf(task.task, dtype, problem),
    };
  });
}

/** Looking for tools starts programs: what was found holds for a minute. */
const toolsKeptMs = 60_000;

class Tools {
  #found: { at: number; key: string; tools: Promise<Result<ToolPaths>> } | null = null;

  async get(): Promise<Result<ToolPaths>> {
    const settings = (await settingsOf()).tools;
    const key = JSON.stringify(settings);
    const known = this.#found;
    if (known?.key === key && Date.now() - known.at < toolsKeptMs) return known.tools;
    const tools = resolveTools({ require: 'nvcc', settings });
    const found = { at: Date.now(), key, tools };
    this.#found = found;
    const result = await tools;
    // What is wrong may be mended the next moment: faults are looked for again.
    if (!result.ok && this.#found === found) this.#found = null;
    return result;
  }
}

/** Words of a command as a POSIX shell reads them. */
const quoted = (arg: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`;

const archOfGpu = (evaluation: Evaluation | null): string | null =>
  evaluation?.gpu ? `sm_${evaluation.gpu.cc.replace('.', '')}` : null;

/**
 * The command that the build step of the origin runs, for reading and copying (`.` stands for the scratch folder). Without a GPU here
 * the architecture is that of the GPU which measured the baseline.
 */
async function originCommand(
  tools: Tools,
  task: LoadedTask,
  dtype: Dtype,
  sizeSet: SizeSet,
  measuredOn: string | null,
): Promise<Result<string>> {
  const found = await tools.get();
  if (!found.ok) return found;
  const arch = found.value.arch ?? measuredOn;
  if (arch === null)
    return err('env.gpu-missing', 'The architecture to compile for is not known: there is no GPU here.', {
      remedy: 'Measure the kernel once (also through a bundle), or open this on the machine with the GPU.',
    });
  const planned = planEvaluation({
    task,
    dtype,
    candidate: null,
    best: null,
    sizeSet,
    profile: 'none',
    arch,
    tries: 0,
    planSeed: '0'.repeat(64),
    label: `${task.task.id} ${dtype}`,
  });
  if (!planned.ok) return planned;
  const { job } = planned.value;
  const step = job.steps.find((s) => s.id === stepIds.origin);
  if (step?.kind !== 'build') return err('internal', 'The plan of a baseline has no build of the origin.');
  const argv = buildArgv(step, job, found.value, '.');
  return argv.ok ? { ok: true, value: argv.value.map(quoted).join(' ') } : argv;
}

async function detail(
  api: ApiContext,
  tools: Tools,
  params: { task: string; dtype: Dtype; sizeSet?: SizeSet },
): Promise<TaskDetail> {
  const { dtype, sizeSet = 'published' } = params;
  const { task } = taskParts(api.app, params.task, dtype);
  if (task.task.sizes[sizeSet].length === 0)
    throw new AppFailure(err('input.task', `Task ${params.task} has no sizes in the set "${sizeSet}".`).error);
  const baseline = await newestBaseline(await api.store(), params.task, dtype, sizeSet);
  const command = await originCommand(tools, task, dtype, sizeSet, archOfGpu(baseline?.evaluation ?? null));
  const fault: AppError | null = command.ok ? null : command.error;
  return {
    ...entry(task, dtype),
    prompt: task.task.prompt,
    deviations: task.task.deviations.map((d) => `Published: ${d.published} Here: ${d.ours} Reason: ${d.reason}`),
    signature: signature(task.task, dtype, candidateName(task.task, dtype)),
    originSource: task.origin[dtype],
    sizeSet,
    problems: problems(task, dtype, sizeSet),
    baseline,
    nvccCommand: command.ok ? command.value : null,
    nvccFault: fault,
  };
}

export function taskMethods(api: ApiContext): Handlers<'tasks.list' | 'tasks.get'> {
  const tools = new Tools();
  const list = new TaskList(api.app.root);
  return {
    'tasks.list': async () => list.get(),
    'tasks.get': (params) => detail(api, tools, params),
  };
}
