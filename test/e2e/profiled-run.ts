/**
 * A run in a history whose profiles come from real pages of ncu (test/fixtures/ncu): an origin with source page and roofline, a version
 * with metrics alone, one whose counters were forbidden, one that did not compile. Times are made up.
 */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type {
  Estimate,
  Evaluation,
  Profile,
  ProfileResult,
  RunConfig,
  RunEvent,
  SourcePage,
} from '../../main/contract/index.ts';
import { interpretProfile } from '../../main/profile/interpret.ts';
import { parseSource } from '../../main/profile/parse-source.ts';
import { Store } from '../../main/store/index.ts';
import { gpu } from '../evaluate/fakes.ts';

const page = (name: string): string => readFileSync(new URL(`../fixtures/ncu/${name}`, import.meta.url), 'utf8');
const PEAKS = { bytesPerS: 4.2e12, flopsPerS: { fp32: 60e12 } };

const around = (value: number, by = 0.01): Estimate => ({
  value,
  lo: value * (1 - by),
  hi: value * (1 + by),
  level: 0.99,
});

/** An evaluation as the engine stores it; `speed` over the origin, null: without figures. */
export function evaluation(speed: number | null, profile: Profile | null, over: Partial<Evaluation> = {}): Evaluation {
  const size = (n: number, weight: number) => ({
    problem: `published/${n}`,
    dims: { n },
    weight,
    originSpanNs: around(n * 100),
    bestSpanNs: around(n * 100),
    candidateSpanNs: speed === null ? null : around((n * 100) / speed),
    originWrapperNs: around(n * 100 + 4000),
    candidateWrapperNs: speed === null ? null : around((n * 100) / speed + 4000),
    speedup: speed === null ? null : around(speed),
    versusBest: speed === null ? null : around(speed),
    wrapperVersusBest: speed === null ? null : around(speed),
    floorNs: n * 10,
  });
  const phase = speed === null ? ('baseline' as const) : ('confirm' as const);
  return {
    outcome: speed === null ? 'valid' : 'accepted',
    reason: speed === null ? 'measured' : `${speed} times as fast`,
    digest: '',
    verified: true,
    figures: {
      phase,
      sizes: [size(1024, 0.2), size(4096, 0.8)],
      score: speed === null ? null : around(speed),
      pMin: speed,
      geomean: speed,
      ratio: speed === null ? null : around(speed),
      processes: 5,
      calls: 480,
      voided: 0,
    },
    error: { maxUlp: 1.5, rmsUlp: 0.3, worstOfLimit: 0.1, problem: 'published/4096' },
    wrong: [],
    incidents: [],
    build: { registers: 40, spillBytes: 0, sharedBytes: 8192, diagnostics: '' },
    profile,
    gpu,
    machine: null,
    jobWallMs: 1000,
    ...over,
  };
}

function profileOf(raw: string, source: string | null): Profile {
  const csv = page(raw);
  const sourceCsv = source === null ? '' : page(source);
  const result: ProfileResult = {
    mode: 'profile',
    ncuVersion: '2025.3.1.0',
    rawCsv: csv,
    sourceCsv: '',
    detailGz: gzipSync(csv).toString('base64'),
    ...(source === null ? {} : { sourceGz: gzipSync(sourceCsv).toString('base64') }),
    stages: [
      { ...stage, stage: 'verdict', launch: null, metrics: ['gpu__time_duration.sum'] },
      {
        ...stage,
        stage: 'evidence',
        launch: 0,
        metrics: ['sm__inst_issued.avg.pct_of_peak_sustained_elapsed'],
        sections: ['SourceCounters'],
        passes: 9,
      },
    ],
    log: '',
    exitCode: 0,
    incidents: [],
  };
  return interpretProfile(result, {
    problem: 'published/4096',
    activities: null,
    pages: { detail: csv, source: sourceCsv },
    peaks: PEAKS,
    statics: [
      {
        symbol: '_Z17gemm_naive_kernelPKfS0_Pfi',
        kernel: 'gemm_naive_kernel',
        arch: 'sm_90',
        registers: 40,
        stackBytes: 0,
        spillStoreBytes: 0,
        spillLoadBytes: 0,
        sharedBytes: 0,
        constantBytes: 556,
        barriers: 0,
      },
    ],
  });
}

const stage = { unknown: [], sections: [], launches: 1, passes: 1, collectMs: 2100, importMs: 300 };

const FORBIDDEN: Profile = {
  status: 'unavailable',
  reason: 'This user may not read the GPU’s performance counters (ERR_NVGPUCTRPERM).',
  remedy: 'Set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module, or give the container CAP_SYS_ADMIN.',
  ncuVersion: '2025.3.1.0',
  problem: 'published/4096',
  launches: [],
  verdict: null,
  filtered: [],
};

/** The text that the source page was made from, as far as the page prints it. */
export function pageText(of: SourcePage = parseSource(page('src_cuda_sass.csv'))): string {
  const lines = of.functions[0]?.lines ?? [];
  const last = Math.max(...lines.map(({ line }) => line));
  return Array.from(
    { length: last },
    (_, i) => lines.find(({ line }) => line === i + 1)?.text ?? `// line ${i + 1} makes no code`,
  ).join('\n');
}

export const config: RunConfig = {
  task: 'square_matrix_mul',
  dtype: 'fp32',
  rounds: 3,
  debugAttempts: 1,
  profile: 'filtered',
  sizeSet: 'published',
  provider: 'recording',
  model: 'none',
  executor: 'recording',
  arch: 'sm_90',
  maxUsd: null,
  maxTokens: null,
  maxMinutes: null,
  notes: '',
};

/** Writes the events of a finished run; gives back its id. */
export async function storeRun(
  store: Store,
  events: readonly RunEvent[],
  over: Partial<RunConfig> = {},
): Promise<string> {
  const driven = await store.begin({
    kind: 'optimize',
    config: { ...config, ...over },
    options: {},
    rootSeed: '0'.repeat(64),
    originHash: '',
    taskHash: '',
    programVersion: '0.1.0',
    environment: null,
  });
  for (const [i, event] of events.entries()) await driven.log.event(`e${i}`, event);
  await driven.release();
  return driven.id;
}

const attempt = (round: number, source: string, made: Evaluation): RunEvent[] => [
  { type: 'round-started', round },
  { type: 'scheme', round, scheme: `Scheme of round ${round}: tile through shared memory.` },
  { type: 'attempt-started', round, attempt: 0 },
  { type: 'source', round, attempt: 0, source, compileArgs: ['-O3'] },
  { type: 'evaluated', round, attempt: 0, evaluation: made },
  {
    type: 'round-ended',
    round,
    accepted: made.outcome === 'accepted',
    outcome: made.outcome,
    score: made.figures?.score?.value ?? null,
  },
];

export function profiledEvents(): RunEvent[] {
  const text = pageText();
  return [
    { type: 'run-started', rootSeed: '0'.repeat(64), config, originSource: text, programVersion: '0.1.0' },
    { type: 'baseline', evaluation: evaluation(null, profileOf('gemm_full_raw.csv', 'src_cuda_sass.csv')) },
    ...attempt(1, `${text}\n// round 1\n`, evaluation(1.8, profileOf('spmv_asked_raw.csv', null))),
    ...attempt(2, `${text}\n// round 2\n`, evaluation(2.4, FORBIDDEN)),
    ...attempt(
      3,
      '__global__ void broken(',
      evaluation(null, null, {
        outcome: 'compile-error',
        reason: 'error: expected a ")"',
        digest: 'candidate.cu(1): error: expected a ")"',
        verified: false,
        figures: null,
        error: null,
        build: null,
        gpu: null,
      }),
    ),
    { type: 'run-ended', status: 'done', error: null },
  ];
}

/** Makes the run in the history at `folder`. */
export async function storeProfiledRun(folder: string): Promise<string> {
  const store = await Store.open(folder);
  try {
    return await storeRun(store, profiledEvents());
  } finally {
    await store.close();
  }
}
