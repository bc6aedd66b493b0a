import { join } from 'node:path';
import { briefOf, loadPrompts } from '../../main/agents/index.ts';
import { hashJson } from '../../main/base/hash.ts';
import {
  type ChatProvider,
  type ChatRequest,
  type Evaluation,
  type Executor,
  FORMAT,
  type JobResult,
  type Outcome,
  ok,
  type RunConfig,
  type RunEvent,
  type RunLog,
  type StepRequest,
  type StepResponse,
  type Task,
  type TransientEvent,
  taskSchema,
  unwrap,
} from '../../main/contract/index.ts';
import type { Evaluator, LoopConfig, LoopDeps } from '../../main/optimizer/index.ts';

/** Crash of the driving process, as the loop sees it: nothing after it happens. */
export class Crash extends Error {}

interface StepEntry {
  request: StepRequest;
  response: StepResponse;
}

/** RunLog in memory with the semantics of the contract; can be copied (what a crash leaves) and can crash after n writes. */
export class MemoryLog implements RunLog {
  readonly steps = new Map<string, StepEntry>();
  readonly events: { key: string; event: RunEvent }[] = [];
  readonly open = new Set<string>();
  readonly transients: TransientEvent[] = [];
  executed: string[] = [];
  writesLeft = Number.POSITIVE_INFINITY;

  #write(): void {
    if (this.writesLeft-- <= 0) throw new Crash('crashed');
  }

  async step<T extends StepResponse>(
    position: string,
    request: StepRequest,
    execute: Parameters<RunLog['step']>[2] extends () => Promise<infer _> ? () => Promise<never> : never,
  ): Promise<never> {
    const stored = this.steps.get(position);
    if (stored) return { kind: 'done', response: structuredClone(stored.response) as T, replayed: true } as never;
    this.#write();
    this.open.add(position);
    const outcome = (await (execute as () => Promise<unknown>)()) as
      | { kind: 'done'; response: T }
      | { kind: 'parked'; waiting: unknown };
    if (outcome.kind === 'parked') return outcome as never;
    this.#write();
    this.executed.push(position);
    this.steps.set(position, structuredClone({ request, response: outcome.response }));
    this.open.delete(position);
    return { ...outcome, replayed: false } as never;
  }

  async event(key: string, event: RunEvent): Promise<void> {
    if (this.events.some((e) => e.key === key)) return;
    this.#write();
    this.events.push(structuredClone({ key, event }));
  }

  async forget(position: string): Promise<void> {
    this.#write();
    this.steps.delete(position);
  }

  transient(event: TransientEvent): void {
    this.transients.push(event);
  }

  /** What another process finds after this one is gone. */
  copy(): MemoryLog {
    const next = new MemoryLog();
    for (const [k, v] of this.steps) next.steps.set(k, structuredClone(v));
    next.events.push(...structuredClone(this.events));
    for (const p of this.open) next.open.add(p);
    return next;
  }

  of<K extends RunEvent['type']>(type: K): Extract<RunEvent, { type: K }>[] {
    return this.events.map((e) => e.event).filter((e): e is Extract<RunEvent, { type: K }> => e.type === type);
  }
}

export const task: Task = taskSchema.parse({
  version: 1,
  id: 'scale',
  title: 'Vector scaling',
  category: 'tensor',
  prompt: 'y[i] = 2 x[i] for i in [0, N).',
  dtypes: ['fp32', 'bf16'],
  dims: ['N'],
  wrapper: {
    name: { fp32: 'scale', bf16: 'scale_bf16' },
    params: [
      { role: 'out', name: 'y', elem: 'T', count: 'N' },
      { role: 'in', name: 'x', elem: 'T', count: 'N', generator: { kind: 'uniform', lo: -1, hi: 1 } },
      { role: 'scalar', name: 'N', ctype: 'int', value: 'N' },
    ],
  },
  sizes: {
    published: [{ N: 1024 }, { N: 1048576 }],
    large: [{ N: 1048576 }],
    verify: { count: 2, dims: { N: { min: 1, max: 4096 } } },
  },
  verifyInputs: [],
  weight: 'N',
  flops: 'N',
  bytes: { read: 'N*sizeof(T)', write: 'N*sizeof(T)' },
  streaming: true,
  persist: 'nothing.',
  tolerance: { fp32: [], bf16: [] },
  deviations: [
    { published: 'absolute tolerance', ours: 'Every element is checked relative to its size.', reason: 'honesty' },
  ],
});

export const originSource = `#include <cuda_runtime.h>
__global__ void scale_kernel(float* y, const float* x, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = 2.0f * x[i];
}
extern "C" void scale(float* y, const float* x, int N) { scale_kernel<<<(N + 255) / 256, 256>>>(y, x, N); }
`;

export const includes = ['cuda_runtime.h', 'cub/*'];

/** A candidate whose comment tells the scripted evaluator what to make of it: `// verdict: accepted 1.5`. */
export const candidate = (verdict: string): string => `#include <cuda_runtime.h>
// verdict: ${verdict}
__global__ void scale_kernel_optimized(float* y, const float* x, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = 2.0f * x[i];
}
extern "C" void scale_optimized(float* y, const float* x, int N) {
  scale_kernel_optimized<<<(N + 255) / 256, 256>>>(y, x, N);
}
`;

export const runConfig = (change: Partial<RunConfig> = {}): RunConfig => ({
  task: 'scale',
  dtype: 'fp32',
  rounds: 3,
  debugAttempts: 3,
  profile: 'filtered',
  sizeSet: 'published',
  provider: 'scripted',
  model: 'scripted',
  executor: 'local',
  arch: 'native',
  maxUsd: null,
  maxTokens: null,
  maxMinutes: null,
  notes: '',
  ...change,
});

const estimate = (value: number) => ({ value, lo: value * 0.99, hi: value * 1.01, level: 0.99 });

const gpu: Evaluation['gpu'] = {
  name: 'Test GPU',
  uuid: 'GPU-0',
  cc: '9.0',
  sms: 132,
  l2Bytes: 50 * 2 ** 20,
  memoryBytes: 80 * 2 ** 30,
  smClockMHz: 1980,
  memClockMHz: 2619,
  maxThreadsPerSm: 2048,
  regsPerSm: 65536,
  sharedPerSm: 233472,
  sharedPerBlockOptin: 232448,
  driver: 13000,
  runtime: 13000,
};

/** An evaluation as main/evaluate would make it. */
export function evaluation(outcome: Outcome, score: number | null, reason: string = outcome): Evaluation {
  const size = (n: number, s: number | null) => ({
    problem: `published/${n}`,
    dims: { N: n },
    weight: n,
    originSpanNs: estimate(2000),
    bestSpanNs: null,
    candidateSpanNs: s === null ? null : estimate(2000 / s),
    originWrapperNs: null,
    candidateWrapperNs: null,
    speedup: s === null ? null : estimate(s),
    versusBest: s === null ? null : estimate(s),
    wrapperVersusBest: null,
    floorNs: 900,
  });
  const measured = outcome === 'valid' || score !== null;
  return {
    outcome,
    reason,
    digest: ['valid', 'accepted', 'not-faster', 'trade-off', 'environment'].includes(outcome)
      ? ''
      : `digest of ${outcome}`,
    verified: measured,
    figures: measured
      ? {
          phase: outcome === 'valid' ? 'baseline' : 'confirm',
          sizes: [size(1024, score), size(1048576, score)],
          score: score === null ? null : estimate(score),
          pMin: score,
          geomean: score,
          ratio: score === null ? null : estimate(score),
          processes: 3,
          calls: 100,
          voided: 0,
        }
      : null,
    error: null,
    wrong: [],
    incidents: [],
    build: { registers: 32, spillBytes: 0, sharedBytes: null, diagnostics: '' },
    profile: {
      status: 'complete',
      ncuVersion: '2025.3.1',
      problem: 'published/1',
      launches: [
        {
          index: 0,
          kernel: 'scale_kernel',
          grid: [4096, 1, 1],
          block: [256, 1, 1],
          cc: '9.0',
          metrics: { 'sm__throughput.avg.pct_of_peak_sustained_elapsed': { available: true, value: 12.5, unit: '%' } },
        },
      ],
      verdict: {
        bottleneck: 'memory-bandwidth',
        launchBound: false,
        why: 'DRAM 71 % > 30 %.',
        thresholds: { compute: 30, dram: 30, memory: 30 },
        launch: 0,
      },
      filtered: [
        {
          id: 'dram',
          label: 'DRAM Throughput',
          meaning: 'Share of the peak DRAM rate.',
          value: { available: true, value: 71.25, unit: '%' },
        },
        {
          id: 'maxbw',
          label: 'Max Bandwidth',
          meaning: 'Busiest memory unit.',
          value: { available: false, reason: 'not collected on this GPU' },
        },
      ],
    },
    gpu,
    machine: {
      host: 'test',
      gpu: null,
      driver: '580',
      toolkit: '13.0',
      nvcc: '13.0',
      hostCompiler: 'g++ 12',
      ncu: null,
      containment: 'none',
    },
    jobWallMs: 1000,
  };
}

/** Plans a job that names its label; `result` decides from the candidate's own comment. */
export const scriptedEvaluator = (rejects: (source: string) => boolean = () => false): Evaluator => ({
  plan(request) {
    if (request.candidate && rejects(request.candidate.source))
      return ok({ kind: 'rejected', evaluation: evaluation('screen-rejected', null, 'host thread') });
    const files = { 'candidate.cu': request.candidate?.source ?? 'none' };
    return ok({
      kind: 'job',
      bundle: {
        job: { version: FORMAT.job, label: request.label, arch: 'native', files, steps: [], keep: [] },
        contents: new Map(),
      },
    });
  },
  interpret(request, _bundle, result) {
    if (result.steps[0]?.status === 'environment') return evaluation('environment', null, 'no GPU');
    const verdict = /verdict: (\S+)(?: ([\d.]+))?/.exec(request.candidate?.source ?? 'verdict: valid');
    return evaluation(
      (verdict?.[1] ?? 'wrong-result') as Outcome,
      verdict?.[2] === undefined ? null : Number(verdict[2]),
    );
  },
  linked: () => null,
});

export const jobResult = (status: 'ok' | 'environment' = 'ok'): JobResult => ({
  version: FORMAT.jobResult,
  jobHash: '0',
  machine: {
    host: 'test',
    gpu: null,
    driver: null,
    toolkit: '13.0',
    nvcc: null,
    hostCompiler: null,
    ncu: null,
    containment: 'none',
  },
  startedAt: '2026-01-01T00:00:00Z',
  wallMs: 60_000,
  steps: [
    {
      id: 'verify',
      status,
      exitCode: null,
      signal: null,
      wallMs: 1,
      cached: false,
      command: '',
      stdout: '',
      stderr: '',
      ...(status === 'environment'
        ? { reason: { code: 'env.gpu-lost', message: 'The GPU fell off the bus.', remedy: 'Reset it.' } }
        : {}),
    },
  ],
  outputs: {},
});

export const runsJobs = (hook: (position: string) => JobResult | 'park' | undefined = () => undefined): Executor => ({
  name: 'local',
  async execute(_bundle, { position }) {
    const result = hook(position) ?? jobResult();
    if (result === 'park') return { kind: 'parked', waiting: { for: 'bundle', path: '/b', how: 'run it' } };
    return { kind: 'done', result };
  },
});

export interface Answer {
  readonly text: string;
  readonly finish?: 'stop' | 'length';
  readonly usage?: { promptTokens: number | null; completionTokens: number | null };
  readonly costUsd?: number | null;
  readonly warnings?: string[];
}
export const fence = (code: string): string => `Here it is.\n\n\`\`\`cuda\n${code}\`\`\`\n`;

/** Answers by position; the function sees the request, so that tests can look at prompts. */
export function scripted(
  answer: (position: string, request: ChatRequest) => string | Answer | 'park',
): ChatProvider & { asked: { position: string; request: ChatRequest }[] } {
  const asked: { position: string; request: ChatRequest }[] = [];
  return {
    name: 'scripted',
    asked,
    async chat(request, { position }) {
      asked.push({ position, request });
      const said = answer(position, request);
      if (said === 'park')
        return ok({ kind: 'parked', waiting: { for: 'answer', path: `/p/${position}`, how: 'answer it' } });
      const a = typeof said === 'string' ? { text: said } : said;
      return ok({
        kind: 'done',
        reply: {
          text: a.text,
          reasoning: '',
          finish: a.finish ?? 'stop',
          usage: a.usage ?? { promptTokens: 1000, completionTokens: 200 },
          model: 'scripted',
          provider: 'scripted',
          wallMs: 1000,
          costUsd: a.costUsd === undefined ? 0.01 : a.costUsd,
          ...(a.warnings ? { warnings: a.warnings } : {}),
        },
      });
    },
  };
}

/** verdicts['r1.a0'] = "accepted 1.5": what the candidate of that attempt turns out to be. */
export const byVerdict =
  (verdicts: Record<string, string>) =>
  (position: string): string => {
    if (position.endsWith('.planner')) return `Limiter: memory.\nChange: scheme of ${position}.`;
    if (position.endsWith('.compiler')) return '{"arguments": ["-O3", "-use_fast_math"]}';
    if (position.endsWith('.debug')) return `Root cause: found at ${position}.`;
    const at = position.replace('.coder', '');
    const verdict = verdicts[at];
    if (verdict === undefined) throw new Error(`no verdict for ${position}`);
    return fence(candidate(verdict));
  };

export const prompts = unwrap(await loadPrompts(join(import.meta.dirname, '../../prompts')));

export const loopConfig = (change: Partial<RunConfig> = {}): LoopConfig => ({
  run: runConfig(change),
  rootSeed: 'ab'.repeat(32),
  programVersion: '0.1.0',
  brief: briefOf(task, 'fp32', { includes }),
  origin: { source: originSource, compileArgs: ['-O3'] },
});

export const loopDeps = (log: MemoryLog, provider: ChatProvider, change: Partial<LoopDeps> = {}): LoopDeps => ({
  log: log as unknown as RunLog,
  provider,
  executor: runsJobs(),
  evaluator: scriptedEvaluator(),
  prompts,
  drive: 'd0',
  ...change,
});

/** Everything durable of a run, for comparisons. */
export const durable = (log: MemoryLog): string => hashJson({ steps: [...log.steps].sort(), events: log.events });
