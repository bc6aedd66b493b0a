import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { SourceCounts, SourcePage } from '../../main/contract/index.ts';
import { sourcePageSchema } from '../../main/contract/index.ts';
import { instructionsAt, linesAt, parseSource } from '../../main/profile/parse-source.ts';
import { stallId } from '../../main/profile/source-columns.ts';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const page = read('../fixtures/ncu/src_cuda_sass.csv');
const lines = page.trimEnd().split('\n');
const golden = JSON.parse(read('golden/source-gemm.json'));
const cells = (line: string): string[] => line.slice(1, -1).split('","');
const row = (values: readonly string[]): string => `"${values.join('","')}"`;
const header = cells(lines[2] as string);

const nonzero = (of: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== 0));
const byId = (of: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(of).map(([column, value]) => [stallId(column), value]));
const compact = (counts: SourceCounts) => ({
  samples: counts.samples,
  notIssued: counts.notIssued,
  instructions: counts.instructions,
  threads: counts.threads,
  threadsOn: counts.threadsOn,
  sectors: counts.memory['L2 Theoretical Sectors Global'],
  tags: counts.memory['L1 Tag Requests Global'],
  stalls: nonzero(counts.stalls),
  stallsNotIssued: nonzero(counts.stallsNotIssued),
});
type Golden = { stalls: Record<string, number>; stallsNotIssued: Record<string, number> };
const expected = (of: Golden) => ({ ...of, stalls: byId(of.stalls), stallsNotIssued: byId(of.stallsNotIssued) });

describe('a real page of ncu 2025.3.1 (cuda,sass)', () => {
  const parsed = parseSource(page);
  const [gemm] = parsed.functions;

  test('agrees with an independent reading, cell by cell', () => {
    expect(sourcePageSchema.parse(parsed)).toEqual(parsed);
    expect(parsed).toMatchObject({ shape: 'cuda,sass', missing: [], problems: [], messages: [] });
    expect(parsed.functions).toHaveLength(1);
    expect(gemm).toMatchObject({ name: golden.function, occurrence: 0, files: [golden.file] });
    expect(gemm?.lines).toHaveLength(1);
    expect(gemm?.lines[0]).toMatchObject({
      file: golden.file,
      line: golden.line,
      text: golden.text,
      countsFrom: 'page',
    });
    expect(compact(gemm?.lines[0]?.counts as SourceCounts)).toEqual(expected(golden.counts));
    expect(gemm?.instructions.map((i) => ({ address: i.address, sass: i.sass, ...compact(i.counts) }))).toEqual(
      golden.instructions.map(expected),
    );
  });

  test('offsets, opcodes, accesses', () => {
    const at = (offset: number) => gemm?.instructions.find((i) => i.offset === offset);
    expect(at(0)).toMatchObject({ opcode: 'LDC', access: null });
    expect(at(0xc0)).toMatchObject({ sass: '@!P0  BRA 0x7f35557a1af0', opcode: 'BRA' });
    expect(at(0x200)).toMatchObject({ opcode: 'LDG.E', access: { space: 'Global', operation: 'Load', size: '32' } });
    expect(gemm?.instructions.map((i) => i.offset)).toEqual(golden.instructions.map((_: unknown, i: number) => i * 16));
  });

  test('line and instructions are linked both ways', () => {
    if (gemm === undefined) throw new Error('no function');
    expect(instructionsAt(gemm, 7)).toHaveLength(208);
    expect(instructionsAt(gemm, 7, '/other.cu')).toEqual([]);
    expect(instructionsAt(gemm, 8)).toEqual([]);
    expect(linesAt(gemm, '0x7f35557a1130').map((l) => l.line)).toEqual([7]);
    expect(linesAt(gemm, '0x1')).toEqual([]);
  });
});

/** A page from rows; counts are samples and executed instructions. */
const table = (...rows: string[][]): string =>
  [['Line No', 'Source', 'Address', 'Source', '# Samples', 'Instructions Executed'], ...rows].map(row).join('\n');
const title = (file: string, name: string): string => `${row(['File Path', file])}\n${row(['Function Name', name])}`;

describe('other shapes', () => {
  test('machine code alone, as the page prints it under a kernel name with a trailing comma', () => {
    const sass = lines.slice(4).map((line) => row(cells(line).slice(2)));
    const text = [`"Kernel Name","${golden.function}",`, row(header.slice(2)), ...sass].join('\r\n');
    const parsed = parseSource(text);
    expect(parsed).toMatchObject({ shape: 'sass', problems: [], missing: [] });
    expect(parsed.functions[0]).toMatchObject({ name: golden.function, lines: [], files: [] });
    expect(parsed.functions[0]?.instructions.map((i) => compact(i.counts))).toEqual(
      parseSource(page).functions[0]?.instructions.map((i) => compact(i.counts)),
    );
    expect(parsed.functions[0]?.instructions.every((i) => i.lines.length === 0)).toBe(true);
  });

  test('instructions numbered by "#"', () => {
    const parsed = parseSource('"Kernel Name","k"\n"#","Address","Source","# Samples"\n"0","0x10","MOV R1, R2","3"');
    expect(parsed.functions[0]?.instructions).toMatchObject([
      { address: '0x10', opcode: 'MOV', counts: { samples: 3 } },
    ]);
    expect(parsed.functions[0]?.lines).toEqual([]);
  });

  test('source alone', () => {
    const parsed = parseSource(`${title('/a.cu', 'k')}\n"#","Source","# Samples"\n"1","x = 1;","5"\n"2","","-"`);
    expect(parsed.shape).toBe('cuda');
    expect(parsed.functions[0]?.lines).toMatchObject([
      { line: 1, text: 'x = 1;', counts: { samples: 5 }, instructions: [] },
      { line: 2, counts: { samples: null } },
    ]);
    expect(parsed.missing).toEqual(expect.arrayContaining(['instructions', 'stalls', 'memory']));
  });

  test('older wording, metric ids as names, a column twice', () => {
    const head = [
      'Address',
      'Source',
      'Warp Stall Sampling (All Cycles)',
      'Instructions Executed',
      '# Samples',
      'Instructions Executed',
      'smsp__pcsamp_warps_issue_stalled_long_scoreboard',
      'smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued',
      'stall_of_tomorrow',
    ];
    const text = [head, ['0x10', 'NOP', '1,024', '', '7', '96', '500', '300', '2']].map(row).join('\n');
    expect(parseSource(text).functions[0]?.instructions[0]?.counts).toMatchObject({
      samples: 1024,
      instructions: 96,
      stalls: { long_scoreboard: 500, of_tomorrow: 2 },
      stallsNotIssued: { long_scoreboard: 300 },
    });
  });

  test('kernels, files and launches: a second file joins its kernel, the same file again is the next launch', () => {
    const a = table(['1', 'f();', '-', '-', '4', '8'], ['', '', '0x10', 'MOV', '4', '8']);
    const b = table(['9', 'inl();', '-', '-', '4', '8'], ['', '', '0x10', 'MOV', '4', '8']);
    const parsed = parseSource(
      [
        title('/a.cu', 'k'),
        a,
        title('/b.h', 'k'),
        b,
        title('/a.cu', 'other'),
        a,
        title('/a.cu', 'k'),
        a,
        row(['Function Name', 'third']),
        a,
      ].join('\n'),
    );
    expect(parsed.problems).toEqual([]);
    expect(parsed.functions.map((f) => [f.name, f.occurrence, f.files])).toEqual([
      ['k', 0, ['/a.cu', '/b.h']],
      ['other', 0, ['/a.cu']],
      ['k', 1, ['/a.cu']],
      ['third', 0, ['/a.cu']],
    ]);
    const [k] = parsed.functions;
    expect(k?.instructions).toHaveLength(1); // inlined: one instruction under two lines, counted once
    expect(k && linesAt(k, '0x10').map((l) => `${l.file}:${l.line}`)).toEqual(['/a.cu:1', '/b.h:9']);
  });

  test('a line printed in pieces is summed; code without a line has none', () => {
    const text = table(
      ['3', 'a', '-', '-', '1', '1'],
      ['', '', '0x20', 'A', '1', '1'],
      ['4', 'b', '-', '-', '2', '2'],
      ['', '', '0x10', 'B', '2', '2'],
      ['3', 'a', '-', '-', '5', '5'],
      ['', '', '0x30', 'C', '5', '5'],
      ['-', '-', '0x40', 'D', '7', '7'],
    );
    const [f] = parseSource(text).functions;
    expect(f?.lines[0]).toMatchObject({
      line: 3,
      countsFrom: 'instructions',
      counts: { samples: 6 },
      instructions: [0, 2],
    });
    expect(f?.instructions.map((i) => [i.offset, i.lines])).toEqual([
      [16, [0]],
      [0, [1]],
      [32, [0]],
      [48, []],
    ]);
  });

  test('a line summed here has no sum where an instruction has no number', () => {
    const text = [
      title('/a.cu', 'k'),
      row(['Line No', 'Source', 'Address', 'Source', '# Samples', 'Instructions Executed', 'stall_wait']),
      row(['3', 'a', '-', '-', '1', '1', '1']),
      row(['', '', '0x10', 'A', 'n/a', '1', '1']),
      row(['3', 'a', '-', '-', '5', '5', '5']),
      row(['', '', '0x20', 'B', '5', '5', '']),
    ].join('\n');
    expect(parseSource(text).functions[0]?.lines[0]).toMatchObject({
      countsFrom: 'instructions',
      counts: { samples: null, instructions: 6, stalls: {} },
    });
  });

  test('source text with quotes, doubled or not, and titles in it', () => {
    const rows = [
      '"5","printf(""%d"",""x"");","-","-","1","1"',
      '"6","printf("a","b");","-","-","2","2"',
      '"7","Address","-","-","3","3"',
      '"8","Function Name","-","-","4","4"',
    ];
    const parsed = parseSource(`${title('/a.cu', 'k')}\n${table()}\n${rows.join('\n')}`);
    expect(parsed.functions).toHaveLength(1);
    expect(parsed.functions[0]?.lines.map((l) => [l.line, l.text, l.counts.samples])).toEqual([
      [5, 'printf("%d","x");', 1],
      [6, 'printf("a","b");', 2],
      [7, 'Address', 3],
      [8, 'Function Name', 4],
    ]);
    expect(parsed.problems).toEqual([]);
  });

  test('text around and between rows', () => {
    const noisy = [
      '\uFEFF==PROF== Connected',
      'the program speaks',
      '"half',
      ...lines.slice(0, 20),
      '==WARNING== x',
      'bye',
      ...lines.slice(20),
    ];
    const parsed = parseSource(noisy.join('\r\n'));
    expect(parsed.messages).toEqual(['==PROF== Connected', '==WARNING== x']);
    expect(parsed.functions).toEqual(parseSource(page).functions);
  });

  test.each([
    '',
    'Killed',
    '==ERROR== no report',
    '"Line No","Source"',
    '"Function Name","k"',
    read('../fixtures/ncu/gemm_full_raw.csv'),
  ])('no table: no functions (%#)', (text) =>
    expect(parseSource(text)).toMatchObject({ shape: 'none', functions: [] }),
  );
});

describe('mutations of the real page', () => {
  const samplesAt = header.indexOf('# Samples');
  const stallsOf = (parsed: SourcePage) => parsed.functions[0]?.lines[0]?.counts.stalls;

  test('each column left out: only its field is missing', () => {
    const whole = parseSource(page).functions[0]?.lines[0]?.counts as SourceCounts;
    for (let at = 4; at < header.length; at++) {
      const text = [...lines.slice(0, 2), ...lines.slice(2, 40).map((line) => row(cells(line).toSpliced(at, 1)))].join(
        '\n',
      );
      const counts = parseSource(text).functions[0]?.lines[0]?.counts as SourceCounts;
      const gone = (record: 'stalls' | 'stallsNotIssued' | 'memory'): string[] =>
        Object.keys(whole[record]).filter((key) => !(key in counts[record]));
      const lost = [...gone('stalls'), ...gone('stallsNotIssued'), ...gone('memory')];
      for (const [key, value] of Object.entries(counts)) if (value === null && key !== 'samples') lost.push(key);
      expect(lost.length, header[at]).toBeLessThanOrEqual(1);
      for (const record of ['stalls', 'stallsNotIssued', 'memory'] as const)
        for (const [key, value] of Object.entries(counts[record])) expect(value).toBe(whole[record][key]);
    }
  });

  test('columns in another order give the same counts', () => {
    const turned = lines.slice(2).map((line) => {
      const all = cells(line);
      return row([...all.slice(0, 4), ...all.slice(4).reverse()]);
    });
    expect(stallsOf(parseSource([...lines.slice(0, 2), ...turned].join('\n')))).toEqual(stallsOf(parseSource(page)));
  });

  test('a changed count contradicts the total and is told; an unreadable one is missing, not zero', () => {
    const change = (at: number, column: number, value: string): SourcePage =>
      parseSource(lines.map((line, i) => (i === at ? row(cells(line).with(column, value)) : line)).join('\n'));
    const stall = header.indexOf('stall_long_sb');
    for (const [at, column, value] of [
      [57, 4, '5559'],
      [57, stall, '1'],
      [3, 7, '1'],
      [36, header.indexOf('L2 Theoretical Sectors Global'), '4194305'],
    ] as const)
      expect(change(at, column, value).problems, `${at}/${column}`).toHaveLength(1);
    for (const value of ['x', 'n/a', '-', '', '-5', '9e999', 'NaN']) {
      const parsed = change(57, samplesAt, value);
      expect(parsed.functions[0]?.instructions[53]?.counts.samples).toBe(5558); // the other column still has it
      const both = parseSource(
        lines.map((line, i) => (i === 57 ? row(cells(line).with(4, value).with(6, value)) : line)).join('\n'),
      );
      expect(both.functions[0]?.instructions[53]?.counts.samples).toBeNull();
      expect(both.functions[0]?.lines[0]?.counts.samples).toBe(50341);
      expect(both.problems).toEqual([]); // nothing to compare the total with
    }
  });

  test('a lost row shows as a contradiction, a torn one as unread', () => {
    for (const at of [36, 57, 198])
      expect(parseSource(lines.toSpliced(at, 1).join('\n')).problems.length).toBeGreaterThan(0);
    const torn = parseSource(lines.with(57, `${lines[57]?.slice(0, 100)}`).join('\n'));
    expect(torn.problems.join()).toMatch(/1 rows of the page could not be read/);
  });

  test('cut anywhere, or with characters replaced: no exception, and a valid page', () => {
    for (let end = 0; end < page.length; end += 2999) sourcePageSchema.parse(parseSource(page.slice(0, end)));
    let state = 7;
    const random = (below: number): number => {
      state = (state * 1103515245 + 12345) % 2 ** 31;
      return state % below;
    };
    for (let round = 0; round < 30; round++) {
      const chars = [...page];
      for (let i = 0; i < 40; i++) chars[random(chars.length)] = '",\n-0x9\u0000\\='[random(10)] as string;
      sourcePageSchema.parse(parseSource(chars.join('')));
    }
  }, 20_000);

  test('a page of many kernels, lines and repeated addresses is read in time', () => {
    const many = Array.from(
      { length: 3000 },
      (_, i) =>
        `${title('/a.cu', `k${i % 7}`)}\n${table(['1', 'x', '-', '-', '1', '1'], ['', '', '0x10', 'M', '1', '1'])}`,
    );
    const same = Array.from({ length: 5000 }, () => row(['1', 'x', '-', '-', '1', '1'])).join('\n');
    const started = performance.now();
    const parsed = parseSource([...many, same].join('\n'));
    expect(parsed.functions.length).toBe(3000);
    expect(performance.now() - started).toBeLessThan(10_000);
  }, 20_000);
});
