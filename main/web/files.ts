import { realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** A decoded path of a URL that can only name something below a folder. */
const plain = /^(?:[A-Za-z0-9_@.-]+\/)*[A-Za-z0-9_@.-]+$/;

/**
 * Name of a file below `folder` for a URL's path, relative to it; null = no such file. Only plain names pass (no `..`, no leading dot, no
 * escapes, no second slash), and links may not lead out of the folder.
 */
export async function contained(folder: string, path: string): Promise<string | null> {
  const name = path === '/' ? 'index.html' : path.slice(1);
  if (!plain.test(name) || name.split('/').some((part) => part.startsWith('.'))) return null;
  try {
    const root = await realpath(folder);
    const file = await realpath(join(root, name));
    if (!file.startsWith(root + sep)) return null;
    return (await stat(file)).isFile() ? name : null;
  } catch {
    return null;
  }
}
