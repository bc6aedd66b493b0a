/** What clumsy and hostile hands type: refused with a cause, never an unexpected fault, nothing lost. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { unwrap } from '../../main/contract/index.ts';
import { createHost } from '../../main/host/index.ts';
import { root } from '../app/lab.ts';
import { inProcess } from './program.ts';

vi.setConfig({ testTimeout: 240_000 });

const home = mkdtempSync(join(tmpdir(), 'cm-clumsy-'));
const ctx = { emit: () => {} };
const { services } = createHost({ root });
let run = '';

beforeAll(async () => {
  vi.stubEnv('CUDAMASTER_HOME', home);
  vi.stubEnv('CUDA_VISIBLE_DEVICES', '');
  run = unwrap(await services.replay({ file: join(root, 'test/recordings/debug-from-wrong.json') }, ctx)).id;
}, 60_000);
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

it('is refused with its cause and an exit code of the catalogue', async () => {
  const many = 'x'.repeat(5000);
  const optimize = ['optimize', 'dot_product', '--executor', 'bundle', '--arch', 'sm_90'];
  const cases: [string[], number, RegExp][] = [
    [['show', ''], 7, /^The name of the run is empty\.$/],
    [['show', many], 7, /There is no run x/],
    [['show', '../../etc'], 7, /There is no run/],
    [['show', "' OR 1=1 --"], 7, /There is no run/],
    [['delete', ':'], 7, /is empty/],
    [['restore', `${run}:origin:x`], 2, /names no version/],
    [['pin', run], 2, /names no version/],
    [['note', `${run}:r1.a0`, 'n'.repeat(20_001)], 2, /at most 20000 characters; this one has 20001/],
    [['export', run, '--out', ''], 2, /name of the file to write is empty/],
    [['export', run, '--out', '/'], 2, /is a folder/],
    [['record', run, '--out', '/proc/x'], 2, /cannot be written/],
    [['runs', '--limit', '0'], 2, /from 1 on/],
    [['runs', '--limit', '1e3'], 2, /whole number/],
    [['eval', 'dot_product', '--candidate', '/dev/zero'], 2, /too large/],
    [['eval', 'dot_product', '--candidate', home], 2, /is a folder/],
    [['eval', '../dot_product', '--candidate', '/dev/null'], 2, /There is no task/],
    [['eval', '__proto__', '--candidate', '/dev/null'], 2, /There is no task/],
    [[...optimize, '--rounds', '0'], 2, /from 1 on/],
    [[...optimize, '--notes', 'n'.repeat(20_001)], 2, /at most 20000 characters; these have 20001/],
    [[...optimize, '--provider', 'constructor', '--model', 'm'], 2, /There is no provider/],
    [[...optimize, '--provider', 'openai', '--model', 'm', '--key-env', 'constructor'], 5, /constructor.* is not set/],
    [[...optimize, '--provider', 'openai', '--model', 'm', '--key-env', '__proto__'], 5, /__proto__.* is not set/],
    [[...optimize, '--from', 'last'], 2, /names no version/],
    [['models', '--provider', 'custom', '--base-url', 'file:///etc/passwd'], 2, /must begin with http/],
    [['prices', 'set', '', '--input', '1', '--output', '1', '--source', 's'], 2, /This price cannot be entered/],
    [['prices', 'set', 'm', '--input', '1e309', '--output', '1', '--source', 's'], 2, /amount/],
    [['replay', '/dev/zero'], 2, /too large/],
    [['replay', join(root, 'test/recordings/index.json')], 2, /not a recording/],
    [['resume', run, '--answer', join(root, 'README.md')], 2, /does not wait/],
    [['bench', 'resume', '..'], 7, /There is no bench/],
    [['worker', '/dev/null'], 2, /cannot be used/],
    [['purge', ''], 7, /is empty/],
  ];
  for (const [args, code, message] of cases) {
    const ran = await inProcess(...args, '--json');
    const error = ran.last.error as { code: string; message: string };
    expect([args.slice(0, 4), ran.code]).toEqual([args.slice(0, 4), code]);
    expect(error.message).toMatch(message);
    expect([args, error.code]).not.toContain('internal');
    expect(`${ran.out}${ran.err}`).not.toMatch(/\n {4}at /);
  }
  // Refused before anything was begun: the history holds the one run of before.
  expect(unwrap(await services.runs({}, ctx)).map((r) => r.id)).toEqual([run]);
});

it('a version to start from is named like everywhere else: by a part of the run, or "last"', async () => {
  const task = ['optimize', 'dot_product', '--executor', 'bundle', '--arch', 'sm_90', '--rounds', '1'];
  const ran = await inProcess(...task, '--from', 'last:r1.a1', '--json');
  expect(ran.code).toBe(75);
  const id = String(ran.last.run);
  expect(unwrap(await services.history({ task: 'dot_product' }, ctx)).some((v) => v.run === id)).toBe(true);
  const shown = await services.show({ run: id }, ctx);
  expect(shown.ok && shown.value.state.config?.startFromWrong?.label).toBe(`version ${run}:r1.a1`);
});

it('a note keeps what can be shown, and nothing that cuts it short', async () => {
  const row = unwrap(await services.editVersion({ version: `${run}:r1.a0`, edit: { note: 'before\0after' } }, ctx));
  expect(row.note).toBe('beforeafter');
  expect(readFileSync(join(home, 'data', 'history.db')).length).toBeGreaterThan(0);
});

it('no profile is told as the origin’s where there is none', async () => {
  const begun = await inProcess('optimize', 'softmax', '--executor', 'bundle', '--arch', 'sm_90', '--json');
  const ran = await inProcess('profile', '--of', String(begun.last.run), '--json');
  expect([ran.code, ran.out.trim().split('\n').length]).toEqual([7, 1]);
});

it('settings written by hand need no version; a misspelt word is told, never taken for none', async () => {
  const file = join(home, 'config', 'settings.json');
  const before = existsSync(file) ? readFileSync(file) : null;
  onTestFinished(() => (before === null ? rmSync(file) : writeFileSync(file, before)));
  mkdirSync(join(home, 'config'), { recursive: true });
  const remote = ['models', '--provider', 'openai', '--yes-remote', '--json'];
  const ask = async (text: string) => {
    writeFileSync(file, text);
    const ran = await inProcess(...remote);
    return [ran.code, (ran.last.error as { code: string }).code, (ran.last.error as { message: string }).message];
  };
  expect((await ask('{"localOnly": true}')).slice(0, 2)).toEqual([5, 'provider.local-only']);
  for (const text of ['{"localonly": true}', '{"version": 1, "local_only": true}', '{"tools": {"nvc": "/x"}}'])
    expect(await ask(text)).toEqual([2, 'format.invalid', expect.stringMatching(/localonly|local_only|nvc/)]);
});
