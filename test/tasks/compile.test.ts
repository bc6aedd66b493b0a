import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { outcomes, unwrap } from '../../main/contract/index.ts';
import { candidateName, loadTask, originName, taskIds, withoutComments } from '../../main/evaluate/task/index.ts';
import { buildArm, cuda, newFolder } from '../harness/build.ts';

const root = join(import.meta.dirname, '../..');
const candidates = join(root, 'test/candidates');

interface Entry {
  readonly file: string;
  readonly task: string;
  readonly dtype: 'fp32' | 'bf16';
  readonly expect: string[];
  readonly why: string;
}
const index = (name: string): Entry[] => JSON.parse(readFileSync(join(candidates, name), 'utf8'));
const gpu = index('index.json');
const host = index('host/index.json');

/** Symbols that a library exports. */
const exported = (library: string): string[] =>
  execFileSync('nm', ['-D', '--defined-only', library], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => / [TW] (\S+)$/.exec(line)?.[1] ?? []);

describe.skipIf(cuda === null)('with nvcc for sm_90', () => {
  const dir = newFolder();
  const origins = taskIds(root).flatMap((id) => {
    const { task, origin } = unwrap(loadTask(root, id));
    return task.dtypes.map((dtype) => ({
      name: `${id} ${dtype}`,
      source: origin[dtype],
      symbol: originName(task, dtype),
    }));
  });

  it.each(origins)('origin $name compiles as the harness builds it, without a warning', ({ source, symbol }) => {
    expect(buildArm(dir, symbol, source, symbol, 'gpu')).toBe(`${symbol}.so`);
    expect(exported(join(dir, `${symbol}.so`))).toEqual([symbol]);
  });

  it.each(gpu.filter((entry) => entry.expect.includes('accepted')))('$file compiles', ({ file, task: id, dtype }) => {
    const symbol = candidateName(unwrap(loadTask(root, id)).task, dtype);
    buildArm(dir, symbol, readFileSync(join(candidates, file), 'utf8'), symbol, 'gpu');
    expect(exported(join(dir, `${symbol}.so`))).toEqual([symbol]);
  });

  it('compile_error.cu does not', () => {
    expect(() =>
      buildArm(
        dir,
        'bad',
        readFileSync(join(candidates, 'dot_product/compile_error.cu'), 'utf8'),
        'dot_product_optimized',
        'gpu',
      ),
    ).toThrow(/undeclared_sum/);
  });
});

describe('candidates', () => {
  it.each(['dot_product', 'softmax', 'matrix_transpose', 'spmv_csr', 'host'])(
    'index lists every file of %s',
    (folder) => {
      const listed = [...gpu, ...host].map((entry) => entry.file).filter((file) => file.startsWith(`${folder}/`));
      const found = readdirSync(join(candidates, folder)).filter((name) => /\.(cu|cpp)$/.test(name));
      expect(listed.sort()).toEqual(found.map((name) => `${folder}/${name}`).sort());
    },
  );

  it.each([...gpu, ...host])('$file says what it expects, in known words', (entry) => {
    const known: readonly string[] = outcomes;
    expect(entry.expect.length).toBeGreaterThan(0);
    for (const outcome of entry.expect) expect(known).toContain(outcome);
    const source = readFileSync(join(candidates, entry.file), 'utf8');
    if (entry.file.endsWith('origin.cpp')) return;
    const header = (/^\/\/ Expected: ([^.]+)\./.exec(source)?.[1] ?? '')
      .split(/, | or | \(or |\)/)
      .filter((word) => word !== '');
    for (const word of header) expect(entry.expect, source.split('\n')[0]).toContain(word);
    if (entry.file.endsWith('.cu')) {
      const kernels = [...withoutComments(source).matchAll(/__global__\s+void\s+(\w+)/g)].map(
        (match) => match[1] as string,
      );
      expect(kernels.length).toBeGreaterThan(0);
      for (const kernel of kernels) expect(kernel).toMatch(/_kernel_optimized$/);
    }
  });

  it('cover every way of failing that a candidate can cause', () => {
    const expected = new Set(gpu.flatMap((entry) => entry.expect));
    for (const outcome of [
      'accepted',
      'not-faster',
      'screen-rejected',
      'compile-error',
      'wrong-result',
      'runtime-error',
      'timeout',
      'memory-error',
      'race',
      'precision',
      'cheat',
      'interference',
    ])
      expect(expected, outcome).toContain(outcome);
  });

  it('for the host runner compile with the host compiler', () => {
    const dir = newFolder();
    for (const { file } of host) {
      const symbol = /extern "C" void (\w+)\(/.exec(readFileSync(join(candidates, file), 'utf8'))?.[1] as string;
      const name = file.replace(/\W/g, '_');
      buildArm(dir, name, readFileSync(join(candidates, file), 'utf8'), symbol, 'host');
      expect(exported(join(dir, `${name}.so`)), file).toEqual([symbol]);
    }
  });
});
