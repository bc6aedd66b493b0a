/**
 * Bundles the screens into dist/renderer/ (index.html, one script and style sheet per part; no inline script or style, so that the
 * strict Content-Security-Policy of the front doors holds).
 * Usage: node build/renderer.ts [--quiet]; prints the compressed size.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { build } from 'vite';

const root = join(import.meta.dirname, '..');

/** Default: dist/renderer. */
export async function bundleRenderer(into = join(root, 'dist/renderer')): Promise<void> {
  // Also from within a test, whose NODE_ENV would give React's development version: larger, and several times slower.
  const { NODE_ENV: before } = process.env;
  process.env.NODE_ENV = 'production';
  try {
    await bundle(into);
  } finally {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  }
}

async function bundle(outDir: string): Promise<void> {
  await build({
    mode: 'production',
    root: join(root, 'renderer'),
    base: './',
    configFile: false,
    logLevel: 'warn',
    plugins: [react()],
    build: {
      outDir,
      emptyOutDir: true,
      target: 'chrome120',
      // Fonts and pictures as files, never as data: in the page.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // The editor is one part of its own, loaded with the first source shown.
      chunkSizeWarningLimit: 800,
    },
  });
}

/** Bytes of dist/renderer as gzip makes them, by file. */
export function compressedSizes(): { readonly file: string; readonly bytes: number }[] {
  const folder = join(root, 'dist/renderer');
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath, e.name))
    .map((path) => ({ file: path.slice(folder.length + 1), bytes: gzipSync(readFileSync(path)).length }))
    .sort((a, b) => b.bytes - a.bytes);
}

if (import.meta.main) {
  await bundleRenderer();
  if (!process.argv.includes('--quiet')) {
    const sizes = compressedSizes();
    for (const { file, bytes } of sizes) console.log(`${String(bytes).padStart(8)}  ${file}`);
    console.log(`${String(sizes.reduce((sum, s) => sum + s.bytes, 0)).padStart(8)}  gzip, all files`);
  }
}
