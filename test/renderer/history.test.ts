import { expect, test } from 'vitest';
import type { VersionRow } from '../../main/contract/api.ts';
import { domainOf, placeOf } from '../../renderer/charts/whisker-scale.ts';
import { anything, facetCounts, filterOf, filterVersions, isNarrowed } from '../../renderer/screens/history/filter.ts';
import { ancestorsOf, lineageOf } from '../../renderer/screens/history/lineage.ts';
import { sortRows } from '../../renderer/ui/sort.ts';
import { manyVersions } from '../e2e/many-versions.ts';

const rows = manyVersions(10_000);
const first = rows[0] as VersionRow;
const row = (id: string, parent: string | null, at: string): VersionRow => ({ ...first, id, parent, at });

test('words must all be found, in any of the texts, whatever their case', () => {
  const found = filterVersions(rows, { ...anything, text: 'SOFTMAX  rtx accepted' });
  expect(found.length).toBeGreaterThan(0);
  for (const v of found) {
    expect(v.task).toBe('softmax');
    expect(v.gpu).toBe('NVIDIA RTX 4090');
    expect(v.outcome).toBe('accepted');
  }
  expect(filterVersions(rows, { ...anything, text: 'nowhere-to-be-found' })).toEqual([]);
  expect(filterVersions(rows, anything)).toEqual(rows);
});

test('choices narrow together, and each offers what the others leave', () => {
  const filter = { ...anything, task: 'softmax', outcome: 'accepted' };
  const found = filterVersions(rows, filter);
  expect(found.length).toBe(rows.filter((v) => v.task === 'softmax' && v.outcome === 'accepted').length);
  const outcomes = new Map(facetCounts(rows, filter, 'outcome'));
  expect(outcomes.get('valid')).toBe(rows.filter((v) => v.task === 'softmax' && v.outcome === 'valid').length);
  expect([...outcomes.values()].reduce((a, b) => a + b)).toBe(rows.filter((v) => v.task === 'softmax').length);
  expect(facetCounts([], filter, 'task')).toEqual([['softmax', 0]]);
  const pinned = filterVersions(rows, { ...anything, pinned: true });
  expect(pinned.length).toBe(rows.filter((v) => v.pinned).length);
});

test('versions under way are a choice of their own', () => {
  const open = { ...first, outcome: null };
  expect(facetCounts([open], anything, 'outcome')).toEqual([['pending', 1]]);
  expect(filterVersions([open, first], { ...anything, outcome: 'pending' })).toEqual([open]);
});

test('a filter survives the address', () => {
  expect(isNarrowed(anything)).toBe(false);
  expect(filterOf({ q: 'a b', task: 't', pinned: '1' })).toEqual({ ...anything, text: 'a b', task: 't', pinned: true });
  expect(isNarrowed(filterOf({ gpu: 'x' }))).toBe(true);
});

/** The quickest of several tries, ms of this thread's processor time: what the code needs, not how busy the machine is. */
function quickest(work: () => unknown): number {
  const tries = Array.from({ length: 7 }, () => {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...tries);
}

test('ten thousand versions are filtered and sorted within 100 ms', () => {
  expect(quickest(() => filterVersions(rows, { ...anything, text: 'not-faster h200' }))).toBeLessThan(100);
  expect(quickest(() => facetCounts(rows, { ...anything, text: 'softmax' }, 'gpu'))).toBeLessThan(100);
  for (const value of [(v: VersionRow) => v.score?.value ?? null, (v: VersionRow) => v.task, (v: VersionRow) => v.id])
    expect(quickest(() => sortRows(rows, value, true))).toBeLessThan(100);
});

test('missing values stay last in both directions, equal ones keep their order', () => {
  const up = sortRows(rows, (v) => v.score?.value ?? null, false);
  const down = sortRows(rows, (v) => v.score?.value ?? null, true);
  const scored = rows.filter((v) => v.score !== null).length;
  expect(up.slice(0, scored).every((v) => v.score !== null)).toBe(true);
  expect(down.slice(0, scored).every((v) => v.score !== null)).toBe(true);
  expect(up.slice(scored)).toEqual(rows.filter((v) => v.score === null));
  expect(sortRows(['b10', 'b9', 'a'], (x) => x, false)).toEqual(['a', 'b9', 'b10']);
});

test('a lineage is drawn from its root, children in the order in which they were made', () => {
  const tree = [
    row('x:origin', null, '1'),
    row('x:r1.a0', 'x:origin', '2'),
    row('x:r2.a0', 'x:r1.a0', '4'),
    row('x:r1.a1', 'x:r1.a0', '3'),
    row('y:r1.a0', 'x:r2.a0', '5'),
  ];
  const drawn = lineageOf(tree, 'x:r1.a1').map((l) => [l.row.id, l.depth, l.last, l.rails.join()]);
  expect(drawn).toEqual([
    ['x:origin', 0, true, ''],
    ['x:r1.a0', 1, true, ''],
    ['x:r1.a1', 2, false, 'false'],
    ['x:r2.a0', 2, true, 'false'],
    ['y:r1.a0', 3, true, 'false,false'],
  ]);
  expect(ancestorsOf(tree, 'y:r1.a0').map((r) => r.id)).toEqual(['x:origin', 'x:r1.a0', 'x:r2.a0', 'y:r1.a0']);
  expect(lineageOf(tree, 'z')).toEqual([]);
});

test('a lineage whose parents are gone, or run in a circle, is still drawn', () => {
  expect(lineageOf([row('a', 'gone', '1'), row('b', 'a', '2')], 'b').map((l) => l.row.id)).toEqual(['a', 'b']);
  const circle = lineageOf([row('a', 'b', '1'), row('b', 'a', '2')], 'a');
  expect(circle.map((l) => l.row.id).sort()).toEqual(['a', 'b']);
  expect(ancestorsOf([row('a', 'b', '1'), row('b', 'a', '2')], 'a')).toHaveLength(2);
});

test('an axis holds every interval and the mark', () => {
  const of = (value: number) => ({ value, lo: value * 0.9, hi: value * 1.1, level: 0.95 });
  expect(domainOf([null, null], [1])).toBeNull();
  const domain = domainOf([of(2), null, of(50)], [1]);
  if (domain === null) throw new Error('an axis was expected');
  expect(domain.lo).toBeLessThan(1);
  expect(domain.hi).toBeGreaterThan(55);
  expect(placeOf(domain, 1)).toBeLessThan(placeOf(domain, 2));
  expect(placeOf(domain, 0)).toBe(0);
  expect(placeOf(domain, 1e9)).toBe(1);
});
