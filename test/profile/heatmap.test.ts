import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { heatmapSchema } from '../../main/contract/index.ts';
import { heatmap, topLines } from '../../main/profile/heatmap.ts';
import { parseRaw } from '../../main/profile/parse-raw.ts';
import { parseSource } from '../../main/profile/parse-source.ts';
import { stallId } from '../../main/profile/source-columns.ts';
import stallTable from '../../main/profile/stalls.json' with { type: 'json' };

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const page = read('../fixtures/ncu/src_cuda_sass.csv');
const { functions } = parseSource(page);
const row = (...values: (string | number)[]): string => `"${values.join('","')}"`;
const available = (map: ReturnType<typeof heatmap>) => {
  if (!map.available) throw new Error(map.reason);
  return map;
};

describe('stalls.json', () => {
  const ids = stallTable.stalls.map((stall) => stall.id);

  test('describes every stall of the source page and of the raw page, both kinds by the same ids', () => {
    const columns = (page.split('\n')[2] as string)
      .slice(1, -1)
      .split('","')
      .filter((name) => name.startsWith('stall_'));
    const metrics = Object.keys(parseRaw(read('../fixtures/ncu/gemm_full_raw.csv')).launches[0]?.metrics ?? {}).filter(
      (id) => id.startsWith('smsp__pcsamp_warps_issue_stalled_'),
    );
    expect([columns.length, metrics.length]).toEqual([36, 38]);
    const bare = (name: string): string => stallId(name.replace(/ \(Not Issued\)$|_not_issued$/, ''));
    const seen = [...columns, ...metrics].map(bare);
    expect(seen.filter((id) => !ids.includes(id))).toEqual([]);
    const not = columns.filter((name) => name.endsWith(')'));
    expect(not.map(bare).sort()).toEqual(
      columns
        .filter((name) => !name.endsWith(')'))
        .map(bare)
        .sort(),
    );
    expect(ids.filter((id) => !seen.includes(id))).toEqual(['gmma']); // only as an average in the raw page
  });

  test('one sentence each, no name twice', () => {
    for (const { meaning } of stallTable.stalls) expect(meaning).toMatch(/^[A-Z].{30,200}\.$/);
    const names = stallTable.stalls.flatMap((stall) => stall.names);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('the real page', () => {
  test('as text', () => {
    const text = [
      topLines(heatmap(functions)),
      topLines(heatmap(functions, { unit: 'instruction' }), 3),
      topLines(heatmap(functions, { unit: 'instruction', by: 'notIssued' }), 3),
    ].join('\n\n');
    expect(`${text}\n`).toBe(read('golden/heatmap-gemm.txt'));
  });

  test.each(['samples', 'notIssued'] as const)('shares of instructions add up to one (%s)', (by) => {
    const map = available(heatmap(functions, { unit: 'instruction', by }));
    expect(heatmapSchema.parse(map)).toEqual(map);
    expect(map.rows.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
    expect(map.total).toBe(by === 'samples' ? 50341 : 24320);
    expect(map.rows[0]?.heat).toBe(1);
    for (const [i, { samples, share, plusMinus, dominant }] of map.rows.entries()) {
      expect(samples).toBeLessThanOrEqual(map.rows[i - 1]?.samples ?? samples);
      expect(plusMinus).toBeGreaterThan(0);
      expect(share).toBe(samples / map.total);
      expect(dominant === null || dominant.share <= 1).toBe(true);
      expect(dominant?.stall).not.toBe('selected');
    }
    expect(available(heatmap(functions, { unit: 'instruction', by, limit: 4 })).rows).toEqual(map.rows.slice(0, 4));
  });

  test('the loop’s first multiply-add waits for its loads', () => {
    const [hottest] = available(heatmap(functions, { unit: 'instruction' })).rows;
    expect(hottest).toMatchObject({
      address: '0x7f35557a1250',
      line: 7,
      text: 'FFMA R17, R11, R24, R10',
      samples: 5558,
    });
    expect(hottest?.dominant?.stall).toBe('long_scoreboard');
  });
});

describe('missing is never zero', () => {
  const made = (head: string[], ...rows: (string | number)[][]): ReturnType<typeof parseSource> =>
    parseSource(
      [
        row('File Path', '/x/a.cu'),
        row('Function Name', 'k'),
        row('Line No', 'Source', ...head),
        ...rows.map((r) => row(...r)),
      ].join('\n'),
    );

  test('no kernel, no columns, no samples, no lines', () => {
    expect(heatmap([])).toMatchObject({ available: false, reason: expect.stringContaining('no kernel') });
    const bare = made(['Instructions Executed'], [1, 'a', 5]).functions;
    expect(heatmap(bare)).toMatchObject({ available: false, reason: expect.stringContaining('no sample counts') });
    const short = made(['# Samples'], [1, 'a', 0]).functions;
    expect(heatmap(short)).toMatchObject({ available: false, reason: expect.stringContaining('too short') });
    const sass = parseSource(
      `${row('Kernel Name', 'k')}\n${row('Address', 'Source', '# Samples')}\n${row('0x10', 'NOP', 3)}`,
    ).functions;
    expect(heatmap(sass, { unit: 'line' })).toMatchObject({
      available: false,
      reason: expect.stringContaining('-lineinfo'),
    });
    expect(available(heatmap(sass)).unit).toBe('instruction');
    expect(topLines(heatmap([]))).toBe('No heatmap: the source page has no kernel.');
  });

  test('rows without a count are told, few samples too; no stall columns, no reason', () => {
    const map = available(heatmap(made(['# Samples'], [1, 'a', 30], [2, 'b', 'n/a'], [3, 'c', 10]).functions));
    expect(map.rows.map((r) => [r.line, r.share, r.dominant])).toEqual([
      [1, 0.75, null],
      [3, 0.25, null],
    ]);
    expect(map.notes.join(' ')).toMatch(/Only 40 samples.*1 rows have no sample count/);
  });

  test('samples of code without a line are told', () => {
    const text = [
      row('Function Name', 'k'),
      row('Line No', 'Source', 'Address', 'Source', '# Samples'),
      row(1, 'a', '-', '-', 30),
      row('', '', '0x10', 'MOV', 30),
      row('-', '-', '0x20', 'EXIT', 70),
    ].join('\n');
    const map = available(heatmap(parseSource(text).functions));
    expect(map.rows[0]?.share).toBe(0.3);
    expect(map.notes.join()).toContain('70 of 100 samples belong to no row');
  });

  test('issuing is no stall; an unknown stall keeps its name; a tie goes to the first column', () => {
    const head = ['# Samples', 'stall_selected', 'stall_wait', 'stall_math', 'stall_of_tomorrow'];
    const rows = available(
      heatmap(made(head, [1, 'a', 9, 9, 0, 0, 0], [2, 'b', 8, 4, 2, 2, 0], [3, 'c', 7, 3, 0, 0, 4]).functions),
    ).rows;
    expect(rows.map((r) => r.dominant?.stall ?? null)).toEqual([null, 'wait', 'of_tomorrow']);
    expect(rows[2]?.dominant?.meaning).toContain('does not know');
  });
});

test('text of a hostile source reaches no terminal raw', () => {
  const text = [
    row('File Path', '/x/\u001b[31m.cu'),
    row('Function Name', 'k\u0007'),
    row('Line No', 'Source', '# Samples'),
    row(1, 'a\u001b]0;x\u0007\u202e', 5),
  ];
  expect(topLines(heatmap(parseSource(text.join('\n')).functions))).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
});
