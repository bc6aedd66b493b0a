import type { Launch, SourceCounts, SourceFunction, SourcePage, SourceView } from '../contract/index.ts';
import { kernelBaseName } from '../contract/kernel-name.ts';
import { SOURCE_LIMITS } from '../contract/source-limits.ts';

/**
 * The function of a page that a launch ran: by name, then by bare name; a page prints a kernel once per launch, so `nth` of them counts
 * (0 for pages restricted to one launch). undefined: the page has no such kernel.
 */
export function functionOf(page: SourcePage, launch: Pick<Launch, 'kernel'>, nth = 0): SourceFunction | undefined {
  const bare = kernelBaseName(launch.kernel);
  const exact = page.functions.filter((of) => of.name === launch.kernel);
  const named = exact.length > 0 ? exact : page.functions.filter((of) => kernelBaseName(of.name) === bare);
  return named.find((of) => of.occurrence === nth) ?? named.at(-1);
}

/**
 * Text of source files by their bare name ("candidate.cu"). Of these files our text counts, not ncu's: it reads the file where it was
 * compiled, and a library from the build cache was compiled in a folder that is gone ("<Unable to open source file>").
 */
export type SourceTexts = Readonly<Record<string, string>>;

export function withTexts(of: SourceFunction, texts: SourceTexts): SourceFunction {
  const split = new Map(Object.entries(texts).map(([name, text]) => [name, text.split(/\r?\n/)]));
  const lines = of.lines.map((line) => {
    const known = split.get(bareFile(line.file ?? ''))?.[line.line - 1];
    return known === undefined ? line : { ...line, text: known };
  });
  return { ...of, lines };
}

export const bareFile = (path: string): string => path.split(/[\\/]/).pop() ?? path;

/** What is kept of a function, compact: the rows with most samples where there are too many, in the page's order. */
export function sourceView(
  of: SourceFunction,
  page: SourcePage,
  limits: Readonly<Record<keyof typeof SOURCE_LIMITS, number>> = SOURCE_LIMITS,
): SourceView {
  const lines = hottest(of.lines, limits.lines);
  const instructions = hottest(of.instructions, limits.instructions);
  const newLine = renumbered(lines);
  const newInstruction = renumbered(instructions);
  const known = (to: ReadonlyMap<number, number>, indices: readonly number[]): number[] =>
    indices.flatMap((index) => to.get(index) ?? []);
  return {
    function: of.name,
    files: of.files.map(bareFile),
    samples: total(of.instructions.length > 0 ? of.instructions : of.lines),
    lines: lines.map((at) => {
      const { file, line, text, counts, instructions: own } = of.lines[at] as SourceFunction['lines'][number];
      return {
        file: file === null ? null : bareFile(file),
        line,
        text: text.slice(0, 400),
        instructions: known(newInstruction, own),
        ...rowOf(counts),
      };
    }),
    instructions: instructions.map((at) => {
      const {
        address,
        offset,
        sass,
        lines: own,
        counts,
      } = of.instructions[at] as SourceFunction['instructions'][number];
      return { address, offset, sass, lines: known(newLine, own), ...rowOf(counts) };
    }),
    omitted: {
      lines: of.lines.length - lines.length,
      instructions: of.instructions.length - instructions.length,
    },
    notes: [
      ...(page.missing.length === 0 ? [] : [`ncu's page has no columns for: ${page.missing.join(', ')}.`]),
      ...page.problems.slice(0, 5),
    ],
  };
}

/** Indices of the rows with most samples, in their own order. */
function hottest(rows: readonly { readonly counts: SourceCounts }[], limit: number): number[] {
  const all = rows.map((_, at) => at);
  if (rows.length <= limit) return all;
  const samples = (at: number): number => rows[at]?.counts.samples ?? -1;
  return [...all]
    .sort((a, b) => samples(b) - samples(a))
    .slice(0, limit)
    .sort((a, b) => a - b);
}

const renumbered = (kept: readonly number[]): ReadonlyMap<number, number> => new Map(kept.map((at, i) => [at, i]));

function rowOf(counts: SourceCounts): Pick<SourceView['lines'][number], 'samples' | 'executed' | 'stalls'> {
  const stalls = Object.fromEntries(Object.entries(counts.stalls).filter(([, count]) => count > 0));
  return { samples: counts.samples, executed: counts.instructions, stalls };
}

/** null: no row has a number. */
function total(rows: readonly { readonly counts: SourceCounts }[]): number | null {
  const known = rows.flatMap(({ counts }) => (counts.samples === null ? [] : [counts.samples]));
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0);
}
