import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../main/contract/index.ts';
import { libraryTitle, linkArguments } from '../../main/evaluate/libraries.ts';
import { libraryName, loadTask, taskIds } from '../../main/evaluate/task/index.ts';
import { armCompileArgs, versionScript } from '../../main/jobs/session/shim.ts';
import { compile, newFolder } from '../harness/build.ts';

const root = join(import.meta.dirname, '../..');

/** What needs no vendor's header or library beyond the toolkit that compiles: CUB, Thrust, the runtime. */
const alone = taskIds(root).flatMap((id) => {
  const { task, library } = unwrap(loadTask(root, id));
  if (library === null || linkArguments(library).length > 0) return [];
  const symbols = task.dtypes.map((dtype) => libraryName(task, dtype));
  return [{ id, title: libraryTitle(library), source: library, symbols }];
});

/** Compiles a task's library.cu as an arm is built for sm_90, both data types in one; the wrappers it exports. Throws the compiler's words. */
function build(id: string, source: string, symbols: readonly string[]): string[] {
  const dir = join(newFolder(), id);
  mkdirSync(dir);
  writeFileSync(join(dir, 'library.cu'), source);
  writeFileSync(join(dir, 'library.map'), versionScript(...symbols));
  const files = { source: 'library.cu', versionScript: 'library.map', output: 'library.so' };
  compile(armCompileArgs('gpu', files, linkArguments(source)), dir);
  const names = execFileSync('nm', ['-D', '--defined-only', join(dir, 'library.so')], { encoding: 'utf8' });
  return names.split('\n').flatMap((line) => / [TW] (\S+)$/.exec(line)?.[1] ?? []);
}

// Needs nvcc and is never skipped: where nvcc is missing it fails.
describe('library.cu of header libraries, with nvcc for sm_90', () => {
  it('is there for eleven tasks', () => {
    expect(alone.map(({ id, title }) => `${id}: ${title}`)).toEqual([
      'MSE_loss: CUB',
      'cross_entropy_loss: CUB',
      'matrix_copy: CUDA runtime',
      'matrix_scalar_mul: Thrust',
      'monte_carlo_int: CUB',
      'prefix_sum: CUB',
      'reverse_array: Thrust',
      'simpson_int: CUB',
      'sorting: CUB',
      'top_k: CUB',
      'vector_add: Thrust',
    ]);
  });

  it.each(alone)('$id ($title) compiles in both data types', { timeout: 900_000 }, ({ id, source, symbols }) => {
    expect(symbols).toHaveLength(2);
    expect(build(id, source, symbols).sort()).toEqual([...symbols].sort());
  });

  it('one that does not compile throws the words of the compiler', { timeout: 900_000 }, () => {
    const source = 'extern "C" void f_library(float* x) { *x = undeclared_sum; }\n';
    expect(() => build('broken', source, ['f_library'])).toThrow(/undeclared_sum/);
  });
});
