/** The command line for tests: as its own process, or quicker as a function of this one. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { execute } from '../../main/cli/main.ts';
import { Printer } from '../../main/cli/output.ts';
import { root } from '../app/lab.ts';

export const entry = join(root, 'main/cli/entry.js');

export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
  /** Last line of stdout as JSON. */
  readonly last: Record<string, unknown>;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Given to stdin, which then ends; absent: there is none. */
  readonly input?: string;
}

/** Runs `cudamaster ARGS` over the data of `home`, without a GPU. */
export function runCliWith(home: string, args: readonly string[], { env = {}, input }: RunOptions = {}): Promise<Ran> {
  const child = spawn(process.execPath, [entry, ...args], {
    env: { ...process.env, CUDAMASTER_HOME: home, FORCE_COLOR: '', CUDA_VISIBLE_DEVICES: '', ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout?.on('data', (d: Buffer) => {
    out += d;
  });
  child.stderr?.on('data', (d: Buffer) => {
    err += d;
  });
  child.stdin?.end(input);
  return new Promise((done) =>
    child.on('close', (code, signal) =>
      done({
        code,
        signal,
        out,
        err,
        get last() {
          return JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
        },
      }),
    ),
  );
}

export const runCli = (home: string, ...args: string[]): Promise<Ran> => runCliWith(home, args);

/**
 * The same program without a process of its own: arguments in, exit code and text out. Its data lie where this process's environment
 * says. Nobody is at a terminal.
 */
export async function inProcess(...args: string[]): Promise<Omit<Ran, 'signal'>> {
  const texts = { out: '', err: '' };
  const into = (name: keyof typeof texts) =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += String(chunk);
        done();
      },
    });
  const color = { stdout: false, stderr: false };
  const printer = new Printer({ stdout: into('out'), stderr: into('err'), live: false, color });
  const code = await execute(args, printer, new AbortController().signal);
  return {
    code,
    ...texts,
    get last() {
      return JSON.parse(texts.out.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
    },
  };
}
