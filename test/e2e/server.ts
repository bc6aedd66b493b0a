/** `cudamaster serve` as a process of its own, with a history of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const root = join(import.meta.dirname, '../..');

export interface TestServer {
  /** Logs in; works once. */
  readonly url: string;
  readonly port: number;
  /** Folder of history, settings and cache. */
  readonly home: string;
  /** Ends the process as Ctrl-C does, and waits for it. `kill`: as a crash does. */
  stop(kill?: boolean): Promise<void>;
}

/** A folder for CUDAMASTER_HOME; `remove` deletes it. */
export function testHome(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'cm-e2e-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Starts the server over `home` (same folder again = a restart). Needs dist/renderer. */
export async function startServer(home: string, port = 0): Promise<TestServer> {
  const child = spawn(
    process.execPath,
    [join(root, 'main/cli/entry.js'), '--json', 'serve', '--port', String(port), '--idle-minutes', '5'],
    {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, CUDAMASTER_HOME: home, TMPDIR: tmpdir() },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const { url, port: got } = await serving(child);
  return {
    url,
    port: got,
    home,
    stop: (kill = false) =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.kill(kill ? 'SIGKILL' : 'SIGINT');
      }),
  };
}

function serving(child: ChildProcess): Promise<{ url: string; port: number }> {
  return new Promise((resolve, reject) => {
    let errors = '';
    child.stderr?.on('data', (d: Buffer) => {
      errors += d.toString();
    });
    child.once('exit', (code) => reject(new Error(`cudamaster serve ended with ${code}: ${errors}`)));
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message = JSON.parse(line) as { type?: string; url?: string; port?: number };
      if (message.type === 'serving' && message.url && message.port) resolve({ url: message.url, port: message.port });
    });
  });
}
