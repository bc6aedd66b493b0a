/** A disk on which not even the history can be opened: told as full, whatever SQLite calls it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sqlFailure } from '../../main/store/db/connection.ts';
import { root } from '../app/lab.ts';
import { tempFolder } from './samples.ts';

it('is a full disk, in a file system of 300 KB without a page left, and goes on when there is one', () => {
  const work = tempFolder();
  const disk = join(work, 'disk');
  mkdirSync(disk);
  const script = join(work, 'script.mts');
  writeFileSync(
    script,
    `import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { Store } from ${JSON.stringify(join(root, 'main/store/index.ts'))};
const disk = ${JSON.stringify(disk)};
const said = [];
const open = async () => {
  try {
    const store = await Store.open(disk);
    said.push(['opened', (await store.runs()).length]);
    await store.close();
  } catch (fault) {
    said.push([fault.error?.code ?? String(fault), fault.error?.message ?? '']);
  }
};
await open();
for (let i = 0; i < 200; i++) try { writeFileSync(disk + '/ballast' + i, 'x'.repeat(4096)); } catch {}
await open();
for (const name of readdirSync(disk)) if (name.startsWith('ballast')) rmSync(disk + '/' + name);
await open();
console.log(JSON.stringify(said));
`,
  );
  const sandbox = ['--bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--size', '307200', '--tmpfs', disk];
  const out = execFileSync('bwrap', [...sandbox, process.execPath, script], { encoding: 'utf8' });
  expect(JSON.parse(out)).toEqual([
    ['opened', 0],
    ['env.disk-full', expect.stringMatching(/full/)],
    ['opened', 0],
  ]);
}, 60_000);

it('an error of a disk with room is the disk’s, not the program’s', () => {
  const fault = Object.assign(new Error('SQLITE_IOERR: disk I/O error'), { code: 'SQLITE_IOERR' });
  expect(sqlFailure(fault, join(tempFolder(), 'history.db')).error.code).toBe('env.not-writable');
});
