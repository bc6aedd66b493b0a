/** Compares dotted versions numerically: "12.10" > "12.9". Missing parts count as 0. */
export function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

/** Newest first. */
export const newestFirst = (a: string, b: string): number => compareVersions(b, a);

export const majorOf = (version: string): number => Number.parseInt(version, 10);
