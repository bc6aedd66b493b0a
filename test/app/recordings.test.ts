import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../../main/base/spawn.ts';
import { runSummarySchema } from '../../main/contract/index.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'test/recordings');
const names = readdirSync(folder).filter((name) => name !== 'index.json');

/** What the shipped recordings are known to end with: read off the runs on the GPU, so that a change of parsers or rules is noticed. */
const ends: Record<string, { best: number | null; rounds: boolean[]; attempts: string[] }> = {
  'dot_product-fp32.json': {
    best: 128.393,
    rounds: [true, true, true],
    attempts: ['accepted', 'accepted', 'accepted'],
  },
  'spmv_csr-fp32.json': {
    best: 1.212,
    rounds: [true, false, false],
    attempts: ['accepted', 'not-faster', 'not-faster'],
  },
  'softmax-bf16.json': {
    best: 1274.592,
    rounds: [true, false, true],
    attempts: ['accepted', 'not-faster', 'accepted'],
  },
  'square_matrix_mul-fp32.json': {
    best: 26.809,
    rounds: [true, true, true],
    attempts: ['accepted', 'accepted', 'accepted'],
  },
  'debug-from-wrong.json': { best: 40.421, rounds: [true], attempts: ['wrong-result', 'accepted'] },
};

test('every shipped recording is known', () => {
  expect(names.sort()).toEqual(Object.keys(ends).sort());
});

test.each(names)(
  '%s replays through the real loop, in time, to its known end',
  async (name) => {
    const file = join(folder, name);
    expect(statSync(file).size).toBeLessThan(2 * 1024 * 1024);
    expect(readFileSync(file, 'utf8')).not.toMatch(/\/work\/|\/root\/|\/home\//);
    const home = mkdtempSync(join(tmpdir(), 'cm-recordings-'));
    const exit = await run([process.execPath, join(root, 'main/cli/entry.js'), 'replay', file, '--json'], {
      cwd: home,
      env: { PATH: process.env.PATH ?? '', CUDAMASTER_HOME: home, HOME: home, TMPDIR: tmpdir() },
      wallMs: 60_000,
      memoryMiB: null,
      outputBytes: 1 << 26,
    });
    expect(exit.stderr + exit.stdout.slice(-300)).not.toContain('"ok":false');
    expect(exit.exitCode).toBe(0);
    const summary = runSummarySchema.parse(JSON.parse(exit.stdout.trim().split('\n').at(-1) as string));
    const end = ends[name] as (typeof ends)[string];
    expect(summary.status).toBe('done');
    expect(summary.best.verified).toBe(true);
    expect(summary.best.score).toBeCloseTo(end.best as number, 2);
    expect(summary.rounds.map((r) => r.accepted)).toEqual(end.rounds);
    expect(summary.rounds.flatMap((r) => r.attempts.map((a) => a.outcome))).toEqual(end.attempts);
  },
  120_000,
);
