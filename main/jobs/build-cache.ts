import { chmod, copyFile, lstat, mkdir, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { sha256File, writeFileAtomic } from '../base/files.ts';
import { withFileLock } from '../base/flock.ts';
import { hashJson } from '../base/hash.ts';
import { AppFailure } from '../contract/index.ts';

/** Everything that decides what a compiler makes. */
export interface BuildKey {
  readonly tool: 'nvcc' | 'cxx';
  readonly toolPath: string;
  /** "13.0.88", and the host compiler's version. */
  readonly nvccVersion: string;
  readonly hostCompiler: string;
  /** Final arguments with the architecture in them; `{scratch}` stays symbolic, or no two builds would be the same. */
  readonly args: readonly string[];
  /** Names and content hashes, in order. */
  readonly inputs: readonly (readonly [string, string])[];
  readonly outputs: readonly string[];
}

const entrySchema = z.object({
  version: z.literal(1),
  outputs: z.array(
    z.object({
      name: z.string(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      bytes: z.number(),
      executable: z.boolean(),
    }),
  ),
  stdout: z.string(),
  stderr: z.string(),
  command: z.string(),
});

export interface CachedBuild {
  readonly stdout: string;
  readonly stderr: string;
  readonly command: string;
}

export const buildKey = (key: BuildKey): string => hashJson({ format: 1, ...key });

/** Blobs younger than this are spared by eviction: their entry may not be written yet. */
const youngMs = 10 * 60 * 1000;

/**
 * Results of successful builds, and nothing else: never a verification, time or profile. Entries name their files by content;
 * every content is checked against its hash when it is taken out, and a damaged entry counts as absent. Any number of processes
 * may share the folder: files appear by rename only.
 */
export class BuildCache {
  readonly dir: string;
  private readonly capBytes: number;
  private added = 0;
  private checked = false;

  /** `capBytes`: size at which the least recently used entries go. */
  constructor(dir: string, capBytes = 4 * 1024 ** 3) {
    this.dir = dir;
    this.capBytes = capBytes;
  }

  private entryPath = (key: string): string => join(this.dir, 'entries', `${key}.json`);
  private blobPath = (hash: string): string => join(this.dir, 'blobs', hash.slice(0, 2), hash.slice(2));

  /** Puts the outputs of a cached build into `folder`; null = not cached (or damaged, then it is removed). */
  async fetch(key: string, folder: string): Promise<CachedBuild | null> {
    const path = this.entryPath(key);
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch {
      return null;
    }
    const entry = parseEntry(text);
    if (!entry) {
      await rm(path, { force: true });
      return null;
    }
    for (const output of entry.outputs) {
      if (await this.place(output, join(folder, output.name))) continue;
      await rm(path, { force: true });
      return null;
    }
    const now = new Date();
    await utimes(path, now, now).catch(() => undefined);
    return { stdout: entry.stdout, stderr: entry.stderr, command: entry.command };
  }

  /** Copies one content out and checks the copy, so that what is used is what was checked. */
  private async place(output: { sha256: string; executable: boolean }, to: string): Promise<boolean> {
    try {
      await mkdir(dirname(to), { recursive: true });
      await copyFile(this.blobPath(output.sha256), to);
      if ((await sha256File(to)) === output.sha256) {
        await chmod(to, output.executable ? 0o700 : 0o600);
        return true;
      }
      await rm(this.blobPath(output.sha256), { force: true });
    } catch {
      // Evicted meanwhile, or unreadable: build again.
    }
    await rm(to, { force: true });
    return false;
  }

  /** Stores a finished build. A full or unwritable disk is not the build's failure: then it is simply not cached. */
  async store(key: string, folder: string, outputs: readonly string[], said: CachedBuild): Promise<void> {
    try {
      const listed = [];
      for (const name of outputs) listed.push(await this.keep(name, join(folder, name)));
      await writeFileAtomic(this.entryPath(key), JSON.stringify({ version: 1, outputs: listed, ...said }));
      this.added += listed.reduce((sum, output) => sum + output.bytes, 0);
      // Once when a process begins to store, then each time it has added a twentieth of the cap: listing everything takes a while.
      if (!this.checked || this.added > this.capBytes / 20) await this.evict();
    } catch (fault) {
      if (!(fault instanceof AppFailure) && (fault as { code?: string }).code === undefined) throw fault;
    }
  }

  private async keep(name: string, path: string): Promise<z.infer<typeof entrySchema>['outputs'][number]> {
    const info = await lstat(path);
    const data = await readFile(path);
    const sha256 = await sha256File(path);
    const blob = this.blobPath(sha256);
    const there = await stat(blob).catch(() => null);
    if (there?.size !== data.length) await writeFileAtomic(blob, data);
    else await utimes(blob, new Date(), new Date()).catch(() => undefined);
    return { name, sha256, bytes: data.length, executable: (info.mode & 0o100) !== 0 };
  }

  /** Removes least recently used entries until the cache is below nine tenths of its cap, then contents nobody names. */
  async evict(): Promise<void> {
    await mkdir(this.dir, { recursive: true });
    await withFileLock(join(this.dir, 'evict.lock'), async () => {
      this.added = 0;
      this.checked = true;
      const blobs = await this.listBlobs();
      let total = 0;
      for (const blob of blobs.values()) total += blob.bytes;
      const entries = await this.listEntries();
      const uses = new Map<string, number>();
      for (const entry of entries) for (const hash of entry.hashes) uses.set(hash, (uses.get(hash) ?? 0) + 1);
      if (total > this.capBytes)
        for (const entry of entries) {
          if (total <= this.capBytes * 0.9) break;
          await rm(entry.path, { force: true });
          for (const hash of entry.hashes) {
            const left = (uses.get(hash) ?? 1) - 1;
            uses.set(hash, left);
            if (left > 0) continue;
            total -= blobs.get(hash)?.bytes ?? 0;
            blobs.delete(hash);
            await rm(this.blobPath(hash), { force: true });
          }
        }
      for (const [hash, blob] of blobs)
        if (!uses.has(hash) && blob.ageMs > youngMs) await rm(this.blobPath(hash), { force: true });
    });
  }

  /** Entries, least recently used first. */
  private async listEntries(): Promise<{ path: string; usedMs: number; hashes: string[] }[]> {
    const out = [];
    for (const name of await readdir(join(this.dir, 'entries')).catch(() => [])) {
      if (!name.endsWith('.json') || name.startsWith('.')) continue;
      const path = join(this.dir, 'entries', name);
      const info = await stat(path).catch(() => null);
      const entry = info && parseEntry(await readFile(path, 'utf8').catch(() => ''));
      if (info) out.push({ path, usedMs: info.mtimeMs, hashes: entry ? entry.outputs.map((o) => o.sha256) : [] });
    }
    return out.sort((a, b) => a.usedMs - b.usedMs);
  }

  private async listBlobs(): Promise<Map<string, { bytes: number; ageMs: number }>> {
    const out = new Map<string, { bytes: number; ageMs: number }>();
    const root = join(this.dir, 'blobs');
    for (const front of await readdir(root).catch(() => []))
      for (const back of await readdir(join(root, front)).catch(() => [])) {
        const info = await stat(join(root, front, back)).catch(() => null);
        if (info && /^[0-9a-f]{62}$/.test(back))
          out.set(front + back, { bytes: info.size, ageMs: Date.now() - info.mtimeMs });
      }
    return out;
  }
}

function parseEntry(text: string): z.infer<typeof entrySchema> | null {
  try {
    const parsed = entrySchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
