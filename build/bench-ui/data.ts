/** A generated history that is as large as the goals of the screens say: 10,000 versions, a page of 5,000 instructions, a run to write to. */
import { join } from 'node:path';
import type { Profile, RunEvent, SourceView } from '../../main/contract/index.ts';
import { openDatabase } from '../../main/store/db/open.ts';
import { type DrivenRun, Store } from '../../main/store/index.ts';
import { config, evaluation, profiledEvents, storeRun } from '../../test/e2e/profiled-run.ts';

export const VERSIONS = 10_000;
export const INSTRUCTIONS = 5000;
const LINES = 600;
const STALLS = [
  'long_scoreboard short_scoreboard lg_throttle mio_throttle tex_throttle math_pipe_throttle gmma warpgroup_arrive barrier membar',
  'wait dispatch branch_resolving no_instruction imc_miss drain sleeping misc not_selected selected',
].flatMap((names) => names.split(' '));

/** Reproducible numbers in [0, 1) (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Every instruction has samples of all 20 stalls: no cell of the page is empty. */
export function generatedSource(): { readonly view: SourceView; readonly text: string } {
  const next = numbers(1);
  const text = Array.from(
    { length: LINES },
    (_, i) =>
      `  for (int k = 0; k < n; k += blockDim.x) sum${i} += tile[threadIdx.x + ${i}] * __ldg(&in[k + ${i}]); // step ${i}`,
  );
  const instructions = Array.from({ length: INSTRUCTIONS }, (_, i) => {
    const stalls = Object.fromEntries(STALLS.map((id) => [id, 1 + Math.floor(next() ** 6 * 400)]));
    return {
      address: `0x7f35557a${(i * 16).toString(16).padStart(6, '0')}`,
      offset: i * 16,
      sass: `@!P${i % 6} LDG.E.64.CONSTANT R${i % 250}, desc[UR4][R${(i * 7) % 250}.64+0x${(i % 4096).toString(16)}]`,
      lines: [Math.floor((i * LINES) / INSTRUCTIONS)],
      samples: Object.values(stalls).reduce((sum, n) => sum + n, 0),
      executed: 1000,
      stalls,
    };
  });
  const lines = text.map((words, at) => {
    const own = instructions.flatMap((row, i) => (row.lines[0] === at ? [i] : []));
    const stalls = Object.fromEntries(
      STALLS.map((id) => [id, own.reduce((sum, i) => sum + (instructions[i]?.stalls[id] ?? 0), 0)]),
    );
    return {
      file: 'candidate.cu',
      line: at + 1,
      text: words,
      instructions: own,
      samples: Object.values(stalls).reduce((sum, n) => sum + n, 0),
      executed: 1000,
      stalls,
    };
  });
  const samples = instructions.reduce((sum, row) => sum + row.samples, 0);
  return {
    text: text.join('\n'),
    view: {
      function: 'generated_kernel(const float *, float *, int)',
      files: ['candidate.cu'],
      samples,
      lines,
      instructions,
      omitted: { lines: 0, instructions: 0 },
      notes: [],
    },
  };
}

/** The events of the test history, its origin with the generated page instead of ncu's. */
function largeProfile(): RunEvent[] {
  const { view, text } = generatedSource();
  return profiledEvents().map((event): RunEvent => {
    if (event.type === 'run-started') return { ...event, originSource: text };
    if (event.type !== 'baseline') return event;
    return { ...event, evaluation: evaluation(null, { ...(event.evaluation.profile as Profile), source: view }) };
  });
}

export interface BenchHistory {
  /** Run whose origin has the large page. */
  readonly profiled: string;
  /** A run that this process drives, so that its events reach the screens as those of any other process. */
  readonly live: DrivenRun;
  readonly store: Store;
}

export async function makeHistory(folder: string): Promise<BenchHistory> {
  const store = await Store.open(folder);
  const profiled = await storeRun(store, largeProfile());
  const many = await storeRun(store, profiledEvents().slice(0, 2), { task: 'softmax' });
  await addVersions(folder, many);
  const live = await store.begin({
    kind: 'optimize',
    config,
    options: {},
    rootSeed: '0'.repeat(64),
    originHash: '',
    taskHash: '',
    programVersion: '0.1.0',
    environment: null,
  });
  for (const [i, event] of profiledEvents().slice(0, 4).entries()) await live.log.event(`e${i}`, event);
  return { profiled, live, store };
}

/** Rows as events would have left them, without writing 30,000 events. */
async function addVersions(folder: string, run: string): Promise<void> {
  const { db } = await openDatabase(join(folder, 'history.db'));
  const words = ['softmax', 'spmv_csr', 'dot_product', 'matrix_transpose', 'gelu'];
  const outcomes = ['accepted', 'not-faster', 'wrong-result', 'compile-error', 'trade-off'];
  const next = numbers(2);
  await db.transaction(async (tx) => {
    for (let i = 0; i < VERSIONS; i++) {
      const outcome = outcomes[i % outcomes.length] as string;
      const score = outcome === 'wrong-result' || outcome === 'compile-error' ? null : 0.5 + next() * 40;
      await tx.run(
        `INSERT INTO versions (run, round, attempt, task, dtype, kind, label, outcome, reason, verified, score, score_lo, score_hi,
         score_level, p_min, bottleneck, registers, gpu, at, parent, rev) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
        [
          run,
          1 + Math.floor(i / 10),
          i % 10,
          words[Math.floor(next() * words.length)] as string,
          i % 2 === 0 ? 'fp32' : 'bf16',
          'optimize',
          `version ${i}: tiles of ${16 << (i % 4)}, ${i % 7} stages`,
          outcome,
          'generated for measuring the screens',
          score === null ? 0 : 1,
          score,
          score === null ? null : score * 0.99,
          score === null ? null : score * 1.01,
          score === null ? null : 0.99,
          score === null ? null : score * 0.8,
          'memory-latency',
          32 + (i % 128),
          'NVIDIA H200',
          new Date(Date.UTC(2026, 0, 1) + i * 60_000).toISOString(),
          null,
          1_000_000 + i,
        ],
      );
    }
  });
  await db.close();
}

/** Writes `perSecond` durable events for `ms`; gives back the rate that was reached. */
export async function writeEvents(live: DrivenRun, perSecond: number, ms: number, name: string): Promise<number> {
  const start = performance.now();
  let written = 0;
  for (;;) {
    const elapsed = performance.now() - start;
    if (elapsed >= ms) return (written * 1000) / elapsed;
    const due = Math.min(40, Math.floor((elapsed * perSecond) / 1000) - written);
    await Promise.all(
      Array.from({ length: Math.max(0, due) }, (_, i) =>
        live.log.event(`${name}${written + i}`, {
          type: 'notice',
          position: 'r1.a0.eval',
          message: `Event ${written + i} of a lively run: something worth knowing has happened.`,
        }),
      ),
    );
    written += Math.max(0, due);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
