import { z } from 'zod';
import { registerSecret } from '../base/redact.ts';
import { err, ok, type Result } from '../contract/index.ts';

/** Where a key is kept. Settings and runs hold this, never the key. */
export const keyReferenceSchema = z.union([
  z.object({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/) }),
  z.object({ none: z.literal(true) }),
]);
export type KeyReference = z.infer<typeof keyReferenceSchema>;

/**
 * Reads the key that a reference names, at the moment of use. null = the endpoint wants none (a local server).
 * The value becomes a known secret of the process, so that no log, error or record can show it. Error `provider.auth`.
 */
export function readKey(
  reference: KeyReference,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Result<string | null> {
  if ('none' in reference) return ok(null);
  // Of the environment itself: "constructor" and its like are no variables.
  const value = Object.hasOwn(env, reference.env) ? env[reference.env]?.trim() : undefined;
  if (!value)
    return err('provider.auth', `The environment variable ${reference.env}, which holds the key, is not set.`, {
      remedy: `Set ${reference.env} where you start CUDAMaster, or use the manual provider, which needs no key.`,
    });
  registerSecret(value);
  return ok(value);
}
