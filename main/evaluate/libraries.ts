import data from './libraries.json' with { type: 'json' };

const includesOf = (source: string): string[] =>
  [...source.matchAll(/^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]/gm)].map((found) => found[1] as string);

/** Linker arguments of a library.cu, from what it includes. */
export function linkArguments(source: string): string[] {
  const byHeader: Readonly<Record<string, readonly string[]>> = data.byHeader;
  return [...new Set(includesOf(source).flatMap((header) => byHeader[header] ?? []))];
}

/** The library a library.cu asks, in its vendor's spelling; the runtime's own functions where it names no other. */
export function libraryTitle(source: string): string {
  const includes = includesOf(source);
  const names = Object.entries(data.names);
  const found = names.filter(([prefix]) => includes.some((header) => header.startsWith(prefix)));
  const titles = found.map(([, title]) => title);
  // Iterators of Thrust serve CUB's algorithms: there CUB is what computes.
  const own = titles.includes('CUB') ? titles.filter((title) => title !== 'Thrust') : titles;
  return own[0] ?? 'a library';
}
