import { execFileSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildArm, buildShim, newFolder, runnerProgram } from './build.ts';
import { candidates, symbol } from './candidates.ts';
import { Program, positionsBlob } from './client.ts';
import { values } from './model.ts';

const seed = '00000000000000a1';
const problem = (n: number, layout = 'guarded'): string =>
  [
    layout,
    `dims N=${n}`,
    `buf x in f32 ${n} 0 uniform -1 1`,
    `buf y out f32 ${n} 1`,
    'buf s out f32 1 2',
    'arg buf 0',
    'arg buf 1',
    'arg buf 2',
    'arg float 3',
    `arg int ${n}`,
    `arg long ${n}`,
  ].join('\n');

const names = [
  'honest',
  'arguments',
  'nothing',
  'guardBefore',
  'guardAfter',
  'inputs',
  'thread',
  'crash',
  'exits',
] as const;

describe('host runner', () => {
  const dir = newFolder();
  let shim = '';
  const open: Program[] = [];
  const start = async (arms: readonly string[], n = 1000, layout = 'guarded'): Promise<Program> => {
    const p = await Program.start(runnerProgram('host'), dir);
    open.push(p);
    await p.ok('hello');
    await p.ok('shim', shim);
    for (const arm of arms) await p.ok('load', `${arm} ${arm}.so ${symbol}`);
    await p.ok('problem', problem(n, layout));
    return p;
  };
  beforeAll(() => {
    runnerProgram('host');
    shim = buildShim(dir);
    for (const name of names) buildArm(dir, name, candidates[name], symbol);
    for (const by of [1, 10]) buildArm(dir, `counter${by}`, candidates.counter(by), symbol);
  }, 300_000);
  afterAll(async () => {
    for (const p of open) await p.quit();
  });

  it('answers hello without a GPU, and passes every kind of argument', async () => {
    const p = await start(['arguments']);
    const { json } = await p.ok('hello');
    expect(json).toMatchObject({ ok: true, gpu: null, pid: p.child.pid });
    await p.ok('prepare', `${seed} read`);
    await p.ok('call', 'arguments plain');
    const y = await p.ok('gather', '1', positionsBlob([0, 1, 2, 3]));
    expect(values(y.blob, 'f32')).toEqual([3, 1000, 1000, Number.NaN]);
    const s = await p.ok('gather', '2', positionsBlob([0]));
    expect(values(s.blob, 'f32')).toEqual([1]);
  });

  it('refuses arguments that do not fit the shim', async () => {
    const p = await start(['honest']);
    await p.ok('problem', problem(10).replace('arg float 3', 'arg int 3'));
    await p.ok('prepare', `${seed} none`);
    const { json } = await p.ask('call', 'honest plain');
    expect(json).toMatchObject({ ok: false, error: 'usage', message: expect.stringContaining('pppiil') });
  });

  it('poisons outputs before each call, writes guards and reports them clean', async () => {
    const p = await start(['honest', 'nothing']);
    for (const arm of ['honest', 'nothing']) {
      await p.ok('prepare', `${seed} write`);
      await p.ok('call', `${arm} wrapper`);
      const { json } = await p.ok('check', seed);
      expect([json.guards, json.inputs]).toEqual([[], []]);
    }
    const { blob } = await p.ok('gather', '1', positionsBlob([0, 999]));
    expect(blob.toString('hex')).toBe('ff'.repeat(8));
  });

  it.each([
    ['guardBefore', 'before', 8],
    ['guardAfter', 'after', 8],
  ])('finds a write %s the data', async (arm, side, nearest) => {
    const p = await start([arm]);
    await p.ok('prepare', `${seed} none`);
    await p.ok('call', `${arm} plain`);
    const { json } = await p.ok('check', seed);
    expect(json.guards).toHaveLength(1);
    expect(json.guards[0]).toMatchObject({ buf: 'y', side });
    expect(Math.abs(json.guards[0].offset - nearest)).toBeLessThan(4);
  });

  it('finds changed inputs', async () => {
    const p = await start(['inputs']);
    await p.ok('prepare', `${seed} none`);
    await p.ok('call', 'inputs plain');
    expect((await p.ok('check', seed)).json.inputs).toEqual([{ buf: 'x', mismatches: 2, first: 17 }]);
  });

  it('reports times, activities, threads left behind', async () => {
    const p = await start(['honest', 'thread']);
    await p.ok('prepare', `${seed} none`);
    expect((await p.ask('call', 'honest span')).json).toMatchObject({ ok: false, error: 'usage' });
    await p.ok('cupti', 'on');
    await p.ok('prepare', `${seed} none`);
    const { json } = await p.ok('call', 'honest span');
    expect(json).toMatchObject({ late: 0, stragglers: 0, invalid: 0, dropped: 0, cuda: null, newThreads: [] });
    expect(json.threads[0]).toBe(json.threads[1]);
    expect(json.spanNs).toBeGreaterThan(0);
    expect(json.wrapperNs).toBeGreaterThan(0);
    expect(json.acts).toEqual([expect.objectContaining({ kind: 'kernel', n: 1, ns: json.spanNs })]);
    const left = (await p.ok('call', 'thread wrapper')).json;
    expect(left.spanNs).toBeNull();
    expect(left.threads[1] - left.threads[0]).toBe(1);
    expect(left.newThreads).toHaveLength(1);
    expect((await p.ok('call', 'honest event')).json.eventNs).toBeGreaterThan(0);
    expect((await p.ok('call', 'honest profile')).json.eventNs).toBeNull();
    expect((await p.ok('burst', 'honest 3 50')).json.totalMs).toBeGreaterThan(0);
  });

  it('keeps the state of two versions apart', async () => {
    const p = await start(['counter1', 'counter10']);
    for (const arm of ['counter1', 'counter10', 'counter1', 'counter10']) await p.ok('call', `${arm} plain`);
    await p.ok('call', 'counter1 plain');
    const read = async (buffer: number): Promise<number[]> =>
      values((await p.ok('gather', String(buffer), positionsBlob([0]))).blob, 'f32');
    expect([await read(1), await read(2)]).toEqual([[3], [3]]);
  });

  it('allocates exactly, without poison, for sanitizers', async () => {
    const p = await start(['honest'], 1000, 'exact');
    const { json } = await p.ok('problem', problem(1000, 'exact'));
    expect(json.bytes).toBe(4000 + 4000 + 4);
    await p.ok('prepare', `${seed} none`);
    expect((await p.ok('check', seed)).json).toMatchObject({ guards: [], inputs: [] });
  });

  it('works with no elements at all', async () => {
    const p = await start(['honest'], 0);
    await p.ok('prepare', `${seed} none`);
    await p.ok('call', 'honest plain');
    expect((await p.ok('gather', '1', Buffer.alloc(0))).blob).toHaveLength(0);
    await p.ok('dump', '1 empty.bin');
    expect(statSync(join(dir, 'empty.bin')).size).toBe(0);
    expect((await p.ok('check', seed)).json.guards).toEqual([]);
  });

  it('says what is wrong with a request, and goes on', async () => {
    const p = await start(['honest']);
    const refused = async (command: string, tail: string, code: string, blob?: Buffer): Promise<void> => {
      expect((await p.ask(command, tail, blob)).json, `${command} ${tail}`).toMatchObject({ ok: false, error: code });
    };
    await refused('nonsense', '', 'usage');
    await refused('hello', 'extra', 'usage');
    await refused('call', 'nobody plain', 'usage');
    await refused('call', 'honest sideways', 'usage');
    await refused('prepare', 'abc none', 'usage');
    await refused('prepare', `${seed} sometimes`, 'usage');
    await refused('gather', '9', 'usage');
    await refused('gather', '1', 'usage', Buffer.alloc(7));
    await refused('gather', '1', 'usage', positionsBlob([1000]));
    await refused('dump', '1 no/such/folder/file', 'io');
    await refused('load', 'X missing.so f', 'load');
    await refused('load', `X honest.so other_name`, 'load');
    await refused('problem', 'guarded\nbuf x in f32 10 0', 'usage');
    await refused('problem', 'guarded\nbuf x in i32 10 0 uniform 0 1', 'usage');
    await refused('problem', 'guarded\nbuf x in f32 ten 0 zeros', 'usage');
    await refused('problem', 'guarded\nbuf x in f32 10 0 wide 3 3', 'usage');
    await refused('problem', 'guarded\nwhat is this', 'usage');
    await refused('problem', 'guarded\narg buf 0', 'usage');
    await refused('problem', 'guarded\nbuf x out f32 1000000000000 0', 'memory');
    await p.ok('problem', problem(10));
    writeFileSync(join(dir, 'text.so'), 'not a library');
    await refused('load', 'X text.so f', 'load');
    p.send('hello');
    expect((await p.reply())?.json).toMatchObject({ ok: false, error: 'usage', nonce: '' });
    p.send('');
    expect((await p.reply())?.json).toMatchObject({ ok: false, error: 'usage' });
  });

  it('answers an oversized frame once and ends', async () => {
    const p = await start([]);
    p.sendRaw(Buffer.from('ffffffff00000000', 'hex'));
    expect((await p.reply())?.json).toMatchObject({ ok: false, error: 'usage' });
    expect(await p.exited).toEqual({ code: 2, signal: null });
  });

  it('ends with the stream, without running destructors of a candidate', async () => {
    const p = await start(['exits']);
    await p.ok('prepare', `${seed} none`);
    p.send('quit 0000000000000001');
    expect((await p.reply())?.json).toEqual({ ok: true, nonce: '0000000000000001' });
    expect(await p.exited).toEqual({ code: 0, signal: null });
  });

  it('shows a crash as a signal', async () => {
    const p = await start(['crash']);
    p.send('call 0000000000000001 crash plain');
    expect(await p.exited).toEqual({ code: null, signal: 'SIGSEGV' });
    expect(await p.reply()).toBeNull();
  });

  it('measures peaks and passes its own self-test', async () => {
    const p = await start([]);
    const { peaks } = (await p.ok('peaks')).json;
    for (const key of ['readBytesPerS', 'writeBytesPerS', 'copyBytesPerS', 'fp32FlopsPerS'])
      expect(peaks[key]).toBeGreaterThan(1e7);
    const { passed, checks } = (await p.ok('selftest')).json;
    expect({ passed, checks }).toMatchObject({ passed: true });
    expect((await p.ok('clocks')).json).toMatchObject({ smMHz: null, memMHz: null, foreign: [] });
  });

  it('tests itself without a broker', () => {
    const text = execFileSync(runnerProgram('host'), ['--selftest'], { encoding: 'utf8' });
    expect(JSON.parse(text)).toMatchObject({ gpu: null, selftest: { passed: true }, peaks: {}, foreign: [] });
  });
});
