/**
 * Bundles the front doors into dist/: `cudamaster.js` (command line; Node version check first), `cli.js` (what it then
 * loads), `worker.js` (one self-contained file for the GPU machine: no npm package, no SQLite) and `renderer/` (the screens).
 * Usage: node build/bundle.ts [--quiet] [--only FILE]
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { build, type Rolldown } from 'vite';
import { bundleRenderer } from './renderer.ts';

export const root = join(import.meta.dirname, '..');
const outDir = join(root, 'dist');
const version = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;

export interface Target {
  readonly entry: string;
  readonly file: string;
  /** Packages left to node_modules: native code only. */
  readonly external: readonly string[];
}

const targets: readonly Target[] = [
  { entry: 'main/cli/main.ts', file: 'cli.js', external: ['sqlite3'] },
  { entry: 'main/worker/main.ts', file: 'worker.js', external: [] },
];

/** Bundles one entry into one self-contained file in dist/; throws when anything but the named packages stays outside. */
export async function bundle(target: Target): Promise<void> {
  const externals = new Set([...builtinModules, ...target.external]);
  const result = await build({
    root,
    configFile: false,
    logLevel: 'warn',
    define: { __CUDAMASTER_VERSION__: JSON.stringify(version) },
    ssr: { noExternal: true, external: [...target.external] },
    build: {
      ssr: join(root, target.entry),
      outDir,
      emptyOutDir: false,
      target: 'node22',
      minify: false,
      rollupOptions: {
        external: (id) => id.startsWith('node:') || externals.has(id),
        output: { entryFileNames: target.file, format: 'es', codeSplitting: false },
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
  if (!process.argv.includes('--quiet')) console.log(`dist/: ${wanted.map((t) => t.file).join(', ')} (${version})`);
}
