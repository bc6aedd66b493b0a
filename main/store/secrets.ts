import { holdsSecret, knowsSecrets, redact, redactDeep } from '../base/redact.ts';
import type { StepResponse } from '../contract/index.ts';

/**
 * What may be stored of a response. Tool output loses everything that looks like a key. In a model's reply only keys that this
 * process knows are removed: shapes of keys also fit code ("sk-first_offset"), and a changed source would be another candidate.
 */
export function storable<T extends StepResponse>(response: T): T {
  if (response.kind !== 'job') return withoutKnownSecrets(response);
  return redactDeep(JSON.parse(JSON.stringify(response)) as T, withoutLongWords);
}

/**
 * A candidate that prints a megabyte of one word must not hold up the search for keys, whose patterns are slow on such text; nobody
 * reads it either.
 */
const withoutLongWords = (text: string): string =>
  text.length <= longWord
    ? text
    : text.replace(
        // From the beginning of a word on: elsewhere the same word would be tried again at each of its letters.
        /(?<![A-Za-z0-9.+-])[A-Za-z0-9.+-]{4097,}/g,
        (word) => `${word.slice(0, 64)}[… ${word.length - 64} characters of one word left out …]`,
      );
const longWord = 4096;

/** Removes known keys from any plain data (events, options). */
export function withoutKnownSecrets<T>(data: T): T {
  const text = JSON.stringify(data);
  if (!knowsSecrets()) return JSON.parse(text) as T;
  return JSON.parse(text, (_key, value) =>
    typeof value === 'string' && holdsSecret(value) ? redact(value) : value,
  ) as T;
}
