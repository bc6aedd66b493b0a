import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import type { TaskEntry } from '../../main/contract/index.ts';
import { ApiContext } from '../../renderer/api/client.ts';
import { Protocol } from '../../renderer/api/protocol.ts';
import { Edit } from '../../renderer/screens/kernel/edit.tsx';
import {
  addressOf,
  categoriesOf,
  joinArgs,
  sizeRows,
  splitArgs,
  taskGroups,
} from '../../renderer/screens/kernel/model.ts';
import { evaluation } from '../e2e/profiled-run.ts';

test('addresses: task with type, version, nothing', () => {
  expect(addressOf(['softmax', 'bf16'])).toEqual({ kind: 'task', task: 'softmax', dtype: 'bf16' });
  expect(addressOf(['softmax', 'fp64'])).toEqual({ kind: 'task', task: 'softmax', dtype: 'fp32' });
  expect(addressOf(['261129-1755-adx3:r1.a0'])).toEqual({ kind: 'version', version: '261129-1755-adx3:r1.a0' });
  expect(addressOf([])).toEqual({ kind: 'none' });
});

describe('task list', () => {
  const entry = (
    id: string,
    category: string,
    dtype: 'fp32' | 'bf16' = 'fp32',
    fault: string | null = null,
  ): TaskEntry => ({
    ...{ id, dtype, title: `Title of ${id}`, category, sizes: { published: 4, large: 1 }, library: false, fault },
  });
  const entries = [
    entry('softmax', 'llm'),
    entry('softmax', 'llm', 'bf16'),
    entry('elu', 'activation'),
    entry('broken', 'llm', 'fp32', 'task.json: sizes'),
  ];
  test('one line per task, by category and name', () => {
    const groups = taskGroups(entries, '', '');
    expect(groups.map(({ id }) => id)).toEqual(['elu', 'broken', 'softmax']);
    expect(groups[2]?.entries.map(({ dtype }) => dtype)).toEqual(['fp32', 'bf16']);
    expect(groups[1]?.fault).toBe('task.json: sizes');
  });
  test('the user’s own come first, also those that cannot be read', () => {
    const broken = { ...entry('hurt', 'user', 'fp32', 'not JSON'), category: null, own: true };
    const groups = taskGroups([...entries, { ...entry('zeta', 'user'), own: true }, broken], '', '');
    expect(groups.slice(0, 2).map(({ id, category, own }) => [id, category, own])).toEqual([
      ['hurt', 'user', true],
      ['zeta', 'user', true],
    ]);
    expect(groups[2]?.own).toBe(false);
    expect(categoriesOf([...entries, entry('zeta', 'user')])[0]).toBe('user');
  });

  test('search and category narrow it', () => {
    expect(taskGroups(entries, 'LLM soft', '').map(({ id }) => id)).toEqual(['softmax']);
    expect(taskGroups(entries, '', 'activation').map(({ id }) => id)).toEqual(['elu']);
    expect(taskGroups(entries, 'nothing', '')).toEqual([]);
    expect(categoriesOf(entries)).toEqual(['activation', 'llm']);
  });
});

test('sizes take the baseline of the same dimensions; without one nothing is measured', () => {
  const problems = [
    { id: 'a', dims: { n: 1024 }, weight: 0.2, bytes: 8192, flop: 2048 },
    { id: 'b', dims: { n: 7 }, weight: 0.8, bytes: null, flop: 1 },
  ];
  const baseline = { run: 'r', at: '', evaluation: evaluation(null, null) };
  const [first, second] = sizeRows({ problems, baseline });
  expect(first).toMatchObject({ intensity: 0.25, span: { value: 102_400 }, floorNs: 10_240, aboveFloor: 10 });
  expect(second).toMatchObject({ intensity: null, span: null, wrapper: null, floorNs: null, aboveFloor: null });
  expect(sizeRows({ problems, baseline: null })[0]).toMatchObject({ span: null, aboveFloor: null });
});

test('arguments: blanks part, quotes keep, an open quote is a fault', () => {
  expect(splitArgs('  -O3   --use_fast_math ')).toEqual(['-O3', '--use_fast_math']);
  expect(splitArgs(`-DNAME="a b" '' -x`)).toEqual(['-DNAME=a b', '', '-x']);
  expect(splitArgs('')).toEqual([]);
  expect(splitArgs('-D"open')).toBeNull();
  for (const args of [['-O3', '-maxrregcount=64'], ['-DX=a b'], [''], ['say "hi"']])
    expect(splitArgs(joinArgs(args))).toEqual(args);
});

test('a copy is evaluated at sizes that its task has', () => {
  const props = { task: 'mine', dtype: 'fp32', parent: null, parentName: 'origin', parentSource: 'x' } as const;
  const more = { parentArgs: [], signature: null, run: null, onClose: () => undefined };
  const shown = (large: number, sizeSet: 'published' | 'large'): string => {
    const edit = createElement(Edit, { ...props, ...more, sizeSet, sizes: { published: 5, large } });
    const page = renderToStaticMarkup(createElement(ApiContext, { value: new Protocol() }, edit));
    return /<label[^>]*>Sizes<.*?<\/select>.*?(?=<label)/.exec(page)?.[0] ?? page;
  };
  expect(shown(1, 'large')).toMatch(/<option value="large" selected="">large \(1\)</);
  expect(shown(1, 'large')).not.toContain('no large sizes');
  const none = shown(0, 'large');
  expect(none).toMatch(/<option value="published" selected="">published \(5\)</);
  expect(none).toMatch(/<option value="large" disabled="">large</);
  expect(none).toContain('This task states no large sizes.');
});
