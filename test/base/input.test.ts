import { execFileSync, spawn } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { writeOutput } from '../../main/base/files.ts';
import { readInput } from '../../main/base/input.ts';
import { AppFailure } from '../../main/contract/index.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cm-input-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const limit = 100_000;
const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (fault) => (fault instanceof AppFailure ? fault.error.code : String(fault)),
  );

describe('a file that the user names', () => {
  it('is read whole, without its byte-order mark', async () => {
    const path = join(dir, 'a b ü.cu');
    writeFileSync(path, `\uFEFF${'x'.repeat(70_000)}`);
    expect(await readInput(path, { limit })).toBe('x'.repeat(70_000));
  });

  it('that is no file, missing, endless or too large is an input error', async () => {
    writeFileSync(join(dir, 'huge'), '');
    truncateSync(join(dir, 'huge'), 3e9);
    for (const path of [dir, join(dir, 'none'), '', '/dev/zero', join(dir, 'huge')])
      expect(await codeOf(readInput(path, { limit }))).toBe('input.file');
  });

  it.skipIf(process.platform === 'win32')(
    'a pipe is read as it comes, is empty without a writer, and can be cancelled',
    async () => {
      const pipe = join(dir, 'pipe');
      execFileSync('mkfifo', [pipe]);
      expect(await readInput(pipe, { limit })).toBe('');
      const writer = spawn('sh', [
        '-c',
        'exec 3<>"$1"; printf one >&3; sleep 0.2; printf two >&3; sleep 30',
        'sh',
        pipe,
      ]);
      onTestFinished(() => void writer.kill('SIGKILL'));
      await new Promise((started) => setTimeout(started, 100));
      const cancel = new AbortController();
      setTimeout(() => cancel.abort(), 500);
      expect(await codeOf(readInput(pipe, { limit, signal: cancel.signal }))).toBe('cancelled');
    },
  );
});

describe('a file that the user wants written', () => {
  it('keeps a link a link and a device a device', async () => {
    writeFileSync(join(dir, 'real'), 'old');
    symlinkSync(join(dir, 'real'), join(dir, 'link'));
    symlinkSync('/dev/null', join(dir, 'null'));
    await writeOutput(join(dir, 'link'), 'new');
    await writeOutput(join(dir, 'null'), 'new');
    expect(readFileSync(join(dir, 'real'), 'utf8')).toBe('new');
    expect([lstatSync(join(dir, 'link')).isSymbolicLink(), lstatSync('/dev/null').isCharacterDevice()]).toEqual([
      true,
      true,
    ]);
  });

  it('that cannot be is a usage error which names it', async () => {
    mkdirSync(join(dir, 'folder'));
    for (const path of [join(dir, 'folder'), join(dir, 'x'.repeat(300)), ''])
      expect(await codeOf(writeOutput(path, 'x'))).toBe('usage');
  });
});
