import { readFileSync } from 'node:fs';
import { join } from 'node:path';

declare const __CUDAMASTER_VERSION__: string | undefined;

/** Version of the program: put in by the bundler; from package.json when run from source. */
export function programVersion(root: string): string {
  if (typeof __CUDAMASTER_VERSION__ === 'string') return __CUDAMASTER_VERSION__;
  const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return String((manifest as { version?: unknown }).version);
}
