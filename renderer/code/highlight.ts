import { parser } from '@lezer/cpp';
import { classHighlighter, highlightTree } from '@lezer/highlight';

/** A stretch of text of one class ('' = plain). */
export interface Span {
  readonly text: string;
  readonly kind: string;
}

/** Words of CUDA C++ that the C++ grammar takes for names. */
export const CUDA_WORDS =
  /\b(?:__(?:global|device|host|shared|constant|managed|restrict|launch_bounds|forceinline|noinline|grid_constant|cluster_dims)__|__sync\w+|__shfl\w*|__ld\w+|__st\w+|__threadfence\w*|__any_sync|__all_sync|__ballot_sync|__activemask|__popc\w*|__f\w+_r[nzud]|__fdividef|__expf|__half\w*|__nv_bfloat\w+|threadIdx|blockIdx|blockDim|gridDim|warpSize|atomic[A-Z]\w*|cudaStream_t|cudaError_t|dim3|float[234]|int[234]|uint[234]|double2)\b/g;

const LONGEST = 400;
const KEPT = 4000;
const known = new Map<string, readonly Span[]>();

/** Comments and what may hold the marks of one without being one. A quote that nobody closes ends with its line, or every later one would search it again. */
const TOKENS = /\/\/[^\n]*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n]){1,16}'|\/\*[\s\S]*?(?:\*\/|$)/g;

/** Lines (from 0) of a whole source that begin within a comment. */
export function linesInComment(source: string): ReadonlySet<number> {
  const within = new Set<number>();
  let line = 0;
  let at = 0;
  const linesTo = (to: number): number => {
    let seen = 0;
    for (let end = source.indexOf('\n', at); end >= 0 && end < to; end = source.indexOf('\n', end + 1)) seen++;
    at = to;
    return seen;
  };
  for (const { 0: token, index } of source.matchAll(TOKENS)) {
    if (!token.startsWith('/*')) continue;
    line += linesTo(index);
    const last = line + linesTo(index + token.length);
    while (line < last) within.add(++line);
  }
  return within;
}

/** One line of CUDA C++ as spans. `inComment`: it begins within one that began on a line before. */
export function cudaSpans(line: string, inComment = false): readonly Span[] {
  if (inComment) {
    const end = line.indexOf('*/');
    if (end < 0) return [{ text: line, kind: 'tok-comment' }];
    return [{ text: line.slice(0, end + 2), kind: 'tok-comment' }, ...cudaSpans(line.slice(end + 2))];
  }
  return remembered(`c${line}`, () => {
    const text = line.slice(0, LONGEST);
    const marks: { from: number; to: number; kind: string }[] = [];
    highlightTree(parser.parse(text), classHighlighter, (from, to, kind) => marks.push({ from, to, kind }));
    const plain = (from: number, to: number): boolean =>
      !marks.some((m) => m.from < to && from < m.to && /tok-(comment|string)/.test(m.kind));
    for (const { 0: word, index } of text.matchAll(CUDA_WORDS))
      if (plain(index, index + word.length)) {
        const rest = marks.filter((m) => m.to <= index || m.from >= index + word.length);
        marks.splice(0, marks.length, ...rest, { from: index, to: index + word.length, kind: 'tok-cuda' });
      }
    return [...joined(text, marks), ...(line.length > LONGEST ? [{ text: line.slice(LONGEST), kind: '' }] : [])];
  });
}

function joined(text: string, marks: { from: number; to: number; kind: string }[]): Span[] {
  const spans: Span[] = [];
  let at = 0;
  for (const { from, to, kind } of marks.toSorted((a, b) => a.from - b.from)) {
    if (from < at) continue;
    if (from > at) spans.push({ text: text.slice(at, from), kind: '' });
    spans.push({ text: text.slice(from, to), kind });
    at = to;
  }
  if (at < text.length) spans.push({ text: text.slice(at), kind: '' });
  return spans;
}

const SASS =
  /(\/\*.*?\*\/)|(@!?U?P[T0-9]+)|(\b(?:U?R(?:Z|\d+)(?:\.\w+)*|U?P[T0-9]+|SR_\w+(?:\.\w+)?|B\d+))|(-?\b0x[0-9a-f]+\b|-?\b\d+(?:\.\d+)?\b)|(`\([^)]*\)|\.L_\w+)/gi;
const SASS_KINDS = ['tok-comment', 'tok-operator', 'tok-variableName', 'tok-number', 'tok-labelName'];

/** One instruction of machine code as spans: predicate, operation, registers, numbers. */
export function sassSpans(line: string): readonly Span[] {
  return remembered(`s${line}`, () => {
    const text = line.trimStart();
    const operation = /^(?:@!?U?P[T0-9]+\s+)?([A-Z][\w.]*)/i.exec(text);
    const marks: { from: number; to: number; kind: string }[] = [];
    if (operation !== null) {
      const to = operation[0].length;
      marks.push({ from: to - (operation[1] as string).length, to, kind: 'tok-keyword' });
    }
    for (const match of text.matchAll(SASS)) {
      const kind = SASS_KINDS[match.slice(1).findIndex((part) => part !== undefined)] as string;
      const [from, to] = [match.index, match.index + match[0].length];
      if (!marks.some((m) => m.from < to && from < m.to)) marks.push({ from, to, kind });
    }
    return joined(text, marks);
  });
}

/** Scrolling asks for the same lines again and again. */
function remembered(key: string, make: () => readonly Span[]): readonly Span[] {
  let spans = known.get(key);
  if (spans === undefined) {
    if (known.size >= KEPT) known.clear();
    spans = make();
    known.set(key, spans);
  }
  return spans;
}
