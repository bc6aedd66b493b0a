import { expect, test } from 'vitest';
import { score, search } from '../../renderer/app/match.ts';
import { hrefOf, parseRoute } from '../../renderer/app/routes.ts';
import { axisOf } from '../../renderer/ui/scale.ts';
import { sortRows } from '../../renderer/ui/sort.ts';

/** Processor time since `begun`, ms: how busy the machine is does not count. */
const cpuMs = (begun: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
};

test('addresses are parsed as they are written', () => {
  const href = hrefOf('profile', ['261129-1808-pncy:r3.a0'], { tab: 'metrics', q: 'L2 hit', none: undefined });
  expect(parseRoute(href)).toEqual({
    screen: 'profile',
    path: ['261129-1808-pncy:r3.a0'],
    query: { tab: 'metrics', q: 'L2 hit' },
  });
  expect(parseRoute('')).toEqual({ screen: 'home', path: [], query: {} });
  expect(parseRoute('#/nonsense/x').screen).toBe('home');
  expect(parseRoute('#/run/a%2Fb').path).toEqual(['a/b']);
  expect(parseRoute('#/run/50%').path).toEqual(['50%']);
});

test('typed letters find what they begin, in order of fit', () => {
  expect(score('xyz', 'softmax')).toBeNull();
  const items = ['Go to History', 'Pause this run', 'Kernel softmax bf16', 'softmax bf16 run'];
  expect(search('softmax', items, (x) => x)[0]).toBe('softmax bf16 run');
  expect(search('gth', items, (x) => x)).toEqual(['Go to History']);
  expect(search('', items, (x) => x)).toEqual(items);
});

test('sorting is stable and leaves missing values at the end both ways', () => {
  const rows = [
    { id: 'a', v: 2 },
    { id: 'b', v: null },
    { id: 'c', v: 10 },
    { id: 'd', v: 2 },
  ];
  const ids = (descending: boolean) => sortRows(rows, (r) => r.v, descending).map((r) => r.id);
  expect(ids(false)).toEqual(['a', 'd', 'c', 'b']);
  expect(ids(true)).toEqual(['c', 'a', 'd', 'b']);
  expect(sortRows(['r10', 'r9', 'r1'], (x) => x, false)).toEqual(['r1', 'r9', 'r10']);
});

test('10,000 rows are sorted within 100 ms of processor', () => {
  const rows = Array.from({ length: 10_000 }, (_, i) => ({ v: (i * 7919) % 10_007, t: `task_${i % 50}` }));
  const begun = process.cpuUsage();
  sortRows(rows, (r) => r.v, true);
  expect(cpuMs(begun)).toBeLessThan(100);
});

test('axes hold all values, ticks are round; wide positive ranges are logarithmic', () => {
  const linear = axisOf([0.98, 1.2]);
  expect(linear?.log).toBe(false);
  expect(linear?.ticks).toContain(1.1);
  const wide = axisOf([1, 1200]);
  expect(wide?.log).toBe(true);
  expect(wide?.ticks).toEqual([1, 10, 100, 1000]);
  expect(axisOf([28, 1604])?.ticks).toEqual([50, 100, 200, 500, 1000, 2000]);
  for (const scale of [linear, wide])
    for (const x of [scale?.min ?? 0, scale?.max ?? 0]) expect(scale?.at(x)).toBeGreaterThanOrEqual(-1e-9);
  expect(axisOf([])).toBeNull();
  expect(axisOf([5, 5])?.at(5)).toBeCloseTo(0.5);
});
