import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Dtype, unwrap } from '../../main/contract/index.ts';
import { loadTask, taskIds } from '../../main/evaluate/task/index.ts';
import { taskJudge } from './judges.ts';
import { mutations } from './mutate.ts';
import { explanations, faultsOf, type Row, rowsOf, rowText } from './table.ts';

const root = join(import.meta.dirname, '../..');
const loaded = taskIds(root).map((id) => unwrap(loadTask(root, id)));
const page = new Set(readFileSync(join(root, 'docs/mutations.md'), 'utf8').split('\n'));

/** The next task's judge compiles while this one's is at work. */
function compileAhead(index: number): void {
  const [now, next] = [loaded[index], loaded[index + 1]];
  if (!now || !next) return;
  taskJudge(now.task.id, now.dir).then(
    () => taskJudge(next.task.id, next.dir),
    () => undefined, // told by the test that needs it
  );
}

/** The row as if all had been refused. */
const refusedEverywhere = (row: Row): Row['cells'] =>
  Object.fromEntries(
    Object.entries(row.cells).map(([id, cell]) => [id, { ...cell, by: 'elements' }]),
  ) as unknown as Row['cells'];

describe('mutation table', () => {
  it('covers 50 tasks in both dtypes', () => {
    expect(loaded.length).toBe(50);
    for (const { task } of loaded) expect([...task.dtypes].sort(), task.id).toEqual(['bf16', 'fp32']);
  });

  it('explains only what exists, once, in words', () => {
    const keys = explanations.map((entry) => `${entry.task} ${entry.dtype} ${entry.output} ${entry.mutation}`);
    expect(new Set(keys).size).toBe(keys.length);
    for (const entry of explanations) {
      const task = loaded.find((one) => one.task.id === entry.task)?.task;
      expect(task?.dtypes, JSON.stringify(entry)).toContain(entry.dtype);
      expect(
        task?.wrapper.params.some((param) => param.name === entry.output && /out$/.test(param.role)),
        JSON.stringify(entry),
      ).toBe(true);
      expect(
        mutations.map(({ id }) => id),
        JSON.stringify(entry),
      ).toContain(entry.mutation);
      expect(entry.reason.length, JSON.stringify(entry)).toBeGreaterThan(20);
    }
  });

  for (const [index, { task, dir }] of loaded.entries())
    it.each(task.dtypes as Dtype[])(
      `${task.id} %s: every wrong output is refused, the right one passes`,
      async (dtype) => {
        compileAhead(index);
        const rows = await rowsOf(task, dir, dtype);
        expect(rows.length).toBeGreaterThan(0);
        expect(rows.flatMap(faultsOf)).toEqual([]);
        const missing = rows.map(rowText).filter((text) => !page.has(text));
        expect(missing, 'docs/mutations.md is old: node build/mutations.ts').toEqual([]);
      },
      180_000,
    );

  it('shows the holes of limits that are too wide, and reasons without a hole', async () => {
    const { task, dir } = unwrap(loadTask(root, 'vector_add'));
    const wide = { ...task, tolerance: { fp32: task.tolerance.fp32?.map((entry) => ({ ...entry, c: 1e12 })) } };
    const [row] = await rowsOf(wide, dir, 'fp32');
    if (!row) throw new Error('no row');
    const holes = faultsOf(row).join('\n');
    for (const id of ['zero', 'tail-zero', 'coarse', 'coarser']) expect(holes).toContain(`"${id}" passes everywhere`);
    const needless = faultsOf({ ...row, task: 'dot_product', output: 'loss', cells: refusedEverywhere(row) });
    expect(needless).toEqual([expect.stringContaining('"neighbour" is refused')]);
  }, 180_000);
});
