import { mkdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import { build } from 'vite';

export const root = join(import.meta.dirname, '..', '..');

/**
 * Bundles a process of the tests into one file: hundreds of them are started, and loading the engine file by file takes half a
 * second each. Below node_modules, so that sqlite3 is found.
 */
export async function bundled(entry: string): Promise<string> {
  const file = join(root, 'node_modules', '.cache', 'cudamaster-test', `${entry}-${process.pid}.mjs`);
  mkdirSync(dirname(file), { recursive: true });
  const externals = new Set([...builtinModules, 'sqlite3']);
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true, external: ['sqlite3'] },
    build: {
      ssr: join(root, 'test', 'survival', `${entry}.ts`),
      outDir: dirname(file),
      emptyOutDir: false,
      target: 'node22',
      minify: false,
      rollupOptions: {
        external: (id) => id.startsWith('node:') || externals.has(id),
        output: { entryFileNames: `${entry}-${process.pid}.mjs`, format: 'es', codeSplitting: false },
      },
    },
  });
  return file;
}
