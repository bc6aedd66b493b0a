import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { SourceFunction, SourceView } from '../../main/contract/index.ts';
import { SOURCE_LIMITS } from '../../main/contract/source-limits.ts';
import { parseSource } from '../../main/profile/parse-source.ts';
import { sourceView } from '../../main/profile/source-view.ts';
import { cudaSpans, linesInComment, sassSpans } from '../../renderer/code/highlight.ts';
import {
  anchorOf,
  cellValue,
  codeModel,
  hottest,
  minimapHeat,
  nextHot,
  orderOf,
  searchRows,
  stallLabel,
} from '../../renderer/code/model.ts';

const page = parseSource(readFileSync(new URL('../fixtures/ncu/src_cuda_sass.csv', import.meta.url), 'utf8'));
const of = page.functions[0] as SourceFunction;
const view = sourceView(of, page);
const model = codeModel(view, null);

/** The page's own file, as far as it prints it; other lines are made up. */
const file = view.lines[0]?.file as string;
const source = Array.from(
  { length: 30 },
  (_, i) => view.lines.find((l) => l.file === file && l.line === i + 1)?.text ?? `// ${i + 1}`,
).join('\n');

test('a kernel of thousands of instructions is kept whole; above the bound the coldest rows go, and are counted', () => {
  const [line, instruction] = [of.lines[0], of.instructions[0]];
  if (line === undefined || instruction === undefined) throw new Error('the page is empty');
  const large = (lines: number, instructions: number): SourceFunction => ({
    ...of,
    lines: Array.from({ length: lines }, (_, i) => ({ ...line, line: i + 1, instructions: [i] })),
    instructions: Array.from({ length: instructions }, (_, i) => ({
      ...instruction,
      offset: 16 * i,
      counts: { ...instruction.counts, samples: i === 7 ? 0 : 1 + i },
    })),
  });
  const whole = sourceView(large(SOURCE_LIMITS.lines, SOURCE_LIMITS.instructions), page);
  expect(whole.omitted).toEqual({ lines: 0, instructions: 0 });
  expect(codeModel(whole, null).instructions).toHaveLength(SOURCE_LIMITS.instructions);
  const cut = sourceView(large(SOURCE_LIMITS.lines + 2, SOURCE_LIMITS.instructions + 1), page);
  expect(cut.omitted).toEqual({ lines: 2, instructions: 1 });
  expect(cut.instructions.some(({ offset }) => offset === 16 * 7)).toBe(false);
});

describe('a real page of ncu', () => {
  test('every instruction and line is a row, with the samples of the page', () => {
    expect(model.instructions).toHaveLength(of.instructions.length);
    expect(model.lines).toHaveLength(of.lines.length);
    expect(model.total).toBe(of.instructions.reduce((sum, { counts }) => sum + (counts.samples ?? 0), 0));
    expect(model.total).toBeGreaterThan(1000);
  });

  test('links hold in both directions', () => {
    for (const [i, row] of model.instructions.entries())
      for (const line of row.linked) expect(model.lines[line]?.linked).toContain(i);
    expect(model.lines.some(({ linked }) => linked.length > 1)).toBe(true);
    const hot = hottest(model.lines)[0] as number;
    const anchor = anchorOf(model.instructions, model.lines[hot]?.linked ?? []) as number;
    const samples = (model.lines[hot]?.linked ?? []).map((i) => model.instructions[i]?.samples ?? 0);
    expect(model.instructions[anchor]?.samples).toBe(Math.max(...samples));
  });

  test('stall columns: most samples first, sums over instructions', () => {
    const sums = model.stalls.map(({ samples }) => samples);
    expect(sums).toEqual(sums.toSorted((a, b) => b - a));
    for (const { id, samples } of model.stalls)
      expect(view.instructions.reduce((sum, { stalls }) => sum + (stalls[id] ?? 0), 0)).toBe(samples);
  });

  test('the whole file is shown where its lines are the page’s; lines without code have no figure', () => {
    const whole = codeModel(view, source);
    const rows = whole.lines.filter((row) => row.file === file.split('/').pop());
    expect(rows.map(({ label }) => Number(label))).toEqual(Array.from({ length: rows.length }, (_, i) => i + 1));
    expect(rows.some(({ measured }) => !measured)).toBe(true);
    for (const row of rows) if (!row.measured) expect([row.samples, cellValue(row, 'wait')]).toEqual([null, null]);
    // Links follow the rows to their new places.
    for (const [i, row] of whole.instructions.entries())
      for (const line of row.linked) {
        expect(whole.lines[line]?.measured).toBe(true);
        expect(whole.lines[line]?.linked).toContain(i);
      }
    expect(whole.lines.filter(({ measured }) => measured)).toHaveLength(model.lines.length);
  });

  test('another text is no context', () => {
    expect(codeModel(view, 'int main() {}\n').lines).toEqual(model.lines);
  });
});

describe('order, next hottest, search', () => {
  const rows = model.instructions;
  test('sorted: hottest first, equal and missing in program order at the end', () => {
    const order = orderOf(rows, 'samples');
    expect([...order].toSorted((a, b) => a - b)).toEqual(rows.map((_, i) => i));
    for (let i = 1; i < order.length; i++) {
      const [a, b] = [order[i - 1] as number, order[i] as number];
      const [x, y] = [rows[a]?.samples ?? -1, rows[b]?.samples ?? -1];
      expect(x > y || (x === y && a < b)).toBe(true);
    }
    expect(orderOf(rows, 'order')).toEqual(rows.map((_, i) => i));
    const stall = model.stalls[0]?.id as string;
    const byStall = orderOf(rows, stall).map((i) => cellValue(rows[i] as (typeof rows)[number], stall) ?? -1);
    expect(byStall).toEqual(byStall.toSorted((a, b) => b - a));
  });

  test('n and p walk the rows with samples and stop at the ends', () => {
    const hot = hottest(rows);
    expect(hot.every((i) => (rows[i]?.samples ?? 0) > 0)).toBe(true);
    expect(nextHot(hot, -1, 1)).toBe(hot[0]);
    expect(nextHot(hot, hot[0] as number, 1)).toBe(hot[1]);
    expect(nextHot(hot, hot[0] as number, -1)).toBeNull();
    expect(nextHot(hot, hot.at(-1) as number, 1)).toBeNull();
    expect(nextHot([], -1, 1)).toBeNull();
  });

  test('search: text in any case, a label exactly, nothing for blanks', () => {
    const found = searchRows(rows, 'ldg');
    expect(found.length).toBeGreaterThan(0);
    expect(found.every((i) => rows[i]?.text.includes('LDG'))).toBe(true);
    expect(searchRows(rows, '  ')).toEqual([]);
    expect(searchRows(rows, 'no such thing')).toEqual([]);
    expect(searchRows(rows, '0010').map((i) => rows[i]?.label)).toContain('0010');
  });

  test('the minimap keeps the hottest row of every pixel', () => {
    const heat = minimapHeat(rows, orderOf(rows, 'order'), 40);
    expect(heat).toHaveLength(40);
    expect(Math.max(...heat)).toBe(1);
    const hot = hottest(rows)[0] as number;
    expect(heat[Math.floor((hot / rows.length) * 40)]).toBe(1);
    expect(minimapHeat(rows, orderOf(rows, 'samples'), 40)[0]).toBe(1);
    expect(minimapHeat([], [], 40).every((x) => x === 0)).toBe(true);
  });
});

test('rows left out are marked where they stood', () => {
  const small = sourceView(of, page, { lines: 400, instructions: 20 } as never);
  const rows = codeModel(small, null).instructions;
  expect(small.omitted.instructions).toBe(of.instructions.length - 20);
  expect(rows.some(({ gapBefore }) => gapBefore)).toBe(true);
  expect(model.instructions.some(({ gapBefore }) => gapBefore)).toBe(false);
});

test('a page without counts: missing is no zero', () => {
  const bare: SourceView = {
    ...view,
    samples: null,
    instructions: view.instructions.map((row) => ({ ...row, samples: null, executed: null, stalls: {} })),
    lines: [],
  };
  const made = codeModel(bare, null);
  expect(made.total).toBeNull();
  expect(made.stalls).toEqual([]);
  expect(cellValue(made.instructions[0] as never, 'wait')).toBeNull();
  expect(hottest(made.instructions)).toEqual([]);
});

describe('highlighting', () => {
  const kinds = (spans: readonly { text: string; kind: string }[]): Record<string, string> =>
    Object.fromEntries(spans.filter(({ kind }) => kind !== '').map(({ text, kind }) => [text, kind]));

  test('no character is lost', () => {
    for (const { text } of model.lines)
      expect(
        cudaSpans(text)
          .map((s) => s.text)
          .join(''),
      ).toBe(text);
    for (const { text } of model.instructions)
      expect(
        sassSpans(text)
          .map((s) => s.text)
          .join(''),
      ).toBe(text.trimStart());
    const long = `x = "${'a'.repeat(5000)}";`;
    expect(
      cudaSpans(long)
        .map((s) => s.text)
        .join(''),
    ).toBe(long);
  });

  test('CUDA words are marked, not within comments or strings', () => {
    const marked = kinds(cudaSpans('__global__ void k(float *x) { int i = threadIdx.x; } // blockIdx'));
    expect(marked).toMatchObject({ __global__: 'tok-cuda', threadIdx: 'tok-cuda', '// blockIdx': 'tok-comment' });
    expect(marked.int).toMatch(/tok-/);
    expect(kinds(cudaSpans('s = "threadIdx";'))).not.toHaveProperty('threadIdx');
  });

  test('machine code: predicate, operation, registers, numbers', () => {
    expect(kinds(sassSpans('  @!P0 LDG.E.64.CONSTANT R2, desc[UR4][R2.64+0x10]'))).toMatchObject({
      'LDG.E.64.CONSTANT': 'tok-keyword',
      '@!P0': 'tok-operator',
      R2: 'tok-variableName',
      UR4: 'tok-variableName',
      '0x10': 'tok-number',
    });
  });
});

test('stall names', () => {
  expect(stallLabel('long_scoreboard')).toBe('Long Scoreboard');
  expect(stallLabel('stall_imc_miss')).toBe('IMC Miss');
});

test('a comment over several lines is one on all of them; what only looks like one is none', () => {
  const text = ['int a; /* one', 'two', 'three */ int b; // four', 'char c[] = "/* no";', 'int d; // /* no', 'int e;'];
  expect([...linesInComment(text.join('\n'))]).toEqual([1, 2]);
  expect(linesInComment('/* never closed\nx\ny')).toEqual(new Set([1, 2]));
  expect(linesInComment('int n = 1\'000; /* from here\nto here */ "/*\nx')).toEqual(new Set([1]));
  // Quotes that nobody closes are passed over once: this took the square of their number.
  const before = process.threadCpuUsage();
  expect(linesInComment(`"${'\\"'.repeat(100_000)}\n/*\nx`)).toEqual(new Set([2]));
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(1000);
  expect(cudaSpans('two', true)).toEqual([{ text: 'two', kind: 'tok-comment' }]);
  const spans = cudaSpans('three */ int b;', true);
  expect(spans[0]).toEqual({ text: 'three */', kind: 'tok-comment' });
  expect(spans.some(({ text: t, kind }) => t === 'int' && kind !== 'tok-comment')).toBe(true);
});

test('the heatmap of a whole file knows which of its lines lie within a comment', () => {
  const lines = source.split('\n');
  const first = view.lines.filter((l) => l.file === file).reduce((least, l) => Math.min(least, l.line), 99);
  expect(first).toBeGreaterThan(3);
  lines.splice(0, 3, '/* a header', '   over two lines', '*/');
  const rows = codeModel(view, lines.join('\n')).lines;
  expect(rows.slice(0, 4).map(({ inComment }) => inComment)).toEqual([false, true, true, false]);
});
