/**
 * Bundles the front doors into dist/: `cudamaster.js` (command line; Node version check first), `cli.js` (what it then
 * loads), `worker.js` (one self-contained file for the GPU machine: no npm package, no SQLite), `renderer/` (the screens) and
 * `electron/` (the desktop shell).
 * Usage: node build/bundle.ts [--quiet] [--only FILE]
 */
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { build, type Plugin, type Rolldown } from 'vite';
import { bundleShell } from './electron.ts';
import { bundleRenderer } from './renderer.ts';

export const root = join(import.meta.dirname, '..');
const outDir = join(root, 'dist');
export const version = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;

export interface Target {
  readonly entry: string;
  readonly file: string;
  /** Packages left to node_modules: native code only. */
  readonly external: readonly string[];
  /** Default: es. A sandboxed preload must be CommonJS. */
  readonly format?: 'es' | 'cjs';
  /** sqlite3 goes into the bundle too, and its native part lies beside it: no node_modules is needed then. */
  readonly nativeBeside?: boolean;
}

const addon = 'node_sqlite3.node';

/** In place of the package that searches many folders for the native part: the file beside the bundle. */
const nativeBeside: Plugin = {
  name: 'native-beside',
  enforce: 'pre',
  load: (id) =>
    /[\\/]sqlite3[\\/]lib[\\/]sqlite3-binding\.js$/.test(id) ? `module.exports = require('${addon}');\n` : null,
  // A relative name would have been taken as one beside the source.
  renderChunk: (code) => code.replaceAll(`require("${addon}")`, `require("./${addon}")`),
};

/** Copies sqlite3's native part, as it was built or fetched for this machine, into a folder. */
export function copyAddon(folder: string): void {
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(root, 'node_modules/sqlite3/build/Release', addon), join(folder, addon));
}

const targets: readonly Target[] = [
  { entry: 'main/cli/main.ts', file: 'cli.js', external: ['sqlite3'] },
  { entry: 'main/worker/main.ts', file: 'worker.js', external: [] },
];

/** Bundles one entry into one self-contained file below `into`; throws when anything but the named packages stays outside. */
export async function bundle(target: Target, into = outDir): Promise<void> {
  const externals = new Set([...builtinModules, ...target.external, ...(target.nativeBeside ? [addon] : [])]);
  const result = await build({
    root,
    configFile: false,
    logLevel: 'warn',
    plugins: target.nativeBeside ? [nativeBeside] : [],
    define: { __CUDAMASTER_VERSION__: JSON.stringify(version) },
    ssr: { noExternal: true, external: [...target.external] },
    build: {
      ssr: join(root, target.entry),
      outDir: into,
      emptyOutDir: false,
      target: 'node22',
      minify: false,
      rollupOptions: {
        external: (id) => id.startsWith('node:') || externals.has(id),
        output: { entryFileNames: target.file, format: target.format ?? 'es', codeSplitting: false },
      },
    },
  });
  const outputs = (Array.isArray(result) ? result : [result]) as Rolldown.RolldownOutput[];
  const chunks = outputs.flatMap((o) => o.output).filter((o) => o.type === 'chunk');
  if (chunks.length !== 1) throw new Error(`${target.file}: expected one self-contained file, got ${chunks.length}`);
  const foreign = (chunks[0]?.imports ?? []).filter((i) => !i.startsWith('node:') && !externals.has(i));
  if (foreign.length > 0) throw new Error(`${target.file} imports ${foreign.join(', ')}`);
}

if (import.meta.main) {
  const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : undefined;
  const wanted = targets.filter((t) => only === undefined || t.file === only);
  rmSync(outDir, { recursive: true, force: true });
  for (const target of wanted) await bundle(target);
  if (wanted.some((t) => t.file === 'cli.js')) {
    // The first line a user's Node sees must parse under any version: copied, never transformed.
    writeFileSync(join(outDir, 'cudamaster.js'), readFileSync(join(root, 'main/cli/entry.js')));
    chmodSync(join(outDir, 'cudamaster.js'), 0o755);
  }
  if (only === undefined || only === 'renderer') await bundleRenderer();
  if (only === undefined || only === 'electron') await bundleShell();
  if (!process.argv.includes('--quiet')) console.log(`dist/: ${wanted.map((t) => t.file).join(', ')} (${version})`);
}
