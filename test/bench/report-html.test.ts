import { describe, expect, it } from 'vitest';
import { decade, decades, ticks } from '../../main/bench/axes.ts';
import { reportCsv } from '../../main/bench/csv.ts';
import { comparisons } from '../../main/bench/headline.ts';
import { reportHtml } from '../../main/bench/html.ts';
import type { BenchReport, Entry, ProfileEntry, SizeRow } from '../../main/bench/report.ts';
import { rightOnly } from '../../main/bench/right.ts';
import { letter, margin, median, percent, pointOf, span, times, ulps, verdictOf } from '../../main/bench/words.ts';
import type { Dtype, Estimate, SizeSet } from '../../main/contract/index.ts';
import { machine } from '../app/lab.ts';

const within = (value: number, lo = value * 0.98, hi = value * 1.02): Estimate => ({ value, lo, hi, level: 0.95 });

const row = (n: number, library: Estimate | null): SizeRow => ({
  problem: `published/${n}`,
  dims: { N: 1024 << n },
  share: 0.5,
  originSpanNs: within(10_000),
  originWrapperNs: within(37_093, 16_040, 85_779),
  candidateSpanNs: null,
  candidateWrapperNs: null,
  speedup: null,
  librarySpanNs: library && within(10_000 / library.value),
  librarySpeedup: library,
  libraryVersusCandidate: null,
  floorNs: 544,
});

const entry = (task: string, p: Estimate | null, dtype: Dtype, sizes: SizeSet, at: number): Entry => ({
  cell: `${sizes}.${task}.${dtype}`,
  task,
  title: `Task ${task}`,
  category: 'loss',
  dtype,
  sizes,
  candidate: null,
  outcome: 'valid',
  reason: '',
  verified: true,
  score: null,
  pMin: null,
  geomean: null,
  error: { maxUlp: 2e32, rmsUlp: 0.5, worstOfLimit: 0.99, problem: 'verify/1' },
  rows: sizes === 'large' ? [row(20, p)] : [row(0, p), row(1, p)],
  library: p && { status: 'measured', title: 'cuX', reason: '', score: p, maxUlp: 2e32, rmsUlp: 1, worstOfLimit: 0.3 },
  processes: 3,
  calls: 100,
  voided: 0,
  jobWallMs: 1,
  machine: at,
});

const tasks: readonly (readonly [string, Estimate | null])[] = [
  ['Zeta', within(20)],
  ['alpha', within(0.2)],
  ['Beta', within(1.002)],
  ['gamma', within(1037, 551, 1953)],
  ['delta', null],
];
const entries = tasks.flatMap(([task, p]) =>
  (['published', 'large'] as const).flatMap((sizes) => [
    entry(task, p, 'fp32', sizes, 0),
    entry(task, p, 'bf16', sizes, 1),
  ]),
);
const gpu = (uuid: string) => ({ ...machine, gpu: { name: 'NVIDIA H200', uuid, cc: '9.0' } });
const report: BenchReport = {
  format: 'cudamaster-bench-report',
  version: 1,
  bench: 'hand-made',
  createdAt: '2026-11-29T12:00:00.000Z',
  reportedAt: '2026-11-29T13:00:00.000Z',
  programVersion: '0.1.0',
  config: {
    stages: ['published', 'large'],
    profileSizes: 'large',
    library: true,
    arch: 'native',
    executor: 'local',
    candidates: 'none',
  },
  cells: { all: 20, measured: 20 },
  outdated: [],
  machines: [
    { machine: gpu('GPU-1'), cells: 10 },
    { machine: gpu('GPU-2'), cells: 10 },
  ],
  gpu: null,
  clocks: null,
  stages: [],
  entries,
  profiles: [],
  success: [],
  classes: [],
  micro: [],
  missing: [],
};
const html = reportHtml(report);

describe('figures in words', () => {
  it('give a wide interval by both ends: half its width would promise what it does not hold', () => {
    expect(margin(within(100, 98, 103), times)).toBe('±3.0 %');
    expect(margin(within(37.1, 16, 85.8), times)).toBe('16.0× to 85.8×');
    expect(span(within(37_093, 16_040, 85_779))).toEqual({ figure: '37.09 µs', margin: '16.0 to 85.8 µs' });
    expect(span(within(9_999_999, 5e6, 2e7))).toEqual({ figure: '10.00 ms', margin: '5.00 to 20.0 ms' });
    expect(span(null)).toEqual({ figure: '–' });
  });

  it('never show as none or as zero what is small', () => {
    expect([0.00032, 0.0573, 0.5, 1, 1.002, 0.9961, 1.02, 17.96, 1054.2].map(times)).toEqual(
      ['0.000320', '0.0573', '0.500', '1.00', '1.002', '0.996', '1.02', '18.0', '1054'].map((text) => `${text}×`),
    );
    expect([0, 0.0004, 0.04, 0.5, 51.08].map(percent)).toEqual(['0', '0.0004', '0.04', '0.5', '51.1']);
    expect([0, 0.5, 1990, 1.88e7, 2.08e32].map(ulps)).toEqual(['0', '0.5', '1990', '1.88·10⁷', '2.08·10³²']);
  });

  it('call faster or slower only what the whole interval says', () => {
    expect([within(1.1, 1.01, 1.2), within(1.1, 0.99, 1.2), within(0.8, 0.7, 0.999)].map(verdictOf)).toEqual([
      'faster',
      'open',
      'slower',
    ]);
    expect([median([]), median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([null, 2, 2.5]);
    expect([0, 3, 25, 26].map(letter)).toEqual(['A', 'D', 'Z', 'A1']);
  });
});

describe('axes', () => {
  it('have at most nine labels, whatever they hold, and 1 among them', () => {
    for (const [least, most] of [
      [0.01, 2e32],
      [0.1, 1e4],
      [3, 5],
      [1e-7, 1e-3],
      [0.001, 1e9],
    ] as const) {
      const axis = decades([least, most], 0, 100);
      const labels = ticks(axis);
      expect(labels.length, `${least} to ${most}`).toBeGreaterThan(1);
      expect(labels.length, `${least} to ${most}`).toBeLessThanOrEqual(9);
      expect(new Set(labels.map(decade)).size).toBe(labels.length);
      if (axis.from <= 0 && axis.to >= 0) expect(labels).toContain(1);
      for (const label of labels) {
        expect(axis.at(label)).toBeGreaterThanOrEqual(-1e-9);
        expect(axis.at(label)).toBeLessThanOrEqual(100 + 1e-9);
      }
    }
    expect([0.01, 1, 1000, 1e4, 1e-5].map(decade)).toEqual(['0.01', '1', '1000', '10⁴', '10⁻⁵']);
  });
});

describe('a page of many cells', () => {
  it('says first what is faster, by how much, how sure and where not', () => {
    const all = comparisons(report);
    expect(all.map((c) => [c.arm, c.dtype, c.sizes, c.tried])).toEqual([
      ['library', 'fp32', 'published', 4],
      ['library', 'bf16', 'published', 4],
      ['library', 'fp32', 'large', 4],
      ['library', 'bf16', 'large', 4],
    ]);
    expect(all[0]?.tasks.map(({ task }) => task)).toEqual(['gamma', 'Zeta', 'Beta', 'alpha']);
    expect(all[0]?.bySize).toEqual({ faster: 4, open: 2, slower: 2 });
    const short = html.slice(html.indexOf('id="short"'), html.indexOf('id="meanings"'));
    expect(short).toContain(
      'faster for 2 of 4 tasks, median of all 10.5×, slower for 1 (alpha), not told apart for 1 (Beta)',
    );
    expect(short).toContain('Library over origin: 8 of 16 faster, 4 slower, 4 not told apart.');
    expect(short).toContain('1037× <small>551× to 1953×</small>');
  });

  it('sets candidates against origin and library, and counts no figure of one that was wrong', () => {
    const made = entries
      .filter((e) => e.dtype === 'fp32' && e.sizes === 'published')
      .map((e): Entry => {
        const wrong = e.task === 'Zeta';
        const rows = e.rows.map((r, i) => ({
          ...r,
          share: i === 0 ? 0.9 : 0.1,
          speedup: within(2),
          libraryVersusCandidate: e.library && within(i === 0 ? 0.5 : 3),
        }));
        return {
          ...e,
          rows,
          candidate: `${e.task}.cu`,
          score: within(2),
          outcome: wrong ? 'wrong-result' : 'accepted',
        };
      });
    const [origin, versus] = comparisons({ entries: made });
    expect(origin).toMatchObject({
      arm: 'candidate',
      tried: 5,
      unknown: ['Zeta'],
      bySize: { faster: 8, open: 0, slower: 0 },
    });
    expect(versus).toMatchObject({
      arm: 'versus',
      tried: 4,
      unknown: ['Zeta'],
      bySize: { faster: 3, open: 0, slower: 3 },
    });
    expect(versus?.tasks.map(({ p }) => p.value)).toEqual([0.5, 0.5, 0.5]);
    const page = reportHtml({ ...report, entries: made });
    expect(page).toContain('no figure for 1 (Zeta)');
    expect(page).toContain('faster than library');
    expect(page).toContain('Speed-up of the candidate over the vendor library, fp32');
  });

  it('shows an impossible or wrong candidate nowhere as a speed-up: no map, picture, table, field', () => {
    const made = (task: string, outcome: Entry['outcome'], s: number): Entry => {
      const e = entry(task, within(3), 'fp32', 'published', 0);
      const candidate = { candidateSpanNs: within(10_000 / s), candidateWrapperNs: within(10_000 / s) };
      const rows = e.rows.map((r) => ({ ...r, ...candidate, speedup: within(s), libraryVersusCandidate: within(s) }));
      return { ...e, candidate: `${task}.cu`, outcome, score: within(s), pMin: s, geomean: s, rows };
    };
    const all = {
      ...report,
      entries: [made('good', 'accepted', 1.5), made('gone', 'suspect', 905), made('racy', 'race', 404)],
    };
    const [gone] = all.entries.slice(1).map(rightOnly);
    expect(gone).toMatchObject({ score: null, pMin: null, geomean: null, raw: { outcome: 'suspect', pMin: 905 } });
    expect(gone?.rows.map((r) => [r.speedup, r.candidateSpanNs, r.libraryVersusCandidate, r.librarySpeedup])).toEqual(
      all.entries[1]?.rows.map((r) => [null, null, null, r.librarySpeedup]),
    );
    expect(gone?.raw?.sizes.map((r) => r.speedup?.value)).toEqual([905, 905]);
    // Once is enough, and what is right or an origin's comes back as it is.
    expect(rightOnly(gone as Entry)).toBe(gone);
    expect(rightOnly(all.entries[0] as Entry)).toBe(all.entries[0]);
    expect(rightOnly(entries[0] as Entry)).toBe(entries[0]);
    const page = reportHtml(all);
    const csv = reportCsv(all);
    for (const text of [page, csv]) {
      expect(text).toContain('suspect');
      expect(text).toContain('1.5');
      expect(text).not.toMatch(/905|404|887|396/);
    }
    expect(page).toContain('Speed-up of the candidate over its origin, fp32');
  });

  it('leads to every task, in the order of the alphabet', () => {
    const order = [...html.matchAll(/<h3 id="task-(\w+)">/g)].map((m) => m[1]);
    expect(order).toEqual(['alpha', 'Beta', 'delta', 'gamma', 'Zeta']);
    const nav = html.slice(html.indexOf('<nav>'), html.indexOf('</nav>'));
    for (const task of order) expect(nav).toContain(`href="#task-${task}"`);
  });

  it('names the GPU of every row, and what has no figure', () => {
    const section = html.slice(html.indexOf('id="task-Zeta"'), html.indexOf('id="environment"'));
    expect(section).toContain('fp32 published: GPU A, valid, 3 processes, 100 timed calls, 0 void');
    const cells = [...section.matchAll(/<tr><th scope="row">N=\d+<\/th><td>(\w+)<\/td><td>(\w+)<\/td><td>(\w)<\/td>/g)];
    expect(cells.map((m) => m.slice(1).join(' '))).toEqual([
      'published fp32 A',
      'published bf16 B',
      'published fp32 A',
      'published bf16 B',
      'large fp32 A',
      'large bf16 B',
    ]);
    expect(html).toContain(
      '<th scope="row">A</th><td class="w">NVIDIA H200, compute capability 9.0</td><td>GPU-1</td>',
    );
    expect(html).toContain('2 × NVIDIA H200 (GPUs A, B)');
    expect(html).toContain('No figure: delta.');
  });

  it('has a number in every cell of a map, in brackets where the interval holds 1', () => {
    const map = html.slice(html.indexOf('id="heat-library-fp32-title"'), html.indexOf('id="heat-library-bf16-title"'));
    const texts = [...map.matchAll(/<\/title><rect[^>]*\/><text[^>]*>([^<]+)<\/text><\/g>/g)].map((m) => m[1]);
    // Large first, then the published ones.
    expect(texts).toEqual([
      ...Array(3).fill('0.20'),
      ...Array(3).fill('(1.00)'),
      ...Array(3).fill('1037'),
      ...Array(3).fill('20.0'),
    ]);
  });

  it('keeps the figures of maps and classes readable on their colours, in both themes', () => {
    const themes = [...html.matchAll(/:root\{([^}]*)\}/g)].map((m) => m[1] as string);
    expect(themes).toHaveLength(3);
    const deepest = Math.max(
      ...[...html.matchAll(/fill-opacity="([\d.]+)" stroke="[^"]*" stroke-width="0.5"\/><text/g)].map((m) =>
        Number(m[1]),
      ),
    );
    expect(deepest).toBeGreaterThan(0.3);
    for (const theme of themes) {
      const colour = (name: string): number[] => {
        const hex = new RegExp(`--${name}:#([0-9a-f]{6})`).exec(theme)?.[1] ?? '';
        return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
      };
      const light = (rgb: number[]): number => {
        const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * (r as number) + 0.7152 * (g as number) + 0.0722 * (b as number);
      };
      const contrast = (a: number[], b: number[]): number => {
        const [low, high] = [light(a), light(b)].sort((x, y) => x - y) as [number, number];
        return (high + 0.05) / (low + 0.05);
      };
      for (const ground of ['high', 'mark', 'low']) {
        const under = colour(ground).map((v, i) => v * deepest + (colour('paper')[i] as number) * (1 - deepest));
        expect(contrast(colour('ink'), under), `${ground} of ${theme}`).toBeGreaterThanOrEqual(4.5);
      }
      expect(contrast(colour('faint'), colour('paper'))).toBeGreaterThanOrEqual(4.5);
    }
  });

  it('is reached by the keyboard where it scrolls, and hides no link in an image', () => {
    expect(html).toContain('class="wide"');
    expect(html).not.toMatch(/class="wide"(?! tabindex="0")/);
    const images = [...html.matchAll(/<svg[^>]*role="img"[\s\S]*?<\/svg>/g)].map((m) => m[0]);
    expect(images.filter((image) => image.includes('<a '))).toEqual([]);
    expect(html).toMatch(/<svg[^>]*role="group"/);
  });

  it('is printed light, with nothing cut that a screen would scroll', () => {
    const print = html.slice(html.indexOf('@media print{'), html.indexOf('</style>'));
    expect(print).toContain('color-scheme:light');
    expect(print).toContain('.wide{overflow:visible}');
    expect(print).toContain('figure svg{max-width:100%}');
  });
});

it('stands a profile at a pipe that has a roof, not at the compiler’s moves by packed FP16', () => {
  const point = (label: string, roof: boolean) => ({
    label,
    ofCeiling: roof ? { available: true, value: 39, unit: '%' } : { available: false, reason: 'not measured' },
  });
  const at = (...points: unknown[]): string | undefined =>
    pointOf({ roofline: { points } } as unknown as ProfileEntry)?.label;
  expect(at(point('FP16 (packed)', false), point('FP32', true))).toBe('FP32');
  expect(at(point('FP64', false))).toBe('FP64');
  expect(at()).toBeUndefined();
});
