import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyTask, putInPlace } from '../../main/app/own-tasks.ts';
import { unwrap } from '../../main/contract/index.ts';
import { loadTask, loadTaskFrom, taskIds } from '../../main/evaluate/task/index.ts';
import { unknownNames } from '../../main/evaluate/task/reference-names.ts';
import { inProcess } from '../cli/program.ts';
import { root } from './lab.ts';

/** A user's way from a .cu to a task of their own, with the real compilers, over the command line. */
const saxpy = `#include <cuda_runtime.h>
__global__ void saxpy_kernel(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" void saxpy(int n, float a, const float* __restrict__ x, float* y) {
  saxpy_kernel<<<(n + 255) / 256, 256>>>(n, a, x, y);
}
`;
const asked = ['--size', 'n=1024', '--size', 'n=1048576', '--value', 'a=2.5', '--inout', 'y', '--flops', '2*n'];
const body = `    const double term = p_.scalar(1) * p_.in("x")[i], before = p_.in("y")[i];
    return {term + before, std::fabs(term) + std::fabs(before), 2.0};`;

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-own-'));
  process.env.CUDAMASTER_HOME = home;
  writeFileSync(join(home, 'saxpy.cu'), saxpy);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const run = inProcess;
const made = (): string => join(home, 'made');
const own = (): string => join(home, 'data/tasks');
const errorOf = (last: Record<string, unknown>) =>
  (last as { error: { code: string; message: string; remedy?: string } }).error;

/** What a user does with the form: the one line that stops the compiler goes, a value comes in. */
function fillIn(folder: string): void {
  const file = join(folder, 'reference.h');
  const text = readFileSync(file, 'utf8');
  const at = text.split('\n').findIndex((line) => line.startsWith('#error'));
  expect(at).toBeGreaterThan(0);
  const lines = text.split('\n');
  lines.splice(at, 1, body);
  // The form fetched views; the test's line takes them from the problem, which the class keeps.
  writeFileSync(
    file,
    lines
      .join('\n')
      .replace(
        /explicit Reference\(const cm::Problem& p\)[^{]*\{/,
        'explicit Reference(const cm::Problem& p) : p_(p) {',
      )
      .replace(/private:/, 'private:\n  const cm::Problem& p_;'),
  );
}

describe('a task of the user’s own', { timeout: 300_000 }, () => {
  it('is drafted from a .cu, refused while its reference is a form, taken in when it is filled, used, replaced, removed', async () => {
    const drafted = await run('tasks', 'new', join(home, 'saxpy.cu'), ...asked, '--out', made(), '--json');
    expect(drafted.code, drafted.err + drafted.out).toBe(0);
    expect(drafted.last).toMatchObject({ task: 'saxpy', dtype: 'fp32', folder: made() });
    expect((drafted.last as { parameters: string[] }).parameters).toEqual([
      'n: int, n',
      'a: float, 2.5',
      'x: input, n elements',
      'y: read and overwritten, n elements',
    ]);
    expect(readdirSync(made()).sort()).toEqual(['origin.fp32.cu', 'reference.h', 'task.json']);
    expect(readFileSync(join(made(), 'origin.fp32.cu'), 'utf8')).toBe(saxpy);

    const unfinished = await run('tasks', 'add', made(), '--json');
    expect(unfinished.code).toBe(2);
    expect(errorOf(unfinished.last)).toMatchObject({ code: 'input.task' });
    expect(errorOf(unfinished.last).message).toMatch(/reference\.h does not compile \(fp32\): .*#error/);
    expect(existsSync(join(own(), 'saxpy'))).toBe(false);

    // Nothing in the place of the form's line: at() returns nothing, which a compiler lets pass unless it is told not to.
    const form = readFileSync(join(made(), 'reference.h'), 'utf8');
    writeFileSync(join(made(), 'reference.h'), form.replace(/^#error.*$/m, ''));
    const silent = await run('tasks', 'add', made(), '--json');
    expect(silent.code).toBe(2);
    expect(errorOf(silent.last).message).toMatch(/reference\.h does not compile .*return-type/);
    writeFileSync(join(made(), 'reference.h'), form);

    fillIn(made());
    const added = await run('tasks', 'add', made(), '--json');
    expect(added.code, added.err + added.out).toBe(0);
    expect(added.last).toMatchObject({ task: 'saxpy', dtypes: ['fp32'], folder: join(own(), 'saxpy'), former: null });
    expect(
      (added.last as { compiled: { file: string; state: string }[] }).compiled.map((c) => [c.file, c.state]),
    ).toEqual([
      ['reference.h', 'compiles'],
      ['origin.fp32.cu', 'compiles'],
    ]);

    const listed = (await run('tasks', '--json')).last as { tasks: { id: string; category: string }[] };
    expect(listed.tasks).toHaveLength(101);
    expect(listed.tasks.at(-1)).toMatchObject({ id: 'saxpy', category: 'user', fault: null });

    // A job of it goes to a worker like any other; nothing here has a GPU.
    writeFileSync(
      join(home, 'fast.cu'),
      saxpy.replace('void saxpy(', 'void saxpy_optimized(').replaceAll('saxpy_kernel', 'saxpy_kernel_optimized'),
    );
    const bundled = await run('eval', 'saxpy', '--candidate', join(home, 'fast.cu'), '--executor', 'bundle');
    expect(bundled.code, bundled.err + bundled.out).toBe(75);

    // Only the reference is another one: a run that goes on says so.
    const kept = join(own(), 'saxpy/reference.h');
    const before = readFileSync(kept, 'utf8');
    writeFileSync(kept, `${before}// edited\n`);
    const resumed = await run('resume', 'last');
    expect(resumed.code).toBe(75);
    expect(resumed.err + resumed.out).toContain('Since the run began, task.json or reference.h changed.');
    writeFileSync(kept, before);

    const twice = await run('tasks', 'add', made(), '--json');
    expect(twice.code).toBe(2);
    expect(errorOf(twice.last)).toMatchObject({
      code: 'usage',
      remedy: 'Replace it (--replace), or give this one another id.',
    });
    const replaced = await run('tasks', 'add', made(), '--replace', '--json');
    expect(replaced.code, replaced.err + replaced.out).toBe(0);
    const { former } = replaced.last as { former: string };
    expect(readdirSync(former).sort()).toEqual(['origin.fp32.cu', 'reference.h', 'task.json']);

    const removed = await run('tasks', 'remove', 'saxpy', '--json');
    expect(removed.code).toBe(0);
    expect(existsSync((removed.last as { kept: string }).kept)).toBe(true);
    expect(((await run('tasks', '--json')).last as { tasks: unknown[] }).tasks).toHaveLength(100);
    const gone = await run('tasks', 'remove', 'saxpy', '--json');
    expect(gone.code).toBe(2);
    expect(errorOf(gone.last).message).toBe('Your task "saxpy" was taken out of the list.');
    const kept2 = (removed.last as { kept: string }).kept;
    expect(errorOf(gone.last).remedy).toContain(kept2);
    const stranded = await run('resume', 'last', '--json');
    expect(stranded.code).toBe(2);
    expect(errorOf(stranded.last).remedy).toContain(`tasks add ${kept2}`);
  });

  it('says what is wrong before anything is written', async () => {
    const full = join(home, 'full');
    mkdirSync(full);
    writeFileSync(join(full, 'thesis.txt'), 'mine');
    execFileSync('mkfifo', [join(home, 'pipe.cu')]);
    const cases: [string[], RegExp][] = [
      // A pipe to which nobody writes is empty; nothing waits for it.
      [['new', join(home, 'pipe.cu'), ...asked], /defines no extern "C" void function/],
      [['new', join(home, 'absent.cu'), ...asked], /absent\.cu cannot be read: there is no such file/],
      [['new', home, ...asked], /cannot be read: it is a folder/],
      [['new', join(home, 'saxpy.cu'), ...asked, '--out', full], /full is not empty/],
      [['new', join(home, 'saxpy.cu')], /size/],
      [['new', join(home, 'saxpy.cu'), ...asked, '--id', 'softmax', '--out', join(home, 'posing')], /softmax" ships/],
      [['add', join(home, 'nowhere')], /task\.json is missing/],
      [['add', join(root, 'kernels/mskernelbench/dot_product')], /category: expected "user"/],
      [['remove', 'dot_product'], /ships with CUDAMaster/],
    ];
    for (const [args, message] of cases) {
      const { code, last } = await run('tasks', ...args, '--json');
      expect([2, 3], args.join(' ')).toContain(code);
      expect(errorOf(last).message, args.join(' ')).toMatch(message);
    }
    expect(readdirSync(full)).toEqual(['thesis.txt']);
    expect((await run('tasks', 'new', join(home, 'saxpy.cu'), '--count', 'nonsense')).code).toBe(2);
  });

  it('that cannot be put in place leaves the former in the list, and no copy', async () => {
    const copied = (text: string): string => {
      mkdirSync(own(), { recursive: true });
      const part = mkdtempSync(join(own(), '.part-twin-'));
      writeFileSync(join(part, 'task.json'), text);
      return part;
    };
    const now = () => readFileSync(join(own(), 'twin/task.json'), 'utf8');
    const parts = () => readdirSync(own()).filter((name) => name.startsWith('.part-'));
    expect(await putInPlace(copied('first'), 'twin', false)).toBeNull();
    const former = (await putInPlace(copied('second'), 'twin', true)) as string;
    expect([readFileSync(join(former, 'task.json'), 'utf8'), now()]).toEqual(['first', 'second']);
    // The copy is gone: the rename fails once the former is aside.
    await expect(putInPlace(join(own(), '.part-gone'), 'twin', true)).rejects.toThrow('Writing the task');
    expect(now()).toBe('second');
    // Another one has just put the former aside.
    await expect(putInPlace(copied('third'), 'absent', true)).rejects.toThrow('Moving the task');
    expect(parts()).toEqual([]);
    rmSync(join(own(), 'twin'), { recursive: true });
  });

  it('is copied as it was checked: a file that was edited meanwhile is refused', async () => {
    const shipped = join(root, 'kernels/mskernelbench/vector_add');
    const folder = join(home, 'edited');
    mkdirSync(folder);
    for (const name of ['task.json', 'origin.fp32.cu', 'origin.bf16.cu', 'reference.h'])
      writeFileSync(join(folder, name), readFileSync(join(shipped, name)));
    const task = unwrap(loadTaskFrom(folder));
    const target = join(own(), 'edited');
    const part = await copyTask(task, folder, target);
    expect(readdirSync(part).sort()).toEqual(Object.keys(task.hashes).sort());
    rmSync(part, { recursive: true });
    const before = readdirSync(own());
    for (const edit of [(file: string) => writeFileSync(file, '// other'), (file: string) => rmSync(file)]) {
      edit(join(folder, 'reference.h'));
      await expect(copyTask(task, folder, target)).rejects.toThrow(/reference\.h was changed while it was checked/);
    }
    expect(readdirSync(own())).toEqual(before);
  });

  it('never takes the name of one that ships, and what is broken hides no other', async () => {
    const other = mkdtempSync(join(tmpdir(), 'cm-places-'));
    try {
      const shipped = join(root, 'kernels/mskernelbench/vector_add');
      for (const [id, category] of [
        ['vector_add', 'user'],
        ['mine', 'user'],
        ['posing', 'sparse'],
        ['misnamed', 'user'],
      ] as const) {
        mkdirSync(join(other, id));
        const task = JSON.parse(readFileSync(join(shipped, 'task.json'), 'utf8'));
        const called = id === 'misnamed' ? 'mine' : id;
        writeFileSync(join(other, id, 'task.json'), JSON.stringify({ ...task, id: called, category }));
        for (const name of ['origin.fp32.cu', 'origin.bf16.cu', 'reference.h'])
          symlinkSync(join(shipped, name), join(other, id, name));
      }
      mkdirSync(join(other, '.removed'));
      expect(taskIds(root, other).slice(50)).toEqual(['mine', 'misnamed', 'posing']);
      expect(taskIds(root)).toHaveLength(50);
      const category = (id: string): string => {
        const loaded = loadTask(root, id, other);
        return loaded.ok ? loaded.value.task.category : loaded.error.message;
      };
      expect(category('vector_add')).toBe('dense-linear-algebra');
      expect(category('mine')).toBe('user');
      expect(category('posing')).toMatch(/category: expected "user" for a task of your own, found "sparse"/);
      expect(category('misnamed')).toMatch(/id: expected the folder's name "misnamed", found "mine"/);
      expect(loadTask(root, 'mine').ok).toBe(false);
      expect(taskIds(root, join(other, 'none'))).toHaveLength(50);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it('has a reference that asks for what the task has', () => {
    const task = JSON.parse(readFileSync(join(root, 'kernels/mskernelbench/vector_add/task.json'), 'utf8'));
    const asks = (text: string): string[] => unknownNames(text, task);
    expect(asks('a_(p.in("A")), n_(p.dim("N")), s_(p.elem("C")), q(p->in( "B" ))')).toEqual([]);
    expect(asks('a_(p.in("AA")), n_(p.dim("M")), s_(p.elem("D"))')).toEqual([
      'in("AA"): expected one of A, B',
      'dim("M"): expected one of N',
      'elem("D"): expected one of A, B, C',
    ]);
    expect(asks('a_(p.in("C"))')).toEqual(['in("C"): expected one of A, B']);
    expect(asks('// p.in("old")\n/* p.dim("gone") */ const char* s = "p.in(\\"x\\")"; p.in(name)')).toEqual([]);
    const began = performance.now();
    expect(asks('p.in('.repeat(100_000))).toEqual([]);
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});
