import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sha256Hex } from '../../main/base/hash.ts';
import { registerSecret } from '../../main/base/redact.ts';
import { unwrap, type VersionRow } from '../../main/contract/index.ts';
import { createHost } from '../../main/host/index.ts';

const root = join(import.meta.dirname, '../..');
const home = mkdtempSync(join(tmpdir(), 'cm-history-'));
const before = process.env.CUDAMASTER_HOME;
const ctx = { emit: () => {} };
const { services } = createHost({ root });
let run = '';

beforeAll(async () => {
  process.env.CUDAMASTER_HOME = home;
  run = unwrap(await services.replay({ file: join(root, 'test/recordings/debug-from-wrong.json') }, ctx)).id;
}, 60_000);
afterAll(() => {
  if (before === undefined) delete process.env.CUDAMASTER_HOME;
  else process.env.CUDAMASTER_HOME = before;
  rmSync(home, { recursive: true, force: true });
});

const positions = (rows: readonly VersionRow[]): string[] => rows.map((v) => v.id.split(':')[1] ?? '');

test('versions are listed by what is asked, missing figures last', async () => {
  const list = async (params: Parameters<typeof services.history>[0]) =>
    positions(unwrap(await services.history(params, ctx)));
  expect(await list({ sort: 'score' })).toEqual(['r1.a1', 'r1.a0', 'origin']);
  expect((await list({ sort: 'oldest' })).at(0)).toBe('origin');
  expect(await list({ outcome: 'wrong-result' })).toEqual(['r1.a0']);
  expect(await list({ task: 'softmax' })).toEqual([]);
  expect(await list({ dtype: 'bf16' })).toEqual([]);
  expect(await list({ sort: 'ulp' })).toEqual(['origin', 'r1.a1', 'r1.a0']);
});

test('note, pin and bin are kept, and go again', async () => {
  const edit = async (change: { note?: string; pinned?: boolean; deleted?: boolean }) =>
    unwrap(await services.editVersion({ version: 'last:r1.a1', edit: change }, ctx));
  expect(await edit({ note: 'one atomic per block' })).toMatchObject({
    id: `${run}:r1.a1`,
    note: 'one atomic per block',
  });
  expect(await edit({ pinned: true })).toMatchObject({ pinned: true, note: 'one atomic per block' });
  expect((await edit({ deleted: true })).deletedAt).not.toBeNull();
  expect(positions(unwrap(await services.history({}, ctx)))).not.toContain('r1.a1');
  expect(positions(unwrap(await services.history({ deleted: true }, ctx)))).toEqual(['r1.a1']);
  expect(await edit({ deleted: false, pinned: false, note: '' })).toMatchObject({
    deletedAt: null,
    pinned: false,
    note: '',
  });
});

test('a key in a note, or given for a name, is neither kept nor repeated', async () => {
  registerSecret('note-key-nobody-may-see');
  const edit = { note: 'asked with note-key-nobody-may-see' };
  const row = unwrap(await services.editVersion({ version: 'last:r1.a1', edit }, ctx));
  expect(row.note).toBe('asked with [redacted]');
  for (const file of readdirSync(join(home, 'data')).filter((name) => name.startsWith('history.db')))
    expect(readFileSync(join(home, 'data', file)).includes('note-key-nobody')).toBe(false);
  const wrong = await services.show({ run: 'note-key-nobody-may-see' }, ctx);
  expect(wrong.ok ? '' : wrong.error.message).toBe('There is no run [redacted] in the history.');
});

test('what does not exist is refused with its name', async () => {
  const nowhere = await services.editVersion({ version: 'last:r7.a7', edit: { pinned: true } }, ctx);
  expect(nowhere).toMatchObject({ ok: false, error: { code: 'store.not-found' } });
  const odd = await services.editVersion({ version: 'last:second', edit: {} }, ctx);
  expect(odd).toMatchObject({ ok: false, error: { code: 'usage' } });
  const exported = await services.exportVersion({ version: 'last:r7.a7', out: join(home, 'no.zip') }, ctx);
  expect(exported).toMatchObject({ ok: false, error: { code: 'store.not-found' } });
});

test('a run means its best version; the last line of --json tells file and checksum', async () => {
  const out = join(home, 'best.zip');
  const text = execFileSync(
    process.execPath,
    [join(root, 'main/cli/entry.js'), 'export', run, '--out', out, '--json'],
    {
      env: { PATH: process.env.PATH, HOME: home, CUDAMASTER_HOME: home },
      encoding: 'utf8',
    },
  );
  const told = JSON.parse(text.trim().split('\n').at(-1) ?? '') as { version: string; sha256: string; bytes: number };
  const zip = readFileSync(out);
  expect(told).toMatchObject({ version: `${run}:r1.a1`, sha256: sha256Hex(zip), bytes: zip.length });
  const other = unwrap(await services.exportVersion({ version: `${run}:r1.a0`, out: join(home, 'wrong.zip') }, ctx));
  // A wrong version can be taken along too: its report says that it is wrong.
  expect(other.version).toBe(`${run}:r1.a0`);
}, 60_000);
