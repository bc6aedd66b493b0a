/** End (exclusive) of the JSON value that begins at `start` with a bracket, or -1. Strings are honoured. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let i = start; i < text.length; i++) {
    const c = text.charAt(i);
    if (inString) {
      if (c === '\\') i++;
      else if (c === '"') inString = false;
    } else if (c === '"') inString = true;
    else if (c === '{' || c === '[') depth++;
    else if (c === '}' || c === ']') {
      depth--;
      if (depth === 0) return i + 1;
    }
  }
  return -1;
}

/** Objects and arrays of JSON found anywhere in prose, outermost first, in order. Text that only looks like JSON is skipped. */
export function jsonObjects(text: string): unknown[] {
  const found: unknown[] = [];
  let tries = 0;
  for (let i = 0; i < text.length && tries < 200; i++) {
    const c = text.charAt(i);
    if (c !== '{' && c !== '[') continue;
    tries++;
    const end = endOfValue(text, i);
    if (end < 0) continue;
    try {
      found.push(JSON.parse(text.slice(i, end)));
      i = end - 1;
    } catch {
      // Prose with a bracket, or JSON with a mistake: look further inside.
    }
  }
  return found;
}
