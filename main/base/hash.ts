import { createHash } from 'node:crypto';

/** SHA-256 of text (UTF-8) or bytes, 64 lowercase hex digits. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/**
 * JSON with sorted keys and no spaces: equal values give equal text, whatever the order in which they were built.
 * Members that are undefined are left out, as JSON.stringify does. Throws on values that JSON cannot hold faithfully.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value);
  if (typeof value === 'number') {
    // JSON.stringify would turn NaN and infinities into null: two different contents with one hash.
    if (!Number.isFinite(value)) throw new TypeError(`canonicalJson: ${value} has no JSON form`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((v) => canonicalJson(v === undefined ? null : v)).join(',')}]`;
  if (typeof value === 'object') {
    const withToJson = value as { toJSON?: () => unknown };
    if (typeof withToJson.toJSON === 'function') return canonicalJson(withToJson.toJSON());
    if (value instanceof Map || value instanceof Set)
      throw new TypeError('canonicalJson: Map and Set have no JSON form');
    let text = '';
    // Without a function to compare them, names are sorted by their UTF-16 units, as `<` does.
    for (const key of Object.keys(value).sort()) {
      const inner = (value as Record<string, unknown>)[key];
      if (inner !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(inner)}`;
    }
    return `{${text}}`;
  }
  throw new TypeError(`canonicalJson: a ${typeof value} has no JSON form`);
}

/** SHA-256 of the canonical JSON of a value. */
export const hashJson = (value: unknown): string => sha256Hex(canonicalJson(value));
