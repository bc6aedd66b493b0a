import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type Dtype, unwrap } from '../../main/contract/index.ts';
import { screen } from '../../main/evaluate/screen/index.ts';
import { candidateName, listTasks, loadTask, originName } from '../../main/evaluate/task/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('origins under the candidate’s names pass', () => {
  const cases = listTasks(root).flatMap(({ id, loaded }) =>
    unwrap(loaded).task.dtypes.map((dtype): [string, Dtype] => [id, dtype]),
  );
  test.each(cases)('%s %s', (id, dtype) => {
    const loaded = unwrap(loadTask(root, id));
    const renamed = loaded.origin[dtype]
      .replace(/\b\w+_kernel\w*\b/g, (name) => `${name}_kernel_optimized`)
      .replace(
        new RegExp(`\\b${originName(loaded.task, dtype)}\\b(?=\\s*\\()`, 'g'),
        candidateName(loaded.task, dtype),
      );
    expect(screen(renamed, loaded.task, dtype).rejections).toEqual([]);
  });
});

/** First line of each: "// Expected: outcome or outcome. Why." */
describe('test candidates', () => {
  const dir = join(root, 'test/candidates');
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.cu'));
  test('are there', () => expect(files.length).toBeGreaterThan(20));
  test.each(files)('%s', (file) => {
    const source = readFileSync(join(dir, file), 'utf8');
    const { task } = unwrap(loadTask(root, file.split(/[\\/]/)[0] as string));
    const dtype: Dtype = source.includes(candidateName(task, 'bf16')) ? 'bf16' : 'fp32';
    const expectation = source.split('\n')[0] ?? '';
    const { rejections } = screen(source, task, dtype);
    const seen = rejections.map((r) => `${r.line} ${r.rule}: ${r.why}`).join('\n');
    // What the screen may refuse it is free to pass on; what it may not refuse must pass.
    if (!expectation.includes('screen-rejected')) expect(seen).toBe('');
    if (/thread|exit_zero|slow_origin/.test(file) && expectation.includes('screen-rejected')) expect(seen).not.toBe('');
  });
});
