/** The shell and the real engine in a process of its own; the module `electron` is stood in for. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bundleEngine } from '../../build/electron.ts';
import { filesOf } from '../../electron/files.ts';
import { kernelOf } from '../../electron/kernel-file.ts';
import { endOf, longRunMs, progressOf, RunWatch, taskBar } from '../../electron/runs.ts';
import { type Shell, startShell } from '../../electron/shell.ts';
import { shownRun } from '../../electron/winner.ts';
import type { RunRow, RunSnapshot, TaskEntry } from '../../main/contract/index.ts';
import { type StandIn, type StandInProcess, type StandInWindow, standIn } from './stand-in.ts';

const root = join(import.meta.dirname, '../..');
const slow = { recording: 'debug-from-wrong', slowMs: 400 };
const built = mkdtempSync(join(tmpdir(), 'cm-engine-'));
/** Until it holds; the machine may be busy. */
const soon = <T>(look: () => T) => expect.poll(look, { timeout: 40_000 });
let home: string;
let e: StandIn;
let shell: Shell;
let window: StandInWindow;

async function start(argv: readonly string[] = []): Promise<void> {
  e = standIn({ env: { ...process.env, CUDAMASTER_HOME: home }, engine: join(built, 'engine.js') });
  shell = startShell(e.api, { argv: ['electron', '.', ...argv], folder: home, resources: '' }) as Shell;
  await shell.ready;
  window = e.windows[0] as StandInWindow;
}
const runHere = async () => {
  const rows = await shell.client.call('runs.list', {});
  return rows.ok ? rows.value : [];
};

// The engine as it is shipped: one file with the native part beside it.
beforeAll(() => bundleEngine(built));
const click = (menu: string, label: string) =>
  e.menu
    .find((m) => m.label === menu || m.role === menu)
    ?.submenu?.find((i) => i.label === label)
    ?.click?.();

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-shell-'));
  process.env.CUDAMASTER_HOME = home;
});
afterEach(() => {
  e?.dispose();
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

describe('Desktop shell', () => {
  test('a screen speaks to the engine over a port; a file given at the start is taken in, and nothing runs', async () => {
    const file = join(home, 'mine.cudamaster');
    writeFileSync(file, readFileSync(join(root, 'test/recordings/dot_product-fp32.json')));
    await start(['mine.cudamaster']);
    const page = await e.loadPage();
    expect((await page.got('app.info', {})).door).toBe('electron');
    const ids = (await page.got('recordings.list', {})).map((line) => line.id);
    expect(ids.filter((id) => id.startsWith('mine-'))).toHaveLength(1);
    expect(window.webContents.sent).toContainEqual({ channel: 'go', args: ['#/run'] });
    expect(await page.got('runs.list', {})).toEqual([]);
    // A file that is none is told with its reason.
    writeFileSync(join(home, 'other.json'), '{"a": 1}');
    await shell.openFile(join(home, 'other.json'));
    expect(e.asked.at(-1)?.message).toBe('other.json is not a recording of CUDAMaster.');
    await shell.openFile(join(home, 'missing.cudamaster'));
    expect(e.asked.at(-1)?.message).toMatch(/there is no such file/);
    // What was taken in can be replayed like a shipped one.
    const { run } = await page.got('runs.replay', { recording: ids.find((id) => id.startsWith('mine-')) as string });
    await soon(async () => (await page.got('runs.get', { run })).row.status).toBe('done');
  });

  test('a second start shows the first window and opens its file there', async () => {
    await start();
    window.hide();
    const second = standIn({ env: {}, first: false });
    const argv = ['electron', '.', '--inspect', 'a.cudamaster', 'notes.txt'];
    expect(startShell(second.api, { argv, folder: '/data', resources: '' })).toBeNull();
    expect(second.app.calls).toContainEqual(['requestSingleInstanceLock', { files: ['/data/a.cudamaster'] }]);
    expect(second.app.calls).toContainEqual(['exit', 0]);
    expect([second.windows, second.engines]).toEqual([[], []]);
    e.app.emit('second-instance', {}, argv, '/data', { files: ['/data/a.cudamaster'] });
    expect(window.calls.slice(-2)).toEqual(['show', 'focus']);
    await soon(() => e.asked.at(-1)?.message).toBe('/data/a.cudamaster cannot be read: there is no such file.');
    // What another program sends under our name is looked at before it is used.
    e.app.emit('second-instance', {}, argv, '/data', { files: [42] });
    expect(e.asked).toHaveLength(1);
  });

  test('closing without a run ends engine and program, and keeps the place of the window', async () => {
    await start();
    await e.loadPage();
    expect(window.close()).toBe(true);
    await soon(() => e.app.quits).toBe(1);
    expect(e.asked).toEqual([]);
    expect(e.engines[0]?.child.exitCode).toBe(0);
    expect(JSON.parse(readFileSync(join(home, 'config/desktop/window.json'), 'utf8'))).toMatchObject({ width: 1200 });
  });

  test('closing with a run going asks: stay, go on in the tray, or pause and quit', async () => {
    await start();
    const page = await e.loadPage();
    const { run } = await page.got('runs.replay', slow);
    // Closing the question changes nothing.
    window.close();
    await soon(() => e.asked.length).toBe(1);
    expect(e.asked[0]).toMatchObject({
      message: 'A run of dot_product is going.',
      buttons: ['Continue in the tray', 'Pause and quit', 'Cancel'],
    });
    expect([e.app.quits, e.trays.length]).toEqual([0, 0]);
    e.answers.push(0);
    await shell.closing.asked();
    expect([window.calls.at(-1), e.trays.length, e.app.quits]).toEqual(['hide', 1, 0]);
    e.trays[0]?.emit('click');
    expect(window.calls.slice(-2)).toEqual(['show', 'focus']);
    // Quitting from the menu asks the same.
    e.answers.push(1);
    e.app.emit('before-quit', { preventDefault: () => {} });
    await soon(() => e.app.quits).toBe(1);
    await start();
    const after = await e.loadPage();
    expect((await after.got('runs.get', { run })).row.status).toBe('paused');
    await after.got('runs.resume', { run });
    await soon(async () => (await after.got('runs.get', { run })).row.status).toBe('done');
  });

  test('an engine that is killed is told, started anew, and its run resumed', async () => {
    await start();
    const page = await e.loadPage();
    const { run } = await page.got('runs.replay', slow);
    await soon(() => window.progress.at(-1)).toBeGreaterThan(0);
    await page.until(() => page.seen.some((m) => m.type === 'changed'));
    const first = e.engines[0] as StandInProcess;
    first.kill();
    await soon(() => window.webContents.sent.map((s) => s.channel)).toContain('engine-lost');
    await soon(() => window.webContents.ports.length).toBe(2);
    expect(window.progress.at(-1)).toBe(-1);
    const again = await e.loadPage();
    expect((await again.got('runs.get', { run })).row.status).toBe('interrupted');
    await again.got('runs.resume', { run });
    await soon(async () => (await again.got('runs.get', { run })).row.status).toBe('done');
    expect(e.asked).toEqual([]);
  });

  test('an engine that ends again and again is given up, with what it said, until the user wants another try', async () => {
    const bad = join(home, 'bad-engine.mjs');
    writeFileSync(bad, "console.error('native part missing: sk-test-1234567890abcdefghij'); process.exit(7);");
    e = standIn({ env: { ...process.env, CUDAMASTER_HOME: home }, engine: bad });
    shell = startShell(e.api, { argv: [], folder: home, resources: '' }) as Shell;
    await shell.ready;
    e.answers.push(0, 1);
    await soon(() => e.app.quits).toBe(1);
    expect(e.engines).toHaveLength(6);
    expect(e.asked.map((q) => q.message)).toEqual(Array(2).fill('The engine ends again and again.'));
    expect(e.asked[0]?.detail).toMatch(/exit code 7\nnative part missing/);
    expect(e.asked[0]?.detail).not.toContain('1234567890abcdef');
  });

  test('keys go to the engine in memory: providers see them, no file and no child environment does', async () => {
    await start();
    const page = await e.loadPage();
    const openai = async () => (await page.got('providers.list', {})).find((p) => p.name === 'openai')?.keySet;
    expect(await openai()).toBe(false);
    click('File', 'Keys of Providers…');
    expect(e.windows.at(-1)?.webContents.url).toBe('app://shell/keys.html');
    expect(await e.invoke('keys.set', 'OPENAI_API_KEY', 'sk-only-in-memory')).toEqual({ ok: true, value: undefined });
    await soon(openai).toBe(true);
    expect(JSON.stringify(e.app.calls)).not.toContain('only-in-memory');
    expect(await e.invoke('keys.set', 'not a name', 'x')).toMatchObject({ ok: false, error: { code: 'usage' } });
    await e.invoke('keys.remove', 'OPENAI_API_KEY');
    await soon(openai).toBe(false);
  });

  test('menu: every screen, files, and links that are allowed', async () => {
    await start();
    click('Go', 'New Run');
    expect(window.webContents.sent.at(-1)).toEqual({ channel: 'go', args: ['#/run/new'] });
    click('help', 'Nsight Compute Documentation');
    expect(e.opened).toEqual(['https://docs.nvidia.com/nsight-compute/']);
    e.chosen = [join(root, 'test/recordings/spmv_csr-fp32.json')];
    click('File', 'Open Recording or Kernel…');
    const listed = async () => {
      const lines = await shell.client.call('recordings.list', {});
      return lines.ok ? lines.value.map((l) => l.id) : [];
    };
    await soon(listed).toContainEqual(expect.stringMatching(/^spmv_csr-fp32-[0-9a-f]{8}$/));
    expect(await runHere()).toEqual([]);
  });
});

describe('Files of the user', () => {
  const faster = join(root, 'test/candidates/dot_product/faster.cu');

  test('a kernel is opened as a candidate of the task that its wrapper names; it is asked for before anything is built', async () => {
    await start();
    e.chosen = [faster];
    click('File', 'Open Recording or Kernel…');
    await soon(() => e.asked.length).toBe(1);
    expect(e.asked[0]).toMatchObject({
      message: 'Build and run faster.cu as a candidate of dot_product fp32?',
      detail: expect.stringContaining(faster),
      buttons: ['Run it here', 'Make a bundle for a GPU elsewhere', 'Cancel'],
    });
    // Closed: nothing was begun.
    expect(await runHere()).toEqual([]);
    e.answers.push(1);
    await shell.openFile(faster);
    const [run] = await runHere();
    expect(run).toMatchObject({ kind: 'evaluate', task: 'dot_product', dtype: 'fp32' });
    expect(window.webContents.sent.at(-1)).toEqual({ channel: 'go', args: [`#/run/${run?.id}`] });
    await soon(async () => (await runHere())[0]?.status).toBe('parked');
    const page = await e.loadPage();
    // Its first event may not be written yet when the run is parked: the version has the file's name.
    const labels = async () => (await page.got('versions.list', {})).map((v) => v.label);
    await soon(labels).toEqual(['faster.cu']);
  });

  test('a file that is no candidate is told with what it lacks, and nothing is begun', async () => {
    await start(['late.cu']);
    const tell = async (text: string) => {
      writeFileSync(join(home, 'late.cu'), text);
      await shell.openFile(join(home, 'late.cu'));
      return e.asked.at(-1);
    };
    expect(e.asked.at(-1)?.message).toMatch(/late\.cu cannot be read: there is no such file/);
    expect((await tell('__global__ void k() {}'))?.message).toBe('late.cu has the wrapper of no task.');
    const origin = readFileSync(join(root, 'kernels/mskernelbench/dot_product/origin.fp32.cu'), 'utf8');
    expect(await tell(origin)).toMatchObject({
      message: expect.stringContaining('the wrapper of an origin'),
      detail: expect.stringMatching(/Call its wrapper \w+_optimized/),
    });
    const source = readFileSync(faster, 'utf8');
    // A name in a comment is none.
    expect((await tell(`// ${source.replaceAll('\n', '\n// ')}`))?.message).toContain('the wrapper of no task');
    const other = 'extern "C" void softmax_fp32_optimized(float* y);';
    const tasks = await shell.client.call('tasks.list', {});
    const wrapper = (tasks.ok ? tasks.value : []).find((t) => t.id === 'softmax' && t.dtype === 'fp32')?.wrapper ?? '';
    expect((await tell(source + other.replace('softmax_fp32', wrapper)))?.message).toMatch(
      /several tasks: dot_product fp32, softmax fp32/,
    );
    writeFileSync(join(home, 'late.cu'), Buffer.from([0xff, 0xfe, 0x00, 0x41]));
    await shell.openFile(join(home, 'late.cu'));
    expect(e.asked.at(-1)?.buttons).toEqual(['OK']);
    await shell.openFile(home);
    expect(e.asked.at(-1)?.buttons).toEqual(['OK']);
    expect(await runHere()).toEqual([]);
  });

  test('comments that nobody closes are passed over once, however many begin', () => {
    const found = kernelOf('x.cu', '/* '.repeat(1_300_000), []);
    expect(found.ok ? '' : found.error.message).toBe('x.cu has the wrapper of no task.');
    const tasks = [{ id: 't', dtype: 'fp32', wrapper: 't_fp32' }] as unknown as readonly TaskEntry[];
    expect(kernelOf('x.cu', 'void t_fp32_optimized(); /* t_fp32(', tasks)).toMatchObject({ value: { task: 't' } });
    expect(kernelOf('x.cu', '/* open: void t_fp32_optimized();', tasks).ok).toBe(false);
  });

  test('the winner of the run that is shown is exported where the user says', async () => {
    await start();
    click('File', 'Export Winner…');
    await soon(() => e.asked.at(-1)?.message).toBe('No version was accepted yet.');
    const page = await e.loadPage();
    const { run } = await page.got('runs.replay', { recording: 'debug-from-wrong' });
    await soon(async () => (await page.got('runs.get', { run })).row.status).toBe('done');
    window.webContents.url = `app://cudamaster/index.html#/run/${run}?tab=agents`;
    // Closed: nothing is written.
    click('File', 'Export Winner…');
    await soon(() => e.saving.length).toBe(1);
    expect(e.saving[0]?.title).toBe(`Export ${run}:r1.a1`);
    expect(e.saving[0]?.defaultPath).toMatch(/^\/home\/user\/downloads\/.+\.zip$/);
    e.saveTo = join(home, 'winner.zip');
    click('File', 'Export Winner…');
    await soon(() => e.opened).toEqual([e.saveTo]);
    const bytes = readFileSync(e.saveTo);
    const wanted = await page.got('versions.export', { version: `${run}:r1.a1` });
    expect(bytes.toString('base64')).toBe(wanted.base64);
    // A place that cannot be written is told.
    e.saveTo = home;
    click('File', 'Export Winner…');
    await soon(() => e.asked.at(-1)?.message).toContain('is a folder');
  });

  test('the run that a screen shows', () => {
    const id = '261129-1755-adx3';
    for (const hash of [`#/run/${id}`, `#/run/${id}?tab=agents`, `#/kernel/${id}%3Ar1.a0`, `#/profile/${id}:origin`])
      expect([hash, shownRun(`app://cudamaster/${hash}`)]).toEqual([hash, id]);
    for (const hash of ['', '#/home', '#/run/new', '#/kernel/softmax/bf16', '#/run/%E0%A4%A', `#/compare/${id}`])
      expect([hash, shownRun(`app://cudamaster/${hash}`)]).toEqual([hash, null]);
  });
});

describe('Runs in the task bar', () => {
  const row = (id: string, drivenBy: RunRow['drivenBy'], status: RunRow['status'] = 'running'): RunRow => ({
    id,
    drivenBy,
    status,
    kind: 'optimize',
    task: 'softmax',
    dtype: 'bf16',
    provider: 'manual',
    model: 'm',
    createdAt: '2026-01-01T00:00:00Z',
    updatedAt: '2026-01-01T00:00:00Z',
    score: 12.345,
  });

  test('progress is rounds ended of those wanted; unknown is not zero', () => {
    const snapshot = (kind: string, ended: boolean[]) =>
      ({
        row: { kind },
        state: { config: { rounds: 4 }, rounds: ended.map((e) => ({ ended: e })) },
      }) as unknown as RunSnapshot;
    expect(progressOf(snapshot('optimize', [true, true, false]))).toBe(0.5);
    expect(progressOf(snapshot('evaluate', []))).toBeNull();
    expect([taskBar([]), taskBar([null]), taskBar([0]), taskBar([0.5, null])]).toEqual([-1, 2, 2, 0.5]);
  });

  test('a long run that came to rest is told, a short or a cancelled one is not', () => {
    let now = 0;
    const watch = new RunWatch(() => now);
    watch.take([row('long', 'here'), row('other', 'elsewhere')]);
    now = longRunMs - 1;
    watch.take([row('long', 'here'), row('short', 'here')]);
    now = longRunMs;
    const rested = watch.take([row('long', null, 'done'), row('short', null, 'done'), row('other', null, 'done')]);
    expect(rested.map((r) => r.id)).toEqual(['long']);
    expect(endOf(row('long', null, 'done'))).toEqual({
      title: 'softmax is done',
      body: 'Run long. Best so far: 12.35×.',
    });
    expect(endOf(row('long', null, 'cancelled'))).toBeNull();
    expect(watch.take([row('long', null, 'done')])).toEqual([]);
  });

  test('files of a command line', () => {
    expect(filesOf(['app', '--no-sandbox', 'x.CUDAMASTER', '.', '/a/b.json', 'c.cu'], '/data')).toEqual([
      '/data/x.CUDAMASTER',
      '/a/b.json',
      '/data/c.cu',
    ]);
  });
});

afterAll(() => {
  rmSync(built, { recursive: true, force: true });
  delete process.env.CUDAMASTER_HOME;
});
