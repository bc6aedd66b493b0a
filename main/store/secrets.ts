import { holdsSecret, redact, redactDeep } from '../base/redact.ts';
import type { StepResponse } from '../contract/index.ts';

/**
 * What may be stored of a response. Tool output loses everything that looks like a key. In a model's reply only keys that this
 * process knows are removed: shapes of keys also fit code ("sk-first_offset"), and a changed source would be another candidate.
 */
export function storable<T extends StepResponse>(response: T): T {
  if (response.kind === 'job')
    return redactDeep(
      JSON.parse(JSON.stringify(response), (_key, value) =>
        typeof value === 'string' ? withoutLongWords(value) : value,
      ) as T,
    );
  const plain = JSON.parse(JSON.stringify(response)) as T;
  const known = (text: string) => (holdsSecret(text) ? redact(text) : text);
  return JSON.parse(JSON.stringify(plain), (_key, value) => (typeof value === 'string' ? known(value) : value)) as T;
}

/**
 * A candidate that prints a megabyte of one word must not hold up the search for keys, whose patterns are slow on such text; nobody
 * reads it either.
 */
const withoutLongWords = (text: string): string =>
  text.replace(
    /[A-Za-z0-9.+-]{4097,}/g,
    (word) => `${word.slice(0, 64)}[… ${word.length - 64} characters of one word left out …]`,
  );

/** Removes known keys from any plain data (events, options). */
export function withoutKnownSecrets<T>(data: T): T {
  return JSON.parse(JSON.stringify(data), (_key, value) =>
    typeof value === 'string' && holdsSecret(value) ? redact(value) : value,
  ) as T;
}
