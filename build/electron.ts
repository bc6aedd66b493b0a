/**
 * Bundles the desktop shell into dist/electron/: `main.js`, `engine.js` (with sqlite3's native part beside it), `preload.cjs`
 * (one CommonJS file: a sandboxed preload can load nothing), the shell's own pages and icons.
 */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, copyAddon, root, type Target, version } from './bundle.ts';

const targets: readonly Target[] = [
  { entry: 'electron/main.ts', file: 'main.js', external: ['electron'] },
  { entry: 'electron/engine.ts', file: 'engine.js', external: [], nativeBeside: true },
  { entry: 'electron/preload.ts', file: 'preload.cjs', external: ['electron'], format: 'cjs' },
];

/** The engine alone, with its native part. */
export async function bundleEngine(into: string): Promise<void> {
  for (const target of targets.filter((t) => t.nativeBeside)) await bundle(target, into);
  copyAddon(into);
}

export async function bundleShell(into: string = join(root, 'dist/electron')): Promise<void> {
  for (const target of targets) await bundle(target, into);
  mkdirSync(into, { recursive: true });
  copyAddon(into);
  // `electron dist/electron` starts it in a clone.
  const meta = { name: 'cudamaster', productName: 'CUDAMaster', version, type: 'module', main: 'main.js' };
  writeFileSync(join(into, 'package.json'), `${JSON.stringify(meta, null, 2)}\n`);
  cpSync(join(root, 'electron/pages'), join(into, 'pages'), { recursive: true });
  cpSync(join(root, 'build/resources/icons'), join(into, 'icons'), { recursive: true });
}
