/**
 * `npm start [-- FILE]`: builds the screens and the shell, and opens the window. Where Electron's program is not installed or there is no
 * display, it says so and serves the same screens to a browser. Nothing is fetched.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bundle.ts';
import { bundleShell } from './electron.ts';
import { bundleRenderer } from './renderer.ts';

const names: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'Electron.app/Contents/MacOS/Electron',
  win32: 'electron.exe',
};

/**
 * Electron's program, where npm or the user has put it; null: nowhere. (The package `electron` itself would fetch it when asked.)
 */
export function findElectron(
  env: NodeJS.ProcessEnv = process.env,
  folder = join(root, 'node_modules/electron'),
): string | null {
  const name = names[process.platform] ?? 'electron';
  const given = env.ELECTRON_OVERRIDE_DIST_PATH;
  if (given) return existsSync(join(given, name)) ? join(given, name) : null;
  try {
    const path = join(folder, 'dist', readFileSync(join(folder, 'path.txt'), 'utf8').trim());
    return existsSync(path) ? path : null;
  } catch {
    return null;
  }
}

export interface Machine {
  readonly electron: string | null;
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  /** User id; 0 = root. */
  readonly uid: number | undefined;
}

/** Why there can be no window here; null = there can. */
export function noWindow({ electron, platform, env, uid }: Machine): string | null {
  if (electron === null)
    return "Electron's program is not installed (npm fetches it from GitHub: npx install-electron; or name its folder in ELECTRON_OVERRIDE_DIST_PATH).";
  if (platform === 'linux' && !env.DISPLAY && !env.WAYLAND_DISPLAY)
    return 'There is no display (DISPLAY and WAYLAND_DISPLAY are not set).';
  if (uid === 0)
    return "You are root: Chromium's sandbox does not run for root, and CUDAMaster opens no window without it.";
  return null;
}

async function main(args: readonly string[]): Promise<void> {
  const build = !args.includes('--no-build');
  const rest = args.filter((arg) => arg !== '--no-build');
  const electron = findElectron();
  const why = noWindow({ electron, platform: process.platform, env: process.env, uid: process.getuid?.() });
  if (build || !existsSync(join(root, 'dist/renderer/index.html'))) await bundleRenderer();
  if (why === null && build) await bundleShell();
  if (why !== null) {
    console.log(`No window: ${why}`);
    console.log('The same screens in a browser:');
  }
  const [program, argv] =
    why === null
      ? [electron as string, [join(root, 'dist/electron'), ...rest]]
      : [process.execPath, [join(root, 'main/cli/entry.js'), 'serve', '--open']];
  const child = spawn(program, argv, { stdio: 'inherit' });
  // Ctrl-C reaches both through the terminal; other signals are handed on.
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  process.on('SIGINT', () => {});
  child.on('error', (fault) => {
    console.error(`${program} cannot be started: ${fault.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}

if (import.meta.main) await main(process.argv.slice(2));
