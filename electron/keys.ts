import { chmod, readFile } from 'node:fs/promises';
import type { SafeStorage } from 'electron';
import { z } from 'zod';
import { writeFileAtomic } from '../main/base/files.ts';
import { registerSecret } from '../main/base/redact.ts';
import { AppFailure, err } from '../main/contract/index.ts';

/** Names under which providers look for keys: those of environment variables. */
export const keyNameSchema = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/);
const fileSchema = z.object({ version: z.literal(1), keys: z.record(keyNameSchema, z.base64()) });

export interface Protection {
  /** false: nothing is kept. */
  readonly available: boolean;
  /** What the user must know about how well keys are kept here; null: as well as the system can. */
  readonly warning: string | null;
}

/**
 * What the system's key store is worth. On Linux without a keyring, Electron falls back to a fixed password that is in every copy of its
 * source: such a file is readable by whoever can read the file.
 */
export async function protectionOf(
  storage: Pick<SafeStorage, 'isAsyncEncryptionAvailable' | 'getSelectedStorageBackend'>,
  platform: NodeJS.Platform = process.platform,
): Promise<Protection> {
  if (!(await storage.isAsyncEncryptionAvailable()))
    return {
      available: false,
      warning: 'This system has no store for keys. Set the environment variable that the provider names instead.',
    };
  const backend = platform === 'linux' ? storage.getSelectedStorageBackend() : null;
  if (backend === 'basic_text' || backend === 'unknown')
    return {
      available: true,
      warning:
        'No keyring (GNOME Keyring, KWallet) answers here: a key would be hidden from a casual look, not protected. Whoever can read your files can read it. An environment variable that you set for one session is safer.',
    };
  if (platform === 'linux')
    return { available: true, warning: 'The keyring protects keys from other users, not from programs that you run.' };
  return { available: true, warning: null };
}

/** Keys of model providers, encrypted by the system, one file. The engine gets the values in memory; nothing else does. */
export class Keys {
  readonly #storage: Pick<SafeStorage, 'encryptStringAsync' | 'decryptStringAsync' | 'isAsyncEncryptionAvailable'>;
  readonly #file: string;

  constructor(
    storage: Pick<SafeStorage, 'encryptStringAsync' | 'decryptStringAsync' | 'isAsyncEncryptionAvailable'>,
    file: string,
  ) {
    this.#storage = storage;
    this.#file = file;
  }

  async #read(): Promise<Record<string, string>> {
    const text = await readFile(this.#file, 'utf8').catch((fault: NodeJS.ErrnoException) => {
      if (fault.code === 'ENOENT') return null;
      throw fault;
    });
    if (text === null) return {};
    try {
      return fileSchema.parse(JSON.parse(text)).keys;
    } catch {
      throw new AppFailure(
        err('input.file', `The file of the keys, ${this.#file}, is damaged or newer than this program.`, {
          remedy: 'Move it away and enter the keys again.',
        }).error,
      );
    }
  }

  async names(): Promise<string[]> {
    return Object.keys(await this.#read()).sort();
  }

  async set(name: string, value: string): Promise<void> {
    if (!(await this.#storage.isAsyncEncryptionAvailable()))
      throw new AppFailure(
        err('usage', 'This system has no store for keys: nothing was kept.', {
          remedy: `Set the environment variable ${name} instead.`,
        }).error,
      );
    registerSecret(value);
    const encrypted = (await this.#storage.encryptStringAsync(value)).toString('base64');
    await this.#write({ ...(await this.#read()), [name]: encrypted });
  }

  async remove(name: string): Promise<void> {
    const { [name]: _gone, ...rest } = await this.#read();
    await this.#write(rest);
  }

  async #write(keys: Record<string, string>): Promise<void> {
    await writeFileAtomic(this.#file, `${JSON.stringify({ version: 1, keys })}\n`, 0o600);
    await chmod(this.#file, 0o600);
  }

  /** The values, for the engine. One that the system cannot decrypt any more (another user, a new keyring) is left out. */
  async values(): Promise<Record<string, string>> {
    const out: Record<string, string> = {};
    for (const [name, encrypted] of Object.entries(await this.#read())) {
      try {
        out[name] = (await this.#storage.decryptStringAsync(Buffer.from(encrypted, 'base64'))).result;
        registerSecret(out[name]);
      } catch {
        // It counts as not set; entering it again replaces it.
      }
    }
    return out;
  }
}
