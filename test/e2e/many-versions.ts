/**
 * A history of many made-up versions: what lists must stand, without the years it takes to make them. Only lists read them: the runs
 * have no events.
 */
import { join } from 'node:path';
import type { VersionRow } from '../../main/contract/api.ts';
import { Connection } from '../../main/store/db/connection.ts';
import { Store } from '../../main/store/index.ts';

const tasks = [
  'softmax',
  'dot_product',
  'spmv_csr',
  'matrix_mul',
  'layer_norm',
  'FFT',
  'conv_2d',
  'top_k',
  'sorting',
  'rope',
];
const outcomes = ['accepted', 'not-faster', 'wrong-result', 'compile-error', 'trade-off', 'bad-reply', 'suspect'];
const bottlenecks = ['memory-latency', 'memory-bandwidth', 'compute', null];
const gpus = ['NVIDIA H200', 'NVIDIA RTX 4090', 'NVIDIA A100-SXM4-80GB'];
const words =
  'vector loads shared tile cluster double buffer cp.async unrolled warp shuffle persistent split-k swizzle'.split(' ');

/** A small generator of repeatable numbers in [0, 1). */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const perRun = 21;

/** `count` versions: runs of an origin and 20 attempts, over ten kernels, three GPUs and four years. The same each time. */
export function manyVersions(count: number): VersionRow[] {
  const next = numbers(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  return Array.from({ length: count }, (_, i): VersionRow => {
    const number = Math.floor(i / perRun);
    const at = i % perRun;
    const run = `${String(230101 + (number % 28))}-${String(number % 2400).padStart(4, '0')}-${number.toString(36).padStart(4, 'x')}`;
    const round = at === 0 ? 0 : 1 + Math.floor((at - 1) / 4);
    const attempt = at === 0 ? 0 : (at - 1) % 4;
    const outcome = at === 0 ? 'valid' : pick(outcomes);
    const scored = outcome === 'accepted' || outcome === 'trade-off' || (outcome === 'not-faster' && next() < 0.5);
    const value = 0.8 * 400 ** next();
    const width = 1 + 0.02 * next();
    const id = at === 0 ? `${run}:origin` : `${run}:r${round}.a${attempt}`;
    return {
      id,
      run,
      task: tasks[number % tasks.length] as string,
      dtype: number % 3 === 0 ? 'bf16' : 'fp32',
      kind: 'optimize',
      round,
      attempt,
      label: at === 0 ? 'origin' : `r${round}.a${attempt}`,
      outcome,
      reason: outcome === 'wrong-result' ? 'loss off by 21 times the limit' : '',
      verified: scored || at === 0,
      score: scored ? { value, lo: value / width, hi: value * width, level: 0.95 } : null,
      pMin: scored ? value * (0.4 + 0.5 * next()) : null,
      sanitized: outcome === 'accepted' || outcome === 'trade-off' ? { state: 'yes', why: '' } : null,
      bottleneck: scored || at === 0 ? pick(bottlenecks) : null,
      launchBound: scored ? next() < 0.3 : null,
      maxUlp: scored ? 10 ** (4 * next()) : null,
      registers: scored ? 16 + Math.floor(next() * 200) : null,
      gpu: outcome === 'compile-error' || outcome === 'bad-reply' ? null : (gpus[number % gpus.length] as string),
      at: new Date(Date.UTC(2023, 0, 1) + number * 8 * 3_600_000 + at * 240_000).toISOString(),
      parent:
        at === 0
          ? null
          : attempt > 0
            ? `${run}:r${round}.a${attempt - 1}`
            : round === 1
              ? `${run}:origin`
              : `${run}:r${round - 1}.a3`,
      note: next() < 0.1 ? `${pick(words)} ${pick(words)} ${pick(words)}` : '',
      pinned: next() < 0.02,
      deletedAt: null,
    };
  });
}

const runColumns =
  '(id, kind, status, task, dtype, config, options, root_seed, origin_hash, task_hash, program_version, created_at, updated_at)';
const config = (task: string, dtype: string): string =>
  JSON.stringify({
    task,
    dtype,
    rounds: 5,
    debugAttempts: 3,
    profile: 'filtered',
    sizeSet: 'published',
    provider: 'manual',
    model: 'none',
    executor: 'local',
    arch: 'native',
    maxUsd: null,
    maxTokens: null,
    maxMinutes: null,
  });

/** Puts them into the history of `home` (CUDAMASTER_HOME), beside what is there. */
export async function fillHistory(home: string, count: number): Promise<void> {
  const folder = join(home, 'data');
  await (await Store.open(folder)).close();
  const db = await Connection.open(join(folder, 'history.db'), { busyMs: 5000, existing: true });
  await db.exec('BEGIN');
  let rev = Number((await db.get('SELECT coalesce(max(rev), 0) AS rev FROM versions'))?.rev ?? 0);
  for (const v of manyVersions(count)) {
    if (v.round === 0)
      await db.run(`INSERT INTO runs ${runColumns} VALUES (?,?,'done',?,?,?,'{}','00','00','00','0.1.0',?,?)`, [
        v.run,
        v.kind,
        v.task,
        v.dtype,
        config(v.task, v.dtype),
        v.at,
        v.at,
      ]);
    rev += 1;
    await db.run(
      `INSERT INTO versions (run, round, attempt, task, dtype, kind, label, outcome, reason, verified, score, score_lo, score_hi,
       score_level, p_min, bottleneck, launch_bound, max_ulp, registers, gpu, at, parent, note, pinned, rev)
       VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
      [
        v.run,
        v.round,
        v.attempt,
        v.task,
        v.dtype,
        v.kind,
        v.label,
        v.outcome,
        v.reason,
        Number(v.verified),
        v.score?.value ?? null,
        v.score?.lo ?? null,
        v.score?.hi ?? null,
        v.score?.level ?? null,
        v.pMin,
        v.bottleneck,
        v.launchBound === null ? null : Number(v.launchBound),
        v.maxUlp,
        v.registers,
        v.gpu,
        v.at,
        v.parent,
        v.note,
        Number(v.pinned),
        rev,
      ],
    );
  }
  await db.exec('COMMIT');
  await db.close();
}
