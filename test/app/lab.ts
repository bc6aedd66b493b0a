/** A laboratory without a GPU: results as a worker would bring them, and a model server that plays all four agents. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newRootSeed, Prng } from '../../main/base/random.ts';
import type {
  Arm,
  Comparison,
  JobBundle,
  JobResult,
  Machine,
  Problem,
  SampleSet,
  SessionPlan,
  SessionResult,
  StepResult,
} from '../../main/contract/index.ts';
import { jobHash } from '../../main/jobs/bundle-hash.ts';
import { comparison, gpu, peaks, timeResult } from '../evaluate/fakes.ts';
import { chunk, end, type Handler, ModelServer, stream, usage } from '../llm/server.ts';

export const root = join(import.meta.dirname, '..', '..');

export const machine: Machine = {
  host: 'lab',
  gpu: { name: gpu.name, uuid: gpu.uuid, cc: gpu.cc },
  driver: '580.1',
  toolkit: '13.0',
  nvcc: '13.0.88',
  hostCompiler: 'g++ 12',
  ncu: null,
  containment: 'bubblewrap',
};

/** A candidate that passes the screen; the laboratory reads from its comment how fast it is, or that it is wrong. */
export function candidate(lab: string): string {
  const source = readFileSync(join(root, 'test/candidates/dot_product/faster.cu'), 'utf8');
  return `// lab: ${lab}\n${source}`;
}

const verdictOf = (source: string): { wrong: boolean; speed: number } => {
  const lab = /\/\/ lab: (\S+)/.exec(source)?.[1] ?? '1';
  return { wrong: lab === 'wrong', speed: lab === 'wrong' ? 1 : Number(lab) };
};

const outputsOf = (problem: Problem, bad: boolean): Comparison[] =>
  problem.buffers
    .filter((b) => b.role !== 'in')
    .map((b) =>
      comparison({
        output: b.name,
        compared: b.count,
        ...(bad
          ? { bad: b.count, worst: 1e6, rms: 1e5, allZero: true, first: [{ index: 0, got: 0, want: 1, limit: 1e-6 }] }
          : {}),
      }),
    );

/** Times of every arm, ns: large against every floor, so that nothing is suspect. */
function samplesOf(plan: Extract<SessionPlan, { mode: 'time' }>, speeds: Record<string, number>): SampleSet[] {
  const prng = new Prng(newRootSeed());
  const sets: SampleSet[] = [];
  const add = (process: number, kind: 'full' | 'solo', arms: readonly Arm[]) =>
    plan.problems.forEach((_p, problem) => {
      for (const quantity of ['span', 'wrapper'] as const) {
        const times = (id: string) =>
          Array.from(
            { length: 16 },
            () => ((1e6 * (problem + 1)) / (speeds[id] ?? 1)) * (1 + 0.004 * (prng.next() - 0.5)),
          );
        sets.push({
          process,
          kind,
          problem,
          quantity,
          blocks: 8,
          arms: Object.fromEntries(arms.map((a) => [a.id, times(a.id)])),
        });
      }
    });
  for (let p = 0; p < plan.processes; p++) add(p, 'full', plan.arms);
  for (let p = 0; p < plan.soloProcesses; p++) add(plan.processes + p, 'solo', plan.arms.slice(0, 1));
  return sets;
}

function sessionResult(plan: SessionPlan, sources: { best: string; candidate: string }): SessionResult | null {
  const { wrong, speed } = verdictOf(sources.candidate);
  const speeds = { O: 1, B: verdictOf(sources.best).speed, C: speed };
  if (plan.mode === 'verify')
    return {
      mode: 'verify',
      gpu,
      incidents: [],
      checks: plan.problems.flatMap((problem) =>
        Array.from({ length: plan.seeds }, (_, i) => ({
          problem: problem.id,
          seed: String(i).padStart(16, '0'),
          outputs: outputsOf(problem, wrong && plan.arm.id === 'C'),
          firstCallNs: 1e6,
        })),
      ),
    };
  if (plan.mode === 'time') {
    const pointR = plan.arms.some((a) => a.id === 'C')
      ? speed / (plan.arms.some((a) => a.id === 'B') ? speeds.B : 1)
      : null;
    return timeResult(samplesOf(plan, speeds), {
      phase: plan.phase,
      gpu,
      peaks,
      pointR,
      nominated: pointR === null ? null : pointR > plan.nominateAbove,
    });
  }
  if (plan.mode === 'sanitize')
    return {
      mode: 'sanitize',
      incidents: [],
      runs: plan.tools.flatMap((tool) =>
        plan.problems.map((p) => ({ tool, problem: p.id, exitCode: 0, errors: 0, log: '' })),
      ),
    };
  return null;
}

const step = (id: string, status: StepResult['status'], more: Partial<StepResult> = {}): StepResult => ({
  id,
  status,
  exitCode: status === 'ok' ? 0 : null,
  signal: null,
  wallMs: 5,
  cached: false,
  command: '',
  stdout: '',
  stderr: '',
  ...more,
});

/** What a worker would have found for a job. */
export function resultFor(bundle: JobBundle, where: Machine = machine): JobResult {
  const text = (name: string) => bundle.contents.get(bundle.job.files[name] ?? '') ?? '';
  const sources = { best: text('best.cu'), candidate: text('candidate.cu') };
  const { wrong } = verdictOf(sources.candidate);
  let nominated = true;
  const steps = bundle.job.steps.map((s): StepResult => {
    if (s.kind === 'build') return step(s.id, 'ok');
    if ((wrong && s.ifVerified) || (s.ifNominated && !nominated)) return step(s.id, 'skipped');
    const session = sessionResult(s.plan, sources);
    if (!session)
      return step(s.id, 'environment', { reason: { code: 'env.ncu-missing', message: 'no ncu in the laboratory' } });
    if (session.mode === 'time' && session.nominated === false) nominated = false;
    return step(s.id, 'ok', { session });
  });
  return {
    version: 1,
    jobHash: jobHash(bundle.job),
    machine: where,
    startedAt: new Date().toISOString(),
    wallMs: 10,
    steps,
    outputs: {},
  };
}

const fenced = (code: string): string => `Here it is.\n\n\`\`\`cuda\n${code}\n\`\`\`\n`;

/** Plays the agents by what their prompts say. The Coder's answer follows from its request alone, as after a crash. */
export const model =
  (delayMs = 0): Handler =>
  async (response, seen) => {
    const messages = (seen.body.messages ?? []) as { role: string; content: string }[];
    const prompt = messages.map((m) => m.content).join('\n');
    await new Promise((r) => setTimeout(r, delayMs));
    const text = reply(prompt);
    await stream([chunk(text.slice(0, 9)), chunk(text.slice(9)), end(), usage(5000, 50)])(response, seen);
  };

export function reply(prompt: string): string {
  if (prompt.includes('You plan the optimization')) {
    const round = 1 + (prompt.match(/lab-scheme-\d/g) ?? []).reduce((most, s) => Math.max(most, Number(s.at(-1))), 0);
    return `lab-scheme-${round}: let each block reduce in shared memory and issue one atomic.`;
  }
  if (prompt.includes('You find out why')) return 'lab-fix: the result is never written; write it once per block.';
  if (prompt.includes('You choose nvcc')) return '["-O3", "-std=c++17"]';
  const round = Number(/lab-scheme-(\d)/.exec(prompt)?.[1] ?? 1);
  const mended = prompt.includes('lab-fix');
  return fenced(candidate(round === 1 ? (mended ? '1.5' : 'wrong') : round === 2 ? '1.2' : '2.0'));
}

export const startModel = (delayMs = 0): Promise<ModelServer> => ModelServer.start(model(delayMs));
