import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparisonSchema } from '../../main/contract/index.ts';
import { buildArm, buildShim, judgeProgram, newFolder, runnerProgram } from './build.ts';
import { candidates, symbol } from './candidates.ts';
import { Program, positionsBlob } from './client.ts';
import { values } from './model.ts';

const seed = '00000000000000b2';
const n = 100_003;
const u = 2 ** -24;

const problem = (limits: readonly string[], dtype: 'f32' | 'bf16' = 'f32', count = n): string =>
  [
    'guarded',
    `dims N=${count}`,
    `buf x in ${dtype} ${count} 0 uniform -1 1`,
    `buf y out ${dtype} ${count} 1`,
    'buf s out f32 1 2',
    'arg buf 0',
    'arg buf 1',
    'arg buf 2',
    dtype === 'f32' ? 'arg float 3' : 'arg bf16 3',
    `arg int ${count}`,
    `arg long ${count}`,
    ...limits,
  ].join('\n');
const usual = [`tol 1 0 0.9 ${u} ${u}`, `tol 2 4 0.9 ${u} ${u}`];
const names = ['honest', 'nothing', 'zeros', 'nan', 'everyEighth', 'oneUlp'] as const;

describe('judge', () => {
  const dir = newFolder();
  let judge: Program;
  let runner: Program;
  beforeAll(async () => {
    const shim = buildShim(dir);
    for (const name of names) buildArm(dir, name, candidates[name], symbol);
    judge = await Program.start(judgeProgram(), dir);
    runner = await Program.start(runnerProgram('host'), dir);
    await runner.ok('hello');
    await runner.ok('shim', shim);
    for (const name of names) await runner.ok('load', `${name} ${name}.so ${symbol}`);
    await runner.ok('problem', problem([]));
  }, 300_000);
  afterAll(async () => {
    await judge?.quit();
    await runner?.quit();
  });

  /** One prepared call, both outputs judged whole. */
  const run = async (arm: string, limits = usual) => {
    await judge.ok('problem', problem(limits));
    await runner.ok('prepare', `${seed} none`);
    await runner.ok('call', `${arm} plain`);
    await runner.ok('dump', '1 y.bin');
    await runner.ok('dump', '2 s.bin');
    const y = comparisonSchema.parse((await judge.ok('all', `${seed} 1 y.bin`)).json.comparison);
    const s = comparisonSchema.parse((await judge.ok('all', `${seed} 2 s.bin`)).json.comparison);
    return { y, s };
  };

  it('names its task', async () => {
    expect((await judge.ok('hello')).json).toMatchObject({ task: 'example', threads: expect.any(Number) });
  });

  it('accepts an honest result and counts its errors', async () => {
    const { y, s } = await run('honest');
    expect(y).toMatchObject({
      output: 'y',
      compared: n,
      bad: 0,
      nonFinite: 0,
      allZero: false,
      poisonLeft: 0,
      first: [],
    });
    expect([y.lastBad, y.stride, y.rmsLimit]).toEqual([null, null, 0.9]);
    // One correctly rounded multiplication: at most half an ulp, at most the whole limit.
    expect(y.maxUlp).toBeGreaterThan(0.4);
    expect(y.maxUlp).toBeLessThanOrEqual(0.5);
    expect(y.worst).toBeGreaterThan(0.9);
    expect(y.worst).toBeLessThanOrEqual(1);
    expect(s).toMatchObject({ compared: 1, bad: 0 });
  });

  it('finds poison, zeros, NaN and infinities', async () => {
    expect((await run('nothing')).y).toMatchObject({ bad: n, nonFinite: n, poisonLeft: n, worst: null, rms: null });
    const zeros = (await run('zeros')).y;
    expect(zeros).toMatchObject({ allZero: true, nonFinite: 0 });
    expect(zeros.bad).toBeGreaterThan(n - 10);
    const nan = (await run('nan')).y;
    expect(nan).toMatchObject({ bad: 2, nonFinite: 2, poisonLeft: 0, lastBad: 101 });
    expect(nan.first.map((f) => [f.index, f.got])).toEqual([
      [100, 'nan'],
      [101, 'inf'],
    ]);
  });

  it('below the smallest normal number nothing is relative: flushed to zero is right, a normal number is not', async () => {
    const tiny = (limits: readonly string[], hi: string) => problem(limits).replace('uniform -1 1', `uniform 0 ${hi}`);
    const y = async (arm: string, hi: string) => {
      await judge.ok('problem', tiny(usual, hi));
      await runner.ok('problem', tiny([], hi));
      await runner.ok('prepare', `${seed} none`);
      await runner.ok('call', `${arm} plain`);
      await runner.ok('dump', '1 y.bin');
      return comparisonSchema.parse((await judge.ok('all', `${seed} 1 y.bin`)).json.comparison);
    };
    expect(await y('zeros', '1e-39')).toMatchObject({ bad: 0, allZero: true });
    expect(await y('honest', '1e-39')).toMatchObject({ bad: 0, allZero: false });
    expect((await y('zeros', '1e-30')).bad).toBeGreaterThan(n - 100);
    await runner.ok('problem', problem([]));
  });

  it('describes a pattern: first eight, last, commonest stride', async () => {
    const { y } = await run('everyEighth');
    expect(y.bad).toBe(Math.ceil((n - 5) / 8));
    expect(y.first.map((f) => f.index)).toEqual([5, 13, 21, 29, 37, 45, 53, 61]);
    expect([y.lastBad, y.stride]).toEqual([5 + 8 * ((y.bad as number) - 1), 8]);
    const { got, want } = y.first[0] as (typeof y.first)[number];
    expect((got as number) - (want as number)).toBeCloseTo(1, 5);
  });

  it('with UOUT 0 demands the bits of the correctly rounded reference, and counts in ulp', async () => {
    const exact = ['tol 1 0 0.9 0 0', `tol 2 4 0.9 ${u} ${u}`];
    expect((await run('honest', exact)).y).toMatchObject({ bad: 0, worst: 0 });
    const { y } = await run('oneUlp', exact);
    expect(y).toMatchObject({ bad: 1, worst: 1, lastBad: 7, stride: 0 });
    expect(y.maxUlp).toBeGreaterThan(0.5);
    expect(y.maxUlp).toBeLessThanOrEqual(1.5);
  });

  it('compares sampled positions', async () => {
    await judge.ok('problem', problem(usual));
    await runner.ok('prepare', `${seed} none`);
    await runner.ok('call', 'everyEighth plain');
    const positions = [5, 6, 13, n - 1];
    const raw = (await runner.ok('gather', '1', positionsBlob(positions))).blob;
    const { json } = await judge.ok('at', `${seed} 1`, Buffer.concat([positionsBlob(positions), raw]));
    expect(json).toMatchObject({ compared: 4, bad: 2, nonFinite: 0 });
    expect(json.first.map((f: { index: number }) => f.index)).toEqual([5, 13]);
    const refused = await judge.ask('at', `${seed} 1`, Buffer.alloc(13));
    expect(refused.json).toMatchObject({ ok: false, error: 'usage' });
    const outside = await judge.ask('at', `${seed} 1`, Buffer.concat([positionsBlob([n]), Buffer.alloc(4)]));
    expect(outside.json).toMatchObject({ ok: false, error: 'usage' });
  });

  it('its own correctly rounded reference is at most half an ulp off, in both types', async () => {
    for (const dtype of ['f32', 'bf16'] as const) {
      await judge.ok('problem', problem(['tol 1 0 0.9 0 0'], dtype));
      await judge.ok('reference', `${seed} 1 ref.bin`);
      const { json } = await judge.ok('all', `${seed} 1 ref.bin`);
      expect(json.comparison).toMatchObject({ bad: 0, worst: 0 });
      expect(json.comparison.maxUlp).toBeGreaterThan(0.4);
      expect(json.comparison.maxUlp).toBeLessThanOrEqual(0.5);
    }
  });

  it('measures ulp of known values', async () => {
    // y = 3 x; the file holds the exact product moved by a known number of bf16 or f32 ulp.
    const ulps = async (dtype: 'f32' | 'bf16', move: number): Promise<number> => {
      await judge.ok('problem', problem(['tol 1 0 0.9 0 0'], dtype, 64));
      await judge.ok('reference', `${seed} 1 ref.bin`);
      const raw = readFileSync(join(dir, 'ref.bin'));
      const index = values(raw, dtype).findIndex((v) => v > 1.1 && v < 1.9);
      expect(index).toBeGreaterThanOrEqual(0);
      if (dtype === 'f32') raw.writeUInt32LE(raw.readUInt32LE(index * 4) + move, index * 4);
      else raw.writeUInt16LE(raw.readUInt16LE(index * 2) + move, index * 2);
      writeFileSync(join(dir, 'moved.bin'), raw);
      const { comparison } = (await judge.ok('all', `${seed} 1 moved.bin`)).json;
      expect(comparison).toMatchObject({ bad: 1, worst: move, lastBad: index });
      return comparison.maxUlp;
    };
    for (const dtype of ['f32', 'bf16'] as const)
      for (const move of [1, 3]) expect(Math.abs((await ulps(dtype, move)) - move)).toBeLessThanOrEqual(0.5);
  });

  it('refuses a dump of the wrong size, no limits, inputs as outputs', async () => {
    await judge.ok('problem', problem(['tol 1 0 0.9 0 0']));
    writeFileSync(join(dir, 'short.bin'), Buffer.alloc(12));
    for (const [command, tail, code] of [
      ['all', `${seed} 1 short.bin`, 'io'],
      ['all', `${seed} 1 absent.bin`, 'io'],
      ['all', `${seed} 2 s.bin`, 'usage'],
      ['all', `${seed} 0 s.bin`, 'usage'],
      ['all', `${seed} 7 s.bin`, 'usage'],
      ['input', `${seed} 1 x`, 'usage'],
      ['reference', `${seed} 1 no/such/folder`, 'io'],
      ['problem', `guarded\ntol 0 1 1 1 1`, 'usage'],
    ] as const)
      expect((await judge.ask(command, tail)).json, `${command} ${tail}`).toMatchObject({ ok: false, error: code });
  });

  it('compares nothing without complaint', async () => {
    await judge.ok('problem', problem(usual, 'f32', 0));
    writeFileSync(join(dir, 'none.bin'), '');
    const { json } = await judge.ok('all', `${seed} 1 none.bin`);
    expect(json.comparison).toMatchObject({ compared: 0, bad: 0, worst: null, rms: null, allZero: false });
  });
});
