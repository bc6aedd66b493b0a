/** Finding commands and objects by a few typed letters. Pure. */

/**
 * How well `query` fits `text`: null when its letters do not occur in order, else higher is better. Beginnings of words and
 * unbroken runs count more.
 */
export function score(query: string, text: string): number | null {
  const q = query.trim().toLowerCase().replace(/\s+/g, ' ');
  if (q === '') return 0;
  const t = text.toLowerCase();
  const whole = t.indexOf(q);
  if (whole >= 0) return 1000 - whole + (whole === 0 || t[whole - 1] === ' ' ? 200 : 0) - t.length / 100;
  let at = -1;
  let total = 0;
  for (const letter of q) {
    if (letter === ' ') continue;
    const next = t.indexOf(letter, at + 1);
    if (next < 0) return null;
    total += next === at + 1 ? 8 : next === 0 || /[\s_./:-]/.test(t[next - 1] ?? '') ? 6 : 1;
    at = next;
  }
  return total - t.length / 100;
}

/** The items that fit, best first; equal ones keep their order. */
export function search<T>(query: string, items: readonly T[], text: (item: T) => string, limit = 60): T[] {
  const found: { item: T; score: number }[] = [];
  for (const item of items) {
    const s = score(query, text(item));
    if (s !== null) found.push({ item, score: s });
  }
  if (query.trim() !== '') found.sort((a, b) => b.score - a.score);
  return found.slice(0, limit).map((f) => f.item);
}
