import { randomBytes } from 'node:crypto';
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

/** Stands in index.html where style elements made by scripts need the page's nonce. */
const nonceMark = '__CSP_NONCE__';

/** The page with a fresh nonce in place of its mark, and that nonce; null: it has no mark. */
export function withNonce(text: string): { readonly text: string; readonly nonce: string | null } {
  if (!text.includes(nonceMark)) return { text, nonce: null };
  const nonce = randomBytes(16).toString('base64');
  return { text: text.replaceAll(nonceMark, nonce), nonce };
}

/**
 * The Content-Security-Policy of the screens, whichever front door shows them: nothing but our own files. `connect`: whether scripts may
 * open connections to where they came from (`serve`); in the window they speak over a message port and need none.
 */
export function contentPolicy(nonce: string | null, connect: boolean): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${nonce === null ? '' : ` 'nonce-${nonce}'`}`,
    "font-src 'self'",
    "img-src 'self'",
    `connect-src ${connect ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
