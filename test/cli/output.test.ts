import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { Printer } from '../../main/cli/output.ts';
import { tempFolder } from '../store/samples.ts';
import { entry } from './program.ts';

vi.setConfig({ testTimeout: 60_000 });

const error = { code: 'usage', message: 'Wrong.' } as const;

/** What a printer writes to each stream when only the named ones are coloured. */
function written(color: { stdout: boolean; stderr: boolean }): { out: string; err: string } {
  const texts = { out: '', err: '' };
  const into = (name: 'out' | 'err') =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += String(chunk);
        done();
      },
    });
  const printer = new Printer({ stdout: into('out'), stderr: into('err'), live: false, color });
  printer.out(printer.paint('green', 'good'));
  printer.error(error);
  return texts;
}

it('each stream is coloured by what it is itself', () => {
  expect(written({ stdout: true, stderr: false })).toEqual({
    out: '\u001b[32mgood\u001b[0m\n',
    err: 'Error (usage): Wrong.\n',
  });
  expect(written({ stdout: false, stderr: true })).toEqual({
    out: 'good\n',
    err: '\u001b[31mError (usage): \u001b[0mWrong.\n',
  });
});

it('at a terminal, an error that goes into a file is not coloured, and one at the terminal is, whatever stdout is', async () => {
  const home = tempFolder();
  const shown = async (redirect: string, env: NodeJS.ProcessEnv = {}): Promise<string> => {
    const command = `'${process.execPath}' '${entry}' show nobody ${redirect}`;
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm', NO_COLOR: '', ...env, CUDAMASTER_HOME: home },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let text = '';
    child.stdout.on('data', (d: Buffer) => {
      text += d;
    });
    await new Promise((done) => child.on('close', done));
    return text;
  };
  const log = join(home, 'log');
  await shown(`2> '${log}'`);
  expect(readFileSync(log, 'utf8')).toMatch(/^Error \(store\.not-found\): There is no run nobody/);
  expect(await shown('> /dev/null')).toContain('\u001b[31mError (store.not-found): \u001b[0m');
  expect(await shown('> /dev/null', { NO_COLOR: '1' })).not.toContain('\u001b[31m');
});
