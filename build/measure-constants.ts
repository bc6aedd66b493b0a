/**
 * Measures the error constants of the tasks on the CPU: `node build/measure-constants.ts [--runs N] [--task ID] [--write]`.
 *
 * build/constants/TASK.cpp computes each task in orders that correct versions use and in precisions and ways that must be
 * caught, on the harness's own inputs and against the task's own reference, over whole verifications (all sizes and special
 * inputs, one seed each: the least that a real verification runs). --write puts the table into docs/error-constants.md; with
 * --task, that task's part of it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { deriveSeed } from '../main/base/random.ts';
import { type Dtype, type Task, unwrap } from '../main/contract/index.ts';
import { loadTask, shippedTasks, taskIds, verifyProblems } from '../main/evaluate/task/index.ts';
import { problemText } from '../main/jobs/session/problem-text.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Fixed, so that everybody gets the same table. */
const rootSeed = 'error-constants';

interface Row {
  readonly problem: string;
  /** The output compared; tasks with one output may leave it out. */
  readonly output?: string;
  readonly variant: string;
  readonly correct: boolean;
  /** Smallest constant with which every element passes; null = none. */
  readonly c: number | null;
  readonly rms: number | null;
  readonly broken: number;
  readonly fails: boolean;
}

/** One variant over all verifications. */
export interface Summary {
  readonly variant: string;
  readonly correct: boolean;
  /** Correct: largest constant needed. Wrong: smallest constant with which some verification would have passed. */
  readonly c: number;
  /** Of wrong versions, without the edge sizes: what a version that errs on long inputs only would need. */
  readonly cDrawn: number;
  /** Largest RMS of error over limit (correct), smallest of the verifications' largest (wrong). */
  readonly rms: number;
  /** Where the largest c was needed. */
  readonly problem: string;
  /** Verifications that failed. */
  readonly failed: number;
}

const worst = (row: Row): number => (row.broken > 0 || row.c === null ? Number.POSITIVE_INFINITY : row.c);
const rmsOf = (row: Row): number => (row.broken > 0 || row.rms === null ? Number.POSITIVE_INFINITY : row.rms);
const largest = <T>(items: readonly T[], key: (item: T) => number): T =>
  items.reduce((best, item) => (key(item) > key(best) ? item : best));

/**
 * @param runs rows of each verification.
 * @param isEdge whether a problem id belongs to the task's edge sizes.
 */
export function summarize(runs: readonly (readonly Row[])[], isEdge: (problem: string) => boolean): Summary[] {
  const names = [...new Set(runs.flat().map((row) => row.variant))];
  return names.map((variant) => {
    const perRun = runs.map((rows) => rows.filter((row) => row.variant === variant));
    const tops = perRun.map((rows) => largest(rows, worst));
    const rms = perRun.map((rows) => Math.max(...rows.map(rmsOf)));
    const correct = (tops[0] as Row).correct;
    const top = correct ? largest(tops, worst) : largest(tops, (row) => -worst(row));
    return {
      variant,
      correct,
      c: worst(top),
      cDrawn: Math.min(...perRun.map((rows) => Math.max(...rows.filter((row) => !isEdge(row.problem)).map(worst)))),
      rms: correct ? Math.max(...rms) : Math.min(...rms),
      problem: top.problem,
      failed: perRun.filter((rows) => rows.some((row) => row.fails)).length,
    };
  });
}

function compile(id: string, folder: string): string {
  const program = join(folder, id);
  const includes = ['kernels/harness', join(shippedTasks, id), 'build/constants'].map((dir) => `-I${join(root, dir)}`);
  const flags = ['-std=c++17', '-O2', '-ffp-contract=off', '-pthread', '-Wall', '-Wextra'];
  execFileSync(
    process.env.CXX ?? 'g++',
    [...flags, ...includes, '-o', program, join(root, 'build/constants', `${id}.cpp`)],
    { stdio: 'inherit' },
  );
  return program;
}

/** Rows of one whole verification. */
function verification(program: string, task: Task, dtype: Dtype, run: number): Row[] {
  const seed = deriveSeed(rootSeed, task.id, dtype, run);
  const input = verifyProblems(task, dtype, seed)
    .map((problem, index) => {
      const callSeed = deriveSeed(seed, index);
      return `${problem.id} ${callSeed}\nproblem ${callSeed} ${problemText(problem, 'guarded')}\nend\n`;
    })
    .join('');
  const child = spawnSync(program, [], {
    input,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (child.status !== 0) throw new Error(`${program} ended with ${child.status ?? child.signal}`);
  return child.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}

const figure = (value: number): string =>
  value === Number.POSITIVE_INFINITY
    ? '∞'
    : value === 0
      ? '0'
      : value >= 1000
        ? value.toExponential(1)
        : value.toPrecision(2);

type Tolerance = NonNullable<Task['tolerance'][Dtype]>[number];

/** `## id, dtype`; outputs after the first are named. */
function section(task: Task, dtype: Dtype, tolerance: Tolerance, summaries: readonly Summary[], runs: number): string {
  const other = tolerance === task.tolerance[dtype]?.[0] ? '' : `, ${tolerance.output}`;
  const right = summaries.filter((s) => s.correct);
  const wrong = summaries.filter((s) => !s.correct);
  const needed = Math.max(...right.map((s) => s.c));
  const nearest = largest(wrong, (s) => -s.cDrawn);
  const lines = [
    `## ${task.id}, ${dtype}${other}`,
    '',
    tolerance.rounding === 'exact'
      ? `Bit equality is demanded. ${runs} verifications.`
      : `c = ${tolerance.c}, RMS bound ${tolerance.rms}; ${runs} verifications. Correct versions need c ≤ ${figure(needed)} (reserve ${figure(tolerance.c / needed)}×) and have RMS ≤ ${figure(Math.max(...right.map((s) => s.rms)))}; the nearest wrong one (${nearest.variant}), at drawn sizes alone, would pass from c = ${figure(nearest.cDrawn)} (${figure(nearest.cDrawn / tolerance.c)}×).`,
    '',
    '| version | must | c | c, drawn sizes | largest RMS | decided by | failed |',
    '|---|---|---|---|---|---|---|',
    ...summaries.map(
      (s) =>
        `| ${s.variant} | ${s.correct ? 'pass' : 'fail'} | ${s.correct ? '≤' : '≥'} ${figure(s.c)} | ${s.correct ? '' : `≥ ${figure(s.cDrawn)}`} | ${s.correct ? '≤' : '≥'} ${figure(s.rms)} | ${s.problem} | ${s.failed}/${runs} |`,
    ),
  ];
  return lines.join('\n');
}

const preamble = `# Error constants

Generated by \`build/measure-constants.ts --write\`; do not edit. Each version of a task was computed on the CPU on the harness's own
inputs (\`verify\` sizes and special inputs, one seed each) and compared with the task's \`reference.h\` by the judge's rule:
|y − r| ≤ u_out·|r| + c·u_acc·√n·M for every element, and root mean square of error over limit below the bound.

**c**: for a version that must pass, the largest constant that any element of any verification needed; for one that must fail, the smallest
constant with which one whole verification would have let it pass (∞: none, because a value is not finite, or wrong where an exact one is
demanded); **drawn sizes**: the same without the edge sizes, for versions that err on long inputs only. **failed**: verifications that found
a fault at the constants in force. A wrong version may fail by the RMS bound where single elements pass.
`;

/** The table with these sections, by task and dtype; others stay as they are unless all tasks were measured. */
function updateTable(file: string, fresh: readonly string[], keepOthers: boolean): void {
  const heading = (text: string): string => text.slice(0, text.indexOf('\n'));
  const old =
    keepOthers && existsSync(file)
      ? readFileSync(file, 'utf8')
          .trim()
          .split(/\n(?=## )/)
          .slice(1)
      : [];
  const sections = new Map([...old.map((text) => text.trim()), ...fresh].map((text) => [heading(text), text]));
  const sorted = [...sections.values()].sort((a, b) => {
    const [[task1, dtype1], [task2, dtype2]] = [heading(a).split(', '), heading(b).split(', ')] as [string[], string[]];
    return task1 === task2
      ? (dtype1 as string) < (dtype2 as string)
        ? 1
        : -1
      : (task1 as string) < (task2 as string)
        ? -1
        : 1;
  });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${preamble}\n${sorted.join('\n\n')}\n`);
}

function main(): void {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '40' },
      task: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  });
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < 1)
    throw new Error(`--runs ${values.runs}: expected a whole number of at least 1`);
  const folder = mkdtempSync(join(tmpdir(), 'cm-constants-'));
  const sections: string[] = [];
  let faults = 0;
  try {
    for (const id of values.task ? [values.task] : taskIds(root)) {
      const { task } = unwrap(loadTask(root, id));
      const program = compile(id, folder);
      for (const dtype of task.dtypes) {
        const rows = Array.from({ length: runs }, (_, run) => verification(program, task, dtype, run));
        const { count, always } = task.sizes.verify;
        const isEdge = (id: string): boolean => {
          const index = Number(/^verify\/(\d+)/.exec(id)?.[1]);
          return index >= count && index < count + always.length;
        };
        const tolerances = task.tolerance[dtype] ?? [];
        if (tolerances.length === 0) throw new Error(`${id} has no tolerance for ${dtype}`);
        for (const tolerance of tolerances) {
          const own = rows.map((list) => list.filter((row) => (row.output ?? tolerance.output) === tolerance.output));
          const summaries = summarize(own, isEdge);
          faults += summaries.filter((s) => (s.correct ? s.failed > 0 : s.failed < runs)).length;
          sections.push(section(task, dtype, tolerance, summaries, runs));
          console.log(`${sections.at(-1)}\n`);
        }
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (values.write) updateTable(join(root, 'docs/error-constants.md'), sections, values.task !== undefined);
  console.log(
    faults === 0
      ? 'Every correct version passed and every wrong one failed, each time.'
      : `${faults} versions were judged wrongly at least once.`,
  );
  process.exitCode = faults === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
