import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../main/base/random.ts';
import { type AppError, type Param, type Problem, type Result, sizeText, unwrap } from '../../main/contract/index.ts';
import {
  allocatedBytes,
  bytesOf,
  type DraftOptions,
  draftTask,
  flopsOf,
  loadTask,
  loadTaskFrom,
  paramTypes,
  parseTask,
  problemsOf,
  resolveProblem,
  type TaskDraft,
  taskIds,
  verifyProblems,
  viewDraft,
  weightOf,
} from '../../main/evaluate/task/index.ts';
import { problemText } from '../../main/jobs/session/problem-text.ts';
import { judgeCompileArgs } from '../../main/jobs/session/shim.ts';
import { mutate, runs } from '../fuzz/mutate.ts';
import { compile, harness, newFolder } from '../harness/build.ts';
import { Program } from '../harness/client.ts';

const root = join(import.meta.dirname, '../..');

const vectorAdd = `#include <cuda_runtime.h>

// extern "C" void commented(float* A) {
__global__ void add_kernel(const float* A, const float* B, float* C, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) C[i] = A[i] + B[i];
}

extern "C" void vadd(const float* __restrict__ A, float const *B, float * __restrict__ C,
                     const int N) {
  add_kernel<<<(N + 255) / 256, 256>>>(A, B, C, N);
}
`;

const none: DraftOptions = { counts: {}, values: {}, inout: [], ints: {}, sizes: ['N=4096', 'N=1048576'], flops: 'N' };
const wrapper = (params: string, name = 'f'): string => `extern "C" void ${name}(${params}) {\n}\n`;
const draft = (source: string, options: Partial<DraftOptions> = {}): TaskDraft =>
  unwrap(draftTask(source, { ...none, ...options }));
const fault = (source: string, options: Partial<DraftOptions> = {}): AppError => {
  const result: Result<TaskDraft> = draftTask(source, { ...none, ...options });
  if (result.ok) throw new Error(`accepted: ${result.value.files['task.json']}`);
  return result.error;
};
const words = (error: AppError): string => `${error.message} ${error.remedy ?? ''}`;

/** Row sums of a matrix, scaled: bf16 with a float result on the side, a scalar of each kind and indices. */
const rowSums = `extern "C" {
static void helper(float* x) {
}
void row_sums(const __nv_bfloat16* A, const nv_bfloat16 *W, const int* pick, __nv_bfloat16* out, float* sums, int* last,
              int rows, long columns, float alpha, __nv_bfloat16 beta) {
  helper(sums);
}
}
`;
const rowSumOptions = {
  sizes: ['rows=256,cols=512', 'rows=128,cols=128'],
  counts: { A: 'rows*cols', W: 'cols', pick: 'rows', out: 'rows * cols', sums: 'rows', last: '1' },
  values: { columns: 'cols', alpha: '0.5', beta: '1/4' },
  ints: { pick: '0:cols' },
  flops: 'rows*cols',
};

describe('a task from a source', () => {
  it('vector addition needs sizes and operations alone', () => {
    const { task, dtype, files } = draft(vectorAdd);
    expect(dtype).toBe('fp32');
    expect(Object.keys(files)).toEqual(['task.json', 'origin.fp32.cu', 'reference.h']);
    expect(files['origin.fp32.cu']).toBe(vectorAdd);
    expect(files['task.json']).toMatch(/^\{\n {2}"version": 1,[\s\S]*\n\}\n$/);
    expect(unwrap(parseTask(files['task.json'] as string, 'task.json'))).toEqual(task);
    expect(task).toMatchObject({ id: 'vadd', category: 'user', dims: ['N'], dtypes: ['fp32'], streaming: false });
    const uniform = { kind: 'uniform', lo: -1, hi: 1 };
    expect(task.wrapper).toEqual({
      name: { fp32: 'vadd' },
      params: [
        { role: 'in', name: 'A', elem: 'T', count: 'N', generator: uniform },
        { role: 'in', name: 'B', elem: 'T', count: 'N', generator: uniform },
        { role: 'out', name: 'C', elem: 'T', count: 'N' },
        { role: 'scalar', name: 'N', ctype: 'int', value: 'N' },
      ],
    });
    expect(task.sizes.published).toEqual([{ N: 4096 }, { N: 1048576 }]);
    expect(task.sizes.verify).toMatchObject({ count: 3, always: [{ N: 1 }, { N: 4096 }] });
    const problem = resolveProblem(task, 'fp32', { N: 1000 }, 'x');
    expect(weightOf(task, 'fp32', { N: 1000 })).toBe(3000);
    expect(flopsOf(task, 'fp32', problem)).toBe(1000);
    expect(bytesOf(task, 'fp32', problem)).toEqual({ read: 8000, write: 4000 });
    expect(task.verifyInputs.map((input) => [input.id, Object.keys(input.generators)])).toEqual([
      ['wide', ['A', 'B']],
      ['offset', ['A', 'B']],
    ]);
    expect(task.tolerance.fp32).toMatchObject([{ output: 'C', c: 8, rms: 0.9, rounding: 'T' }]);
    expect(task.tolerance.fp32?.[0]?.evidence).toMatch(/^Not measured, a default/);
    expect(task.prompt).toContain('Inputs: A (N elements), B (N elements)');
  });

  it('is loaded like any task', () => {
    for (const { task, dtype, files } of [draft(vectorAdd, { id: 'mine' }), draft(rowSums, rowSumOptions)]) {
      const dir = join(newFolder(), task.id);
      mkdirSync(dir);
      for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
      const loaded = unwrap(loadTaskFrom(dir));
      expect(loaded.task).toEqual(task);
      expect(loaded.origin[dtype]).toBe(files[`origin.${dtype}.cu`]);
      expect(loaded.reference).toBe(files['reference.h']);
    }
  });

  it('bf16 with buffers of float and int, scalars of every kind, indices', () => {
    const { task, dtype } = draft(rowSums, rowSumOptions);
    expect(dtype).toBe('bf16');
    expect(task.wrapper.name).toEqual({ bf16: 'row_sums' });
    const roles = task.wrapper.params.map((p) => [p.name, p.role, p.role === 'scalar' ? p.ctype : p.elem]);
    expect(roles).toEqual([
      ['A', 'in', 'T'],
      ['W', 'in', 'T'],
      ['pick', 'in', 'int'],
      ['out', 'out', 'T'],
      ['sums', 'out', 'float'],
      ['last', 'out', 'int'],
      ['rows', 'scalar', 'int'],
      ['columns', 'scalar', 'long'],
      ['alpha', 'scalar', 'float'],
      ['beta', 'scalar', 'T'],
    ]);
    expect(task.wrapper.params[2]).toMatchObject({ generator: { kind: 'int', lo: '0', hi: 'cols' } });
    expect(task.tolerance.bf16?.map((t) => [t.output, t.rounding])).toEqual([
      ['out', 'T'],
      ['sums', 'fp32'],
      ['last', 'exact'],
    ]);
    const problem = resolveProblem(task, 'bf16', { rows: 10, cols: 100 }, 'x');
    expect(bytesOf(task, 'bf16', problem)).toEqual({ read: 2000 + 200 + 40, write: 2000 + 40 + 4 });
    expect(Object.keys(task.verifyInputs[0]?.generators ?? {})).toEqual(['A', 'W']);
    // The smallest of the sizes, wherever it stands.
    expect(task.sizes.verify.always).toEqual([
      { rows: 1, cols: 1 },
      { rows: 128, cols: 128 },
    ]);
  });

  it('every origin that ships is understood as its own task describes it', () => {
    let drafted = 0;
    for (const id of taskIds(root)) {
      const { task, origin } = unwrap(loadTask(root, id));
      const { params } = task.wrapper;
      const pairs = (of: (param: Param) => string | null): Record<string, string> =>
        Object.fromEntries(params.flatMap((param) => (of(param) === null ? [] : [[param.name, of(param) as string]])));
      const options = {
        counts: pairs((param) => (param.role === 'scalar' ? null : param.count)),
        values: pairs((param) => (param.role === 'scalar' ? param.value : null)),
        ints: pairs((p) => ((p.role === 'in' || p.role === 'inout') && p.elem === 'int' ? '0:2' : null)),
        inout: params.filter((param) => param.role === 'inout').map((param) => param.name),
        sizes: task.sizes.published.map((size) => sizeText(size).replaceAll(' ', ',')),
        flops: task.flops,
      };
      for (const dtype of task.dtypes) {
        const made = draft(origin[dtype], options);
        expect(made.dtype, id).toBe(dtype);
        expect(made.task.sizes.published).toEqual(task.sizes.published);
        expect(paramTypes(made.task, dtype), id).toEqual(paramTypes(task, dtype));
        expect(made.task.wrapper.params.map((param) => param.role)).toEqual(params.map((param) => param.role));
        expect(
          bytesOf(made.task, dtype, problemsOf(made.task, dtype, 'published')[0] as Problem).write,
        ).toBeGreaterThan(0);
        drafted++;
      }
    }
    expect(drafted).toBe(100);
  }, 60_000);

  it('what is read and written is counted twice and has an input', () => {
    const source = wrapper('float* x, const float* y, int* table, int N');
    const { task } = draft(source, { inout: ['x', 'table'], ints: { table: '-5:N' } });
    expect(task.wrapper.params.map((param) => param.role)).toEqual(['inout', 'in', 'inout', 'scalar']);
    expect(task.wrapper.params[2]).toMatchObject({ generator: { kind: 'int', lo: '-5', hi: 'N' } });
    const problem = resolveProblem(task, 'fp32', { N: 8 }, 'x');
    expect(bytesOf(task, 'fp32', problem)).toEqual({ read: 96, write: 64 });
    expect(words(fault(source, { inout: ['y'] }))).toContain('--inout y');
    expect(words(fault(source, { inout: ['x', 'table'] }))).toContain('--int table=0:…');
  });

  it.each([['N=1024,M=64', 'N=4096,M=4096'], ['N=3', 'N=7'], ['N=100000000,M=8,K=2'], ['N=23999999999']])(
    'sizes drawn for verification hold less than 2^21 elements: %s',
    (...sizes) => {
      const dims = (sizes[0] as string).split(',').map((part) => part.split('=')[0] as string);
      const product = dims.join('*');
      const counts = { A: product, B: `${dims[0]}+floor(${dims[0]}/${dims.at(-1)})`, C: product };
      const { task } = draft(wrapper('const float* A, const float* B, float* C'), { sizes, counts });
      const published = task.sizes.published;
      for (const seed of ['0', '1', '2'])
        for (const problem of verifyProblems(task, 'fp32', seed).slice(0, 3)) {
          expect(allocatedBytes(problem)).toBeLessThan(4 * 2 ** 21);
          for (const name of dims) {
            const value = problem.dims[name] as number;
            expect(value).toBeLessThanOrEqual(Math.max(...published.map((size) => size[name] as number)));
          }
        }
      const rules = Object.values(task.sizes.verify.dims) as { max: number }[];
      // Not bounded more than is needed: one more in every dimension that was cut would be too much.
      const most = Object.fromEntries(dims.map((name, i) => [name, (rules[i]?.max ?? 0) + 1]));
      const isCut = dims.some(
        (name, i) => rules[i]?.max !== Math.max(...published.map((size) => size[name] as number)),
      );
      if (isCut) expect(allocatedBytes(resolveProblem(task, 'fp32', most, 'x'))).toBeGreaterThan(4 * 2 ** 20);
    },
  );
});

describe('a size that no GPU holds', () => {
  it.each([
    [
      'N=24000000001',
      /sizes\.published\[0\]: the buffers need 288\.\d GB, expected at most 288\.0 GB: no GPU has more/,
    ],
    ['N=4503599627370496', /sizes\.published\[0\]: buffer "A" has 4\.50e\+15 elements, expected at most 2\^40/],
  ])('is refused: %s', (size, message) => {
    const source = wrapper('const float* A, const float* B, float* C');
    expect(words(fault(source, { sizes: [size] }))).toMatch(message);
  });
});

describe('what a source must be', () => {
  const two = `${wrapper('float* A', 'first')}${vectorAdd}extern "C" __global__ void kernel(float* A) {}\n`;

  it('of several wrappers one is chosen by name', () => {
    expect(draft(two, { wrapper: 'vadd' }).task.id).toBe('vadd');
    expect(draft(two, { wrapper: 'first' }).task.id).toBe('first');
    expect(words(fault(two))).toMatch(/2 extern "C" void functions: first, vadd\. .*--wrapper first/);
    expect(words(fault(two, { wrapper: 'kernel' }))).toMatch(
      /no extern "C" void function "kernel"\. It has: first, vadd/,
    );
  });

  it.each([
    ['', 'nothing at all'],
    ['void f(float* A) {}', 'no extern "C"'],
    ['extern "C" void f(float* A);', 'a declaration'],
    ['extern "C" { static void f(float* A) {} }', 'internal linkage'],
    ['extern "C" { } void f(float* A) {}', 'behind the block'],
    ['extern "C" int f(float* A) { return 0; }', 'returns something'],
    [
      '/* extern "C" void f(float* A) {} */ const char* s = "extern \\"C\\" void f(float* A) {}";',
      'comment and string',
    ],
  ])('%s is no wrapper (%s)', (source) => {
    expect(fault(source)).toMatchObject({
      code: 'input.task',
      message: expect.stringContaining('defines no extern "C"'),
    });
  });

  it('names every parameter that cannot be described', () => {
    const error = fault(
      wrapper('const double* A, float** B, float* C, size_t n, unsigned int m, float* , __nv_bfloat16 h'),
    );
    expect(error.code).toBe('input.task');
    for (const part of [
      'A is const double*',
      'B is float**',
      'n is size_t',
      'm is unsigned int',
      'parameter 6',
      'h is',
    ])
      expect(error.message).toContain(part);
    expect(error.message).not.toContain('C is');
    expect(error.remedy).toMatch(/float, __nv_bfloat16 and int .*int, long, float/);
  });

  it('writes something', () => expect(fault(wrapper('const float* A, int N')).message).toContain('writes nothing'));
});

describe('what options must say', () => {
  it('everything that is missing comes in one message, with what to type', () => {
    const source = wrapper('const float* A, const float* B, float* C, const int* idx, float alpha, int stride, int N');
    const error = fault(source, { sizes: ['N=1024,M=64'], flops: undefined, counts: { B: 'M' } });
    expect(error.code).toBe('usage');
    expect(error.message).toMatch(/elements of A, C, idx; the value of alpha, stride; .* integers in idx; .*roofline/);
    for (const option of [
      '--count A=…',
      '--count C=…',
      '--value alpha=',
      '--value stride=',
      '--int idx=0:…',
      '--flops',
    ])
      expect(error.remedy).toContain(option);
    expect(error.remedy).not.toContain('--count B');
    // stride may be a size that was forgotten in --size.
    expect(error.remedy).toContain('name it in every --size');
  });

  it.each<[string[], RegExp]>([
    [[], /at least one size/],
    [[''], /not of the form NAME=NUMBER/],
    [['N'], /"N" is not of the form/],
    [['N=1=2'], /not of the form/],
    [['N=x'], /N is "x", not a whole number/],
    [['N=1.5'], /not a whole number/],
    [['N=-1'], /not a whole number/],
    [['N='], /not a whole number/],
    [['N=99999999999999999999'], /not a whole number/],
    [['3=4'], /cannot be the name/],
    [['N=1,N=2'], /N is there twice/],
    [['N=1,M=2', 'N=3'], /--size N=3: dimension M is missing/],
    [['N=1', 'N=3,M=2'], /--size N=3,M=2: dimension M is not in the first size/],
    [['N=1', 'N=1'], /twice/],
    [['min=1'], /"min" is the name of a function/],
    [['__proto__=1'], /__proto__/],
  ])('sizes %j', (sizes, message) => {
    expect(
      words(fault(vectorAdd, { sizes, counts: { A: '1', B: '1', C: '1' }, values: { N: '1' }, flops: '1' })),
    ).toMatch(message);
  });

  it.each<[Partial<DraftOptions>, RegExp]>([
    [{ id: 'a b' }, /"a b" cannot be the id/],
    [{ id: '_a' }, /cannot be the id/],
    [{ id: '../x' }, /cannot be the id/],
    [{ counts: { Q: 'N' } }, /--count Q: vadd has no pointer.*It has: A, B, C/],
    [{ counts: { N: 'N' } }, /--count N: vadd has no pointer/],
    [{ counts: { constructor: 'N' } }, /--count constructor/],
    [{ values: { A: '1' } }, /--value A: vadd has no scalar.*It has: N/],
    [{ ints: { A: '0:N' } }, /--int A: .*none at all/],
    [{ counts: { A: 'N*Q' } }, /--count A: Q is no dimension \(N is\)/],
    [{ counts: { A: 'N*' } }, /--count A: .*ends too early/],
    [{ counts: { A: '' } }, /--count A: the expression is empty/],
    [{ counts: { A: 'N/3' } }, /is not an integer/],
    [{ counts: { A: 'N-2' } }, /count of at least 0/],
    [{ values: { N: 'pow(N, 2)' } }, /int of 32 bits/],
    [{ flops: 'N*x' }, /--flops: x is no dimension/],
  ])('%j', (options, message) => {
    const error = fault(vectorAdd, options);
    expect(words(error)).toMatch(message);
    expect(error.remedy).toBeTruthy();
  });

  it('an expression has an end', () =>
    expect(words(fault(vectorAdd, { counts: { A: '('.repeat(100_000) } }))).toContain('at most 400 characters'));

  it('ranges of integers', () => {
    const source = wrapper('const int* idx, float* out, int N');
    for (const range of ['N', '0:1:2', ''])
      expect(words(fault(source, { ints: { idx: range } }))).toMatch(/expected LO:HI.*--int idx=0:N/);
    expect(words(fault(source, { ints: { idx: '0:Q' } }))).toContain('Q is no dimension');
    expect(words(fault(source, { ints: { idx: '5:5' } }))).toContain('expected lo < hi');
    expect(draft(source, { ints: { idx: ' 0 : N ' } }).task.verifyInputs).toEqual([]);
  });
});

describe('the reference is a form', () => {
  const folder = newFolder();
  const sentence = /is not filled in: replace this line by code that returns \{value, scale, n\}/;

  /** reference.h with code in place of its one #error line. */
  function filled({ files }: TaskDraft, body: string): string {
    const form = files['reference.h'] as string;
    expect(form.match(/^#error .*$/gm)).toHaveLength(1);
    return form.replace(/^#error .*$/m, () => body);
  }

  /** Makes the judge of a task with this reference.h; returns its path, or throws with the compiler's words. */
  function build({ task }: TaskDraft, reference: string, options: readonly string[] = []): string {
    const dir = newFolder();
    writeFileSync(join(dir, 'reference.h'), reference);
    const output = join(dir, 'judge');
    const line = judgeCompileArgs({ task: task.id, source: join(harness, 'judge.cpp'), output, include: dir });
    compile({ ...line, args: ['-I', harness, ...options, ...line.args] }, dir);
    return output;
  }

  /** The example of the comment. */
  const example = ({ files }: TaskDraft): string => {
    const lines = (files['reference.h'] as string).split('\n');
    const from = lines.findIndex((line) => line.startsWith(' * Example'));
    const body = lines.slice(from + 1, lines.indexOf(' */')).map((line) => line.slice(3));
    expect(body.join('')).toContain('return {');
    return body.join('\n');
  };

  it('as it stands the compiler says what is missing', () => {
    let said = '';
    try {
      const made = draft(vectorAdd);
      build(made, made.files['reference.h'] as string, ['-fsyntax-only']);
    } catch (cause) {
      said = String((cause as { stderr?: string }).stderr);
    }
    expect(said).toMatch(sentence);
    expect(said).toContain('of element i of C (output 0)');
    expect(said.match(/\berror:/g)).toHaveLength(1);
  }, 60_000);

  it('filled in, the judge knows every element', async () => {
    const made = draft(vectorAdd);
    const body = 'const double value = A_[i] + B_[i];\n    return {value, std::fabs(value), 1.0};';
    expect(example(made).replace(/\s+/g, ' ').trim()).toBe(body.replace(/\s+/g, ' '));
    const judge = await Program.start(build(made, filled(made, body)), folder);
    const floats = async (command: string): Promise<Float32Array> => {
      await judge.ok(command.split(' ')[0] as string, command.slice(command.indexOf(' ') + 1));
      return new Float32Array(new Uint8Array(readFileSync(join(folder, 'data.bin'))).buffer);
    };
    try {
      const seed = '00000000000000a7';
      await judge.ok('problem', problemText(resolveProblem(made.task, 'fp32', { N: 777 }, 'x', 'wide'), 'guarded'));
      const [a, b] = [await floats(`input ${seed} 0 data.bin`), await floats(`input ${seed} 1 data.bin`)];
      const c = await floats(`reference ${seed} 2 data.bin`);
      expect(c).toHaveLength(777);
      expect([...c]).toEqual([...a].map((value, i) => Math.fround(value + (b[i] as number))));
    } finally {
      await judge.quit();
    }
  }, 120_000);

  it('the example in each form compiles', () => {
    const forms = {
      'several outputs, integers': draft(rowSums, rowSumOptions),
      'inout, no input of the same length, a dimension named like a buffer': draft(
        wrapper('float* x, const float* y, float* z, int n, int N'),
        {
          inout: ['x'],
          sizes: ['N=5,x=7', 'N=50,x=70'],
          counts: { x: 'N*x', y: 'N', z: '3' },
          values: { n: 'x-1', N: 'N+1' },
        },
      ),
      'no input': draft(wrapper('float* x, int N')),
      'integers alone': draft(wrapper('const int* x, int* y, int N'), { ints: { x: '0:N' } }),
    };
    const lines = ['#include "reference_api.h"'];
    Object.values(forms).forEach((made, index) => {
      // One compilation for all: each in a namespace of its own.
      lines.push(`#define task task${index}`, `#include "form${index}.h"`, '#undef task');
      lines.push(`static_assert(sizeof(task${index}::Reference) > 0);`);
      writeFileSync(join(folder, `form${index}.h`), filled(made, example(made)));
    });
    writeFileSync(join(folder, 'forms.cpp'), `${lines.join('\n')}\n`);
    const options = ['-std=c++17', '-fsyntax-only', '-Wall', '-Werror=reorder', '-Werror=return-type'];
    compile({ tool: 'cxx', args: ['-I', harness, ...options, 'forms.cpp'], output: '' }, folder);
  }, 120_000);
});

describe('any text', () => {
  const sources = [vectorAdd, rowSums, wrapper('float* x, int N')];
  const optionsOf = [none, { ...none, ...rowSumOptions }, none];

  it('500 mutants of sources and options: a result, never a throw', () => {
    const prng = new Prng('draft-mutants');
    let accepted = 0;
    for (let i = 0; i < 500; i++) {
      const which = i % sources.length;
      const options = optionsOf[which] as DraftOptions;
      const own = sources[which] as string;
      const source = prng.int(0, 2) === 0 ? own : mutate(prng, [own, own, ...sources]);
      const odd = (text: string): string => (prng.int(0, 3) === 0 ? mutate(prng, [text, 'N=3,M=4']) : text);
      const size = odd(options.sizes[0] as string);
      const flops = odd(options.flops as string);
      const result = draftTask(source, { ...options, sizes: [size], flops });
      // The form's view of it is of the same opinion, and has a place for whatever is wrong.
      const view = viewDraft(source, { ...options, sizes: [size], flops });
      expect([view.files !== null, view.faults.length === 0], String(i)).toEqual([result.ok, result.ok]);
      if (result.ok) accepted++;
      else expect(result.error.message.length, String(i)).toBeGreaterThan(0);
    }
    expect(accepted).toBeGreaterThan(50);
    expect(accepted).toBeLessThan(450);
  }, 60_000);

  it('no long run takes the square of its length', () => {
    const more = [
      'void a(',
      'extern "C" {',
      'extern "C" void a(',
      'extern "C" void f(float* a) {',
      '/* ',
      "\\'",
      'void ',
      'int a,',
    ];
    const at = vectorAdd.indexOf('const int N');
    for (const one of [...runs, ...more]) {
      const long = one.repeat(Math.ceil(40_000 / one.length));
      for (const source of [long, vectorAdd + long, vectorAdd.slice(0, at) + long + vectorAdd.slice(at)]) {
        const before = process.threadCpuUsage();
        draftTask(source, none);
        const { user, system } = process.threadCpuUsage(before);
        expect((user + system) / 1e6, JSON.stringify(one)).toBeLessThan(1);
      }
    }
  }, 60_000);

  it('nor does a long option', () => {
    for (const one of [...runs, 'N=1,', '(', 'N*']) {
      const long = one.repeat(Math.ceil(40_000 / one.length));
      const before = process.threadCpuUsage();
      for (const options of [
        { sizes: [long] },
        { flops: long },
        { counts: { A: long } },
        { counts: { [long]: 'N' } },
        { id: long },
      ])
        draftTask(vectorAdd, { ...none, ...options });
      const { user, system } = process.threadCpuUsage(before);
      expect((user + system) / 1e6, JSON.stringify(one)).toBeLessThan(1);
    }
  }, 60_000);
});
