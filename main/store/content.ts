import { utimes } from 'node:fs/promises';
import { ContentStore, inlineLimit } from '../base/files.ts';
import { AppFailure, err } from '../contract/index.ts';
import type { Database, Tx } from './db/database.ts';

/** A file younger than this may belong to a transaction that has not ended yet. */
const graceMs = 3600 * 1000;

/** Where a text is: in the row, or in a file named by its hash. Exactly one of body and content is set. */
export interface Packed {
  readonly body: string | null;
  readonly content: string | null;
  readonly bytes: number;
}

/** Texts over 16 KB in files named by their SHA-256, so that equal ones are kept once. */
export class ContentFiles {
  readonly #store: ContentStore;

  constructor(folder: string) {
    this.#store = new ContentStore(folder);
  }

  /** Writes the file if the text is long. The row that names it must follow in a transaction that calls `adopt`. */
  async pack(text: string): Promise<Packed> {
    const bytes = Buffer.byteLength(text);
    if (bytes <= inlineLimit) return { body: text, content: null, bytes };
    const content = await this.#store.put(text);
    // Makes a file that was there already young again: a collection running now must not take it before our row is there.
    const now = new Date();
    await utimes(this.#store.path(content), now, now).catch(() => this.#store.put(text));
    return { body: null, content, bytes };
  }

  /** Registers a packed text inside the transaction that refers to it. */
  async adopt(tx: Tx, packed: Packed): Promise<void> {
    if (packed.content === null) return;
    await tx.run('INSERT INTO content (hash, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING', [
      packed.content,
      packed.bytes,
    ]);
  }

  /** Throws store.corrupt when the file is missing or damaged. */
  async unpack(packed: { body: string | null; content: string | null }): Promise<string> {
    if (packed.body !== null) return packed.body;
    const hash = packed.content ?? '';
    const text = await this.#store.text(hash);
    if (text !== null) return text;
    throw new AppFailure(
      err('store.corrupt', 'A file of the history is missing.', {
        remedy: 'Restore it from a copy of the data folder. Other runs are not affected.',
        detail: this.#store.path(hash),
      }).error,
    );
  }

  /** Deletes the file of a content whose row is gone. false: there was none, or it cannot be deleted now (a collection will). */
  async drop(hash: string): Promise<boolean> {
    if (!(await this.#store.has(hash))) return false;
    return this.#store.remove(hash).then(
      () => true,
      () => false,
    );
  }

  /** Deletes rows and files that nothing refers to; gives back the number of files deleted. `grace`: age that protects, ms. */
  async collect(db: Database, grace = graceMs): Promise<number> {
    await db.transaction((tx) =>
      tx.run(`DELETE FROM content WHERE hash NOT IN (SELECT content FROM events WHERE content IS NOT NULL)
              AND hash NOT IN (SELECT content FROM steps WHERE content IS NOT NULL)
              AND hash NOT IN (SELECT request_content FROM steps WHERE request_content IS NOT NULL)`),
    );
    let deleted = await this.#store.sweepPartial(grace);
    for await (const file of this.#store.list()) {
      if (file.ageMs < grace) continue;
      // Asked file by file: a row may have come since the last one.
      if (await db.get('SELECT 1 FROM content WHERE hash = ?', [file.hash])) continue;
      await this.#store.remove(file.hash);
      deleted++;
    }
    return deleted;
  }
}
