import { describe, expect, test } from 'vitest';
import { Prng } from '../../main/base/random.ts';
import type { Calibration, Profile, ThresholdProposal } from '../../main/contract/index.ts';
import { calibrate } from '../../main/profile/calibrate.ts';
import { calibrationHtml } from '../../main/profile/calibration-html.ts';
import { histogramSvg, histogramText } from '../../main/profile/histogram-svg.ts';
import { escapeXml } from '../../main/profile/svg.ts';
import { verdict } from '../../main/profile/table2.ts';

const ids = [
  'sm__throughput.avg.pct_of_peak_sustained_elapsed',
  'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed',
  'gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed',
];
function task(name: string, values: readonly number[]): { task: string; profile: Profile } {
  const launch = {
    index: 0,
    kernel: 'k(int)',
    grid: [1],
    block: [1],
    cc: '9.0',
    metrics: Object.fromEntries(
      values.map((value, i) => [ids[i] as string, { available: true as const, value, unit: '%' }]),
    ),
  };
  const profile = {
    status: 'complete' as const,
    ncuVersion: '2025.3.1',
    problem: 'large/0',
    launches: [launch],
    verdict: verdict([launch]),
    filtered: [],
  };
  return { task: name, profile };
}
function record(tasks: readonly { task: string; profile: Profile }[]): Calibration {
  const prng = new Prng('svg');
  const about = {
    gpu: { name: 'NVIDIA <H200> & "co"', uuid: 'GPU-1', cc: '9.0' },
    driver: '580',
    date: '2026-11-29T16:00:00.000Z',
    dtype: 'fp32' as const,
  };
  const made = calibrate(tasks, about, () => prng.next());
  if (!made.ok) throw new Error(made.error.message);
  return made.value;
}
/** Compute in two groups, one value above 100 %; DRAM even; memory missing for one task. */
const made = record([
  ...Array.from({ length: 40 }, (_, i) => task(`t${i}`, [i < 24 ? 2 + i / 2 : 60 + i / 2, 1 + 2.4 * i, 3 + (i % 3)])),
  task('over', [100.4, 50, 4]),
  task('<script>alert(1)</script>', [70, 50]),
]);

/** Every tag closed in order, attributes quoted, no bare ampersand: throws where XML is not well formed. */
function elements(xml: string): { name: string; attributes: Record<string, string>; text: string }[] {
  const found: { name: string; attributes: Record<string, string>; text: string }[] = [];
  const open: typeof found = [];
  const token =
    /<(\/?)([a-z][a-z0-9]*)((?:\s[\w:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)\s*(\/?)>|([^<]+)|(<)/g;
  for (const [all, close, name = '', attributes = '', empty, text] of xml.matchAll(token)) {
    if (text !== undefined) {
      if (/&(?!amp;|lt;|gt;|quot;)/.test(text)) throw new Error(`bare ampersand: ${text}`);
      const inside = open.at(-1);
      if (inside !== undefined) inside.text += text;
    } else if (name === '') throw new Error(`no tag: ${xml.slice(xml.indexOf(all), 80)}`);
    else if (close === '/') {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes another element`);
    } else {
      const pairs = [...attributes.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]);
      const element = { name, attributes: Object.fromEntries(pairs), text: '' };
      found.push(element);
      if (empty === '') open.push(element);
    }
  }
  if (open.length > 0) throw new Error(`not closed: ${open.at(-1)?.name}`);
  return found;
}
const bars = (svg: string) =>
  elements(svg).flatMap(({ name, text }) => {
    const bar = /^(\d+) to (\d+) %: (\d+) tasks? (low|high)$/.exec(text);
    return name === 'title' && bar ? [{ from: Number(bar[1]), count: Number(bar[3]), side: bar[4] }] : [];
  });

test('the checker of this file finds what is not well formed', () => {
  for (const bad of [
    '<svg>',
    '<svg><a></svg></a>',
    '<a b=c/>',
    '<a>&</a>',
    '<a>&nbsp;</a>',
    '<a>1 < 2</a>',
    '<a b="<"/>',
  ])
    expect(() => elements(bad), bad).toThrow();
  expect(elements('<a b="1"><c/>x &lt; y</a>')).toHaveLength(2);
});

describe('histogram', () => {
  test.each(Object.values(made.proposals))('$metric: well formed, every value within 100 % in a bar', (proposal) => {
    const drawn = bars(histogramSvg(proposal));
    const within = proposal.values.filter(({ value }) => value <= 100);
    expect(drawn.reduce((sum, { count }) => sum + count, 0)).toBe(within.length);
    for (const { from, count, side } of drawn)
      expect(
        within.filter(
          ({ value }) =>
            value >= from && (value < from + 5 || from === 95) && value > proposal.used === (side === 'high'),
        ),
      ).toHaveLength(count);
  });

  test('bars are as high as their counts and as far right as their values', () => {
    const all = elements(histogramSvg(made.proposals.compute));
    const axis = (text: string) => all.find((e) => e.name === 'text' && e.text === text)?.attributes ?? {};
    const perCount = (Number(axis('0').y) - Number(axis('10').y)) / 10; // the count axis comes first
    expect(perCount).toBeGreaterThan(0);
    const at = all.findIndex(({ text }) => text === '5 to 10 %: 10 tasks low');
    const rect = all[at - 1]?.attributes;
    expect(Number(rect?.height)).toBeCloseTo(10 * perCount, 1);
    const percent = (value: number) =>
      Number(all.find((e) => e.text === `${value}` && e.attributes['text-anchor'] === 'middle')?.attributes.x);
    expect(Number(rect?.x)).toBeCloseTo((percent(0) + percent(10)) / 2 + 1, 1);
  });

  test('axes have units; title and description are tied to the picture', () => {
    const all = elements(histogramSvg(made.proposals.compute, 'page-compute'));
    const texts = all.map(({ text }) => text);
    expect(texts).toEqual(expect.arrayContaining(['% of peak', 'tasks per 5 points', '0', '50', '100']));
    expect(all[0]?.attributes).toMatchObject({
      role: 'img',
      'aria-labelledby': 'page-compute-title page-compute-desc',
    });
    const named = (id: string) => all.find(({ attributes }) => attributes.id === id);
    expect(named('page-compute-title')?.text).toBe('Compute (SM) Throughput of 42 tasks');
    expect(named('page-compute-desc')?.text).toBe(escapeXml(histogramText(made.proposals.compute)));
  });

  test('the words say what the picture says', () => {
    const text = histogramText(made.proposals.compute);
    expect(text).toContain('42 tasks. Threshold in force 41.8 %: 24 low, 18 high; 41.8 % adopted');
    expect(text).toContain('5-10 %: 10');
    expect(text).toContain('Above 100 %: 1 task, in no bar.');
    expect(histogramText(made.proposals.memory)).toContain('Without a value: 1 task.');
  });

  test('θ in force is solid, the others dashed and named', () => {
    const dashes = (proposal: ThresholdProposal) =>
      elements(histogramSvg(proposal))
        .filter(({ name, attributes }) => name === 'line' && attributes.y1 === '32')
        .map(({ attributes }) => [attributes.x1, attributes['stroke-dasharray']]);
    const x = (percent: number) => String(Math.round((56 + 5.68 * percent) * 100) / 100);
    expect(made.proposals.compute.adopted).toBe(true);
    expect(dashes(made.proposals.compute)).toEqual([
      [x(41.75), undefined],
      [x(30), '2 4'],
    ]);
    const { dram } = made.proposals;
    expect(dram.adopted).toBe(false);
    expect(dashes(dram)).toEqual([
      [x(30), undefined],
      [x(dram.cut.available ? dram.cut.threshold : Number.NaN), '7 4'],
    ]);
    expect(histogramSvg(dram)).toMatch(/>Otsu's [\d.]+ %, not adopted</);
  });

  test('no values: axes, and that there are none', () => {
    const svg = histogramSvg(record([]).proposals.dram);
    expect(elements(svg).map(({ text }) => text)).toContain('no task has a value');
    expect(bars(svg)).toEqual([]);
  });

  test('every colour is a variable of the page with a light one for the picture alone, and the page has it in both themes', () => {
    const svg = histogramSvg(record([task('a', [10, 20, 30]), task('b', [90, 80, 70])]).proposals.compute);
    const colours = [...svg.matchAll(/(?:fill|stroke)="([^"]*)"/g)].map(([, colour]) => colour as string);
    expect(colours.length).toBeGreaterThan(10);
    for (const colour of colours) expect(colour).toMatch(/^var\(--[a-z]+,#[0-9a-f]{6}\)$/);
    const html = calibrationHtml(record([task('a', [10, 20, 30])]));
    const themes = [...html.matchAll(/:root\{([^}]*)\}/g)].map(([, rules]) => rules as string);
    expect(themes).toHaveLength(3);
    for (const name of new Set(colours.map((colour) => colour.slice(4, colour.indexOf(',')))))
      for (const rules of themes) expect(rules).toContain(`${name}:`);
  });
  test('an id that is none is a bug', () => {
    expect(() => histogramSvg(made.proposals.dram, 'a" onload="x')).toThrow(RangeError);
  });
});

describe('page', () => {
  const html = calibrationHtml(made);
  test('is well formed, loads and runs nothing, shows names as text', () => {
    const body = html.slice(html.indexOf('<body>')).replace(/<\/html>\s*$/, '');
    const names = new Set(elements(body).map(({ name }) => name));
    expect([...names].filter((name) => ['script', 'img', 'link', 'iframe', 'a'].includes(name))).toEqual([]);
    expect(html).toContain("default-src 'none'");
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(html).toContain('NVIDIA &lt;H200&gt; &amp; &quot;co&quot;');
    expect(html.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|@import/);
  });

  test('element ids are unique', () => {
    const all = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(all).toHaveLength(6);
    expect(new Set(all).size).toBe(6);
  });

  test('figures, classes before and after, who moved, what is missing', () => {
    const cells = (first: string) =>
      [...html.matchAll(/<tr>(.*?)<\/tr>/g)]
        .map(([, row = '']) => [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, text]) => text))
        .filter((row) => row[0] === escapeXml(first));
    expect(cells('Compute (SM) Throughput')[0]?.slice(1, 3)).toEqual(['42', '41.8']);
    expect(cells('Compute (SM) Throughput')[0]?.[5]).toBe('41.8 (adopted)');
    expect(cells('DRAM Throughput')[0]?.[5]).toBe('30.0 (paper)');
    const { before, after } = made.verdicts;
    expect(cells('compute bound')).toEqual([['compute bound', `${before.compute}`, `${after.compute}`]]);
    expect(cells('no verdict')).toEqual([['no verdict', '1', '1']]);
    expect(html).toContain('No task changes its class.');
    expect(cells('<script>alert(1)</script>')).toEqual([
      [escapeXml('<script>alert(1)</script>'), 'Memory Throughput', expect.stringContaining('is not in ncu')],
    ]);
  });

  test('nothing at hand: says so, no zero that was not counted', () => {
    const empty = calibrationHtml(record([]));
    expect(empty).toContain('not available');
    expect(empty).toContain('0 tasks have a value, 20 are needed');
  });
});

test('text is escaped, characters that XML forbids are replaced', () => {
  expect(escapeXml('<a b="c">&\u0000\u001b[0m\n')).toBe('&lt;a b=&quot;c&quot;&gt;&amp;\ufffd\ufffd[0m\n');
});
