import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Command, InvalidArgumentError } from 'commander';
import { attempt } from '../base/fault.ts';
import { privateTempDir } from '../base/paths.ts';
import { findProgram } from '../base/program.ts';
import { startChild } from '../base/spawn.ts';
import { exitCodeOf } from '../contract/index.ts';
import type { Session } from './answers.ts';
import type { Finish } from './commands.ts';

const port = (text: string): number => {
  const n = Number(text);
  if (!/^\d+$/.test(text) || n > 65535) throw new InvalidArgumentError('A port from 0 to 65535 is needed.');
  return n;
};
const minutes = (text: string): number => {
  const n = Number(text);
  if (!Number.isFinite(n) || n < 0) throw new InvalidArgumentError('A number of minutes is needed; 0 = never.');
  return n;
};

interface Options {
  readonly port: number;
  readonly socket?: string;
  readonly open?: boolean;
  readonly idleMinutes: number;
}

/** dist/renderer, seen from the bundle in dist or from the sources. */
function rendererFolder(): string {
  for (let dir = import.meta.dirname, up = 0; up < 4; up++, dir = dirname(dir))
    if (existsSync(join(dir, 'package.json'))) return join(dir, 'dist', 'renderer');
  return join(import.meta.dirname, 'renderer');
}

/**
 * Opens an address in the user's browser. It holds a key, and arguments of programs are for everybody to see: so a file of the user's
 * alone leads there. false: there is no program that does.
 */
function openBrowser(url: string): boolean {
  const name = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const { path } = findProgram(name, process.env.PATH ?? '', '/');
  if (path === null) return false;
  const env = Object.fromEntries(
    [
      'PATH',
      'HOME',
      'DISPLAY',
      'WAYLAND_DISPLAY',
      'XDG_RUNTIME_DIR',
      'XAUTHORITY',
      'DBUS_SESSION_BUS_ADDRESS',
      'BROWSER',
    ]
      .filter((key) => process.env[key] !== undefined)
      .map((key) => [key, process.env[key] as string]),
  );
  const file = join(mkdtempSync(join(privateTempDir(), 'open-')), 'cudamaster.html');
  writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${url}">\n`, { mode: 0o600 });
  process.once('exit', () => rmSync(dirname(file), { recursive: true, force: true }));
  startChild([path, file], { cwd: '/', env, wallMs: 30_000, memoryMiB: null, outputBytes: 4096 });
  return true;
}

/** Says where the server is. Only here: the address holds a key. */
function tell(s: Session, url: string, extra: object): void {
  if (s.json) s.printer.json({ type: 'serving', url, ...extra, pid: process.pid });
  else s.printer.out(url);
}

async function run(s: Session, options: Options): Promise<number> {
  const { serve } = await import('../web/index.ts');
  const made = await attempt(() =>
    serve({
      host: s.host,
      renderer: rendererFolder(),
      ...(options.socket === undefined ? { port: options.port } : { socket: options.socket }),
      idleMinutes: options.idleMinutes,
    }),
  );
  if (!made.ok) {
    if (s.json) s.printer.json({ ok: false, error: made.error });
    else s.printer.error(made.error);
    return exitCodeOf(made.error.code);
  }
  const served = made.value;
  tell(s, served.url, { port: served.port, socket: served.socket });
  if (!s.json) {
    s.printer.note('Open this address in a browser on this machine; it works once. Enter: another one. Ctrl-C: end.');
    if (served.socket !== null)
      s.printer.note(`From elsewhere: ssh -L 8080:${served.socket} HOST, then the address with localhost:8080.`);
    else s.printer.note(`From elsewhere: ssh -L ${served.port}:127.0.0.1:${served.port} HOST, then the same address.`);
  }
  if (options.open && !openBrowser(served.url)) s.printer.note('No program to open a browser was found.');
  const lines = process.stdin.isTTY ? createInterface({ input: process.stdin }) : null;
  lines?.on('line', () => tell(s, served.renew(), { port: served.port, socket: served.socket }));
  const why = await ended(s.signal, served.idle);
  lines?.close();
  await served.close();
  if (s.json) s.printer.json({ ok: true, value: { ended: why } });
  else s.printer.note(why === 'idle' ? 'Nobody was here for a while: ended.' : 'Ended.');
  return 0;
}

function ended(signal: AbortSignal, idle: Promise<void>): Promise<'idle' | 'signal'> {
  const { promise, resolve } = Promise.withResolvers<'idle' | 'signal'>();
  if (signal.aborted) resolve('signal');
  signal.addEventListener('abort', () => resolve('signal'), { once: true });
  void idle.then(() => resolve('idle'));
  return promise;
}

/** Adds `serve` to the program. */
export function serveCommand(program: Command, open: () => Session, finish: Finish): void {
  program
    .command('serve')
    .description('show the screens in a browser on this machine (loopback only; also through ssh -L)')
    .option('--port <n>', 'port; 0 = any free one', port, 0)
    .option('--socket <path>', 'Unix socket instead of a port')
    .option('--open', 'open the browser')
    .option('--idle-minutes <n>', 'end after so long without a client and without a run; 0 = never', minutes, 120)
    .action(async (options: Options) => finish(await run(open(), options)));
}
