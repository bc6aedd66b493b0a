/** The built screens for the tests: made anew when a source is newer, by one of the test files that run at the same time. */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { bundleRenderer } from '../../build/renderer.ts';

const root = join(import.meta.dirname, '../..');
const built = join(root, 'dist/renderer/index.html');
const lock = join(root, 'dist/.renderer-lock');

function newest(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((e) => e.isFile());
  return Math.max(0, ...files.map((e) => statSync(join(e.parentPath, e.name)).mtimeMs));
}

const fresh = (): boolean => {
  if (!existsSync(built)) return false;
  const sources = [join(root, 'renderer'), join(root, 'main/contract')].map(newest);
  return statSync(built).mtimeMs >= Math.max(...sources, statSync(join(root, 'build/renderer.ts')).mtimeMs);
};

/** dist/renderer is there and no older than its sources. */
export async function ensureRenderer(): Promise<void> {
  mkdirSync(join(root, 'dist'), { recursive: true });
  for (let waited = 0; ; waited += 100) {
    if (fresh() && !existsSync(lock)) return;
    try {
      mkdirSync(lock);
      break;
    } catch {
      // Another test file builds. One that was killed leaves its lock behind.
      if (waited > 90_000) rmSync(lock, { recursive: true, force: true });
      await new Promise((r) => setTimeout(r, 100));
    }
  }
  try {
    if (!fresh()) await bundleRenderer();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}
