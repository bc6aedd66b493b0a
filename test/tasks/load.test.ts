import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Result, type Task, unwrap } from '../../main/contract/index.ts';
import {
  candidateName,
  checkWrapper,
  listTasks,
  loadTask,
  loadTaskFrom,
  originName,
  paramTypes,
  parseTask,
  shippedTasks,
  signature,
  taskIds,
} from '../../main/evaluate/task/index.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'cm-tasks-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const text = (id: string): string => readFileSync(join(root, shippedTasks, id, 'task.json'), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: files are damaged in every place
type Any = any;
const raw = (id = 'spmv_csr'): Any => JSON.parse(text(id));
const refusal = (result: Result<unknown>): string =>
  result.ok ? 'accepted' : `${result.error.message}\n${result.error.detail ?? ''}`;
const parse = (value: unknown): Result<Task> => parseTask(JSON.stringify(value), 'x/task.json');

describe('shipped tasks', () => {
  it('load, all of them', () => {
    const tasks = listTasks(root);
    const ids = tasks.map((task) => task.id);
    expect(ids).toEqual(expect.arrayContaining(['dot_product', 'matrix_transpose', 'softmax', 'spmv_csr']));
    for (const { id, loaded } of tasks) expect(refusal(loaded), id).toBe('accepted');
  });

  it('come with sources and a hash of every file', () => {
    const { task, origin, reference, hashes } = unwrap(loadTask(root, 'softmax'));
    expect(origin.bf16).toContain('softmax_bf16');
    expect(reference).toContain('struct Reference');
    expect(Object.keys(hashes).sort()).toEqual(['origin.bf16.cu', 'origin.fp32.cu', 'reference.h', 'task.json']);
    expect(signature(task, 'bf16', candidateName(task, 'bf16'))).toBe(
      'extern "C" void softmax_bf16_optimized(__nv_bfloat16* out, const __nv_bfloat16* input, int N, int C)',
    );
  });

  it('have numbers, not promises, as evidence for their tolerances', () => {
    for (const id of taskIds(root))
      for (const list of Object.values(unwrap(loadTask(root, id)).task.tolerance))
        for (const tolerance of list ?? []) expect(tolerance.evidence, id).toMatch(/\d|bit equality/i);
  });

  it('are found by name only', () => {
    for (const id of ['nothing', '../mskernelbench/softmax', '', '.', 'softmax/'])
      expect(refusal(loadTask(root, id))).toContain('There is no task');
    expect(taskIds(join(root, 'nowhere'))).toEqual([]);
  });
});

describe('a damaged task.json', () => {
  it('is refused when it is not JSON, or not an object', () => {
    expect(refusal(parseTask('{"version": 1,', 'x/task.json'))).toMatch(/^x\/task\.json: not JSON/);
    expect(refusal(parse([]))).toContain('expected one JSON object');
  });

  it('is refused by name when its version is newer, and as malformed when it is none', () => {
    const newer = parse({ ...raw(), version: 2 });
    expect(newer.ok ? '' : newer.error.code).toBe('format.newer');
    expect(refusal(parse({ ...raw(), version: '1' }))).toContain('version: expected 1, found "1"');
  });

  /** Every place of the file, as a path. */
  function places(value: Any, path: (string | number)[] = []): (string | number)[][] {
    const children = Array.isArray(value)
      ? value.flatMap((item, index) => places(item, [...path, index]))
      : value !== null && typeof value === 'object'
        ? Object.entries(value).flatMap(([key, item]) => places(item, [...path, key]))
        : [];
    return path.length > 0 ? [path, ...children] : children;
  }
  const parentOf = (file: Any, path: (string | number)[]): Any => path.slice(0, -1).reduce((at, key) => at[key], file);
  const named = (path: (string | number)[]): string =>
    path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i ? '.' : ''}${key}`)).join('');

  /** A value of another kind than the one that is there. */
  const spoilt = (value: unknown): unknown =>
    typeof value === 'string' ? 7 : typeof value === 'number' ? 'seven' : typeof value === 'boolean' ? 'yes' : 'text';

  it.each(['dot_product', 'softmax', 'matrix_transpose', 'spmv_csr', 'FFT', 'rope', 'spmv_ell'])(
    'is refused in every field of %s, which is named',
    (id) => {
      let tried = 0;
      for (const path of places(raw(id))) {
        const file = raw(id);
        const parent = parentOf(file, path);
        const key = path.at(-1) as string | number;
        parent[key] = spoilt(parent[key]);
        const message = refusal(parse(file));
        expect(message, named(path)).not.toBe('accepted');
        // File and expected form are told with the field.
        expect(message, named(path)).toMatch(/^x\/task\.json: .*expected/i);
        // "elem": 7 may be reported at the field or, in a union, at the object that holds it.
        const places = [named(path), named(path.slice(0, -1))].filter((place) => place !== '');
        expect(
          places.some((place) => message.includes(place)),
          `${named(path)}: ${message}`,
        ).toBe(true);
        tried++;
      }
      expect(tried).toBeGreaterThan(100);
    },
  );

  it('is refused when any key is missing (but for the optional ones) or misspelt', () => {
    const optional = /^(sizes\.largeNote|sizes\.verify\.always|.*\.multipleOf|.*generator.*\.(style|every))$/;
    for (const path of places(raw()).filter((p) => typeof p.at(-1) === 'string')) {
      const key = path.at(-1) as string;
      const misspelt = raw();
      const parent = parentOf(misspelt, path);
      parent[`${key}x`] = parent[key];
      delete parent[key];
      const extra = raw();
      parentOf(extra, path)[`${key}x`] = 1;
      expect(refusal(parse(misspelt)), named(path)).not.toBe('accepted');
      expect(refusal(parse(extra)), named(path)).not.toBe('accepted');
      const missing = raw();
      delete parentOf(missing, path)[key];
      if (!optional.test(named(path)) && !/^verifyInputs\[\d\]\.generators\.\w+$/.test(named(path)))
        expect(refusal(parse(missing)), named(path)).not.toBe('accepted');
    }
  });

  const cases: [string, (t: Any) => void, RegExp][] = [
    [
      'unknown dimension in a count',
      (t) => {
        t.wrapper.params[1].count = 'nz';
      },
      /params\[1\]\.count: .*unknown name "nz"/,
    ],
    [
      'broken expression',
      (t) => {
        t.weight = '2*(nnz';
      },
      /weight: .*column 7/,
    ],
    [
      'fraction as a count',
      (t) => {
        t.wrapper.params[1].count = 'nnz/3';
      },
      /params\[1\]\.count at .*is not an integer/,
    ],
    [
      'negative count',
      (t) => {
        t.wrapper.params[5].count = 'rows-100000';
      },
      /params\[5\]\.count at .*at least 0/,
    ],
    [
      'offsets of the wrong length',
      (t) => {
        t.wrapper.params[3].count = 'rows';
      },
      /params\[3\]\.count at .*rows \+ 1/,
    ],
    [
      'scalar beyond int',
      (t) => {
        t.wrapper.params[0].value = 'rows*1000000';
      },
      /params\[0\]\.value at .*int of 32 bits/,
    ],
    [
      'real generator for an int buffer',
      (t) => {
        t.wrapper.params[2].generator = { kind: 'zeros' };
      },
      /params\[2\]\.generator\.kind: expected .*int buffer, found "zeros"/,
    ],
    [
      'int generator for a real buffer',
      (t) => {
        t.wrapper.params[1].generator = { kind: 'int', lo: '0', hi: '2' };
      },
      /params\[1\]\.generator\.kind: expected a generator of real numbers/,
    ],
    [
      'empty int range',
      (t) => {
        t.wrapper.params[2].generator.hi = '0';
      },
      /params\[2\]\.generator at .*lo < hi/,
    ],
    [
      'uniform the wrong way round',
      (t) => {
        t.wrapper.params[1].generator.lo = 2;
      },
      /params\[1\]\.generator: expected lo < hi/,
    ],
    [
      'exponents out of range',
      (t) => {
        t.verifyInputs[2].generators.x.hiExp = 500;
      },
      /verifyInputs\[2\]\.generators\.x: expected -126/,
    ],
    [
      'generator for an output',
      (t) => {
        t.verifyInputs[0].generators.y = { kind: 'zeros' };
      },
      /generators\.y: "y" is not a parameter of role in/,
    ],
    [
      'two inputs of one name',
      (t) => {
        t.verifyInputs[1].id = t.verifyInputs[0].id;
      },
      /two inputs are named/,
    ],
    [
      'id of an input with a blank',
      (t) => {
        t.verifyInputs[0].id = 'a b';
      },
      /verifyInputs\[0\]\.id: expected lower-case/,
    ],
    [
      'no output',
      (t) => {
        t.wrapper.params.pop();
      },
      /expected at least one parameter of role out/,
    ],
    [
      'two parameters of one name',
      (t) => {
        t.wrapper.params[4].name = 'values';
      },
      /two parameters are named "values"/,
    ],
    [
      'parameter that is no C name',
      (t) => {
        t.wrapper.params[4].name = 'x y';
      },
      /params\[4\]\.name: expected a C identifier/,
    ],
    [
      'wrapper without a name',
      (t) => {
        delete t.wrapper.name.bf16;
      },
      /wrapper\.name\.bf16: expected the C name/,
    ],
    [
      'name for an absent dtype',
      (t) => {
        t.dtypes = ['fp32'];
      },
      /wrapper\.name\.bf16: "bf16" is not in dtypes/,
    ],
    [
      'dimension called like a function',
      (t) => {
        t.dims[0] = 'min';
      },
      /dims\[0\]: "min" is the name of a function/,
    ],
    [
      'dimension twice',
      (t) => {
        t.dims.push('rows');
      },
      /dims: "rows" appears twice/,
    ],
    [
      'size without a dimension',
      (t) => {
        delete t.sizes.published[2].cols;
      },
      /published\[2\]\.cols: expected a whole number, found undefined/,
    ],
    [
      'size with a stranger',
      (t) => {
        t.sizes.large[0].K = 1;
      },
      /large\[0\]\.K: "K" is not in dims/,
    ],
    [
      'size that is no whole number',
      (t) => {
        t.sizes.published[0].nnz = 1.5;
      },
      /published\[0\]\.nnz: expected a whole number/,
    ],
    [
      'no published size',
      (t) => {
        t.sizes.published = [];
      },
      /published: expected at least one size/,
    ],
    [
      'large beyond 8 GB',
      (t) => {
        t.sizes.large[0].nnz = 1100000000;
      },
      /large\[0\]: expected at most 8 GB of buffers, found 8\.8/,
    ],
    [
      'no rule for a dimension',
      (t) => {
        delete t.sizes.verify.dims.cols;
      },
      /verify\.dims\.cols: expected a rule/,
    ],
    [
      'rule without a multiple',
      (t) => {
        t.sizes.verify.dims.cols = { min: 5, max: 6, multipleOf: 4 };
      },
      /verify\.dims\.cols: expected 0 <= min <= max with a multiple of 4/,
    ],
    [
      'rule that uses a later one',
      (t) => {
        t.sizes.verify.dims.rows = { expr: 'cols' };
        t.sizes.verify.dims.cols = { expr: 'nnz+rows+K' };
      },
      /verify\.dims\.cols\.expr: .*unknown name "K"/,
    ],
    [
      'tolerance of a stranger',
      (t) => {
        t.tolerance.fp32[0].output = 'z';
      },
      /tolerance\.fp32: expected one entry for output "y", found 0/,
    ],
    [
      'tolerance twice',
      (t) => {
        t.tolerance.fp32.push(t.tolerance.fp32[0]);
      },
      /expected one entry for output "y", found 2/,
    ],
    [
      'no tolerance for a dtype',
      (t) => {
        delete t.tolerance.bf16;
      },
      /tolerance\.bf16: expected one entry/,
    ],
    [
      'rounding of another type',
      (t) => {
        t.tolerance.fp32[0].rounding = 'bf16';
      },
      /tolerance\.fp32\[0\]\.rounding: .*stored as f32/,
    ],
    [
      'RMS bound above 1',
      (t) => {
        t.tolerance.fp32[0].rms = 1.5;
      },
      /tolerance\.fp32\[0\]\.rms: expected at most 1/,
    ],
    [
      'RMS bound that nothing keeps',
      (t) => {
        t.tolerance.bf16[0].rms = 1e-300;
      },
      /tolerance\.bf16\[0\]\.rms: expected 0\.0001 to 1, found 1e-300/,
    ],
    [
      'limit that nothing misses',
      (t) => {
        t.tolerance.fp32[0].c = 1e308;
      },
      /tolerance\.fp32\[0\]\.c: expected less than 8192, .*found 1e\+308/,
    ],
    [
      'bound that no fp32 holds',
      (t) => {
        t.verifyInputs[2].generators.x = { kind: 'uniform', lo: 0, hi: 1e308 };
      },
      /verifyInputs\[2\]\.generators\.x\.hi: expected a value that bf16 can hold .*found 1e\+308/,
    ],
    [
      'bound that fp32 holds and bf16 does not',
      (t) => {
        t.wrapper.params[1].generator = { kind: 'levels', lo: -3.4e38, hi: 1, levels: 3 };
      },
      /params\[1\]\.generator\.lo: expected a value that bf16 can hold/,
    ],
    [
      'bounds that are one value',
      (t) => {
        t.wrapper.params[1].generator = { kind: 'uniform', lo: 1, hi: 1 + 1e-12 };
      },
      /params\[1\]\.generator: expected lo and hi that differ in fp32/,
    ],
    [
      'more levels than bits',
      (t) => {
        t.wrapper.params[1].generator = { kind: 'levels', lo: 0, hi: 1, levels: 1e15 };
      },
      /params\[1\]\.generator\.levels: expected at most 2\^31 levels/,
    ],
    [
      'scalar beyond float',
      (t) => {
        t.wrapper.params[0] = { role: 'scalar', name: 'num_rows', ctype: 'float', value: 'rows*1e306' };
      },
      /params\[0\]\.value: expected a value that float can hold/,
    ],
    [
      'more bytes read than there are',
      (t) => {
        t.bytes.read = 'nnz*1000';
      },
      /bytes\.read: expected at most the \d+ bytes of all inputs at rows=/,
    ],
    [
      'more work than a GPU does in an hour',
      (t) => {
        t.flops = '1e300';
      },
      /flops: expected at most 3\.6e\+21 operations, found 1e\+300/,
    ],
    [
      'id that no file system takes',
      (t) => {
        t.id = 'a'.repeat(300);
      },
      /id: expected at most 100 characters, found 300/,
    ],
    [
      'sizes without end',
      (t) => {
        t.sizes.verify.always = Array.from({ length: 1000 }, () => t.sizes.published[0]);
      },
      /sizes\.verify\.always: expected at most 64, found 1000/,
    ],
    [
      'title that turns the line around',
      (t) => {
        t.title = 'SpMV \u202Egnp.exe';
      },
      /title: expected one line of text without control or invisible characters, found U\+202E at position 6/,
    ],
    [
      'title of two lines',
      (t) => {
        t.title = 'SpMV\nCSR';
      },
      /title: expected one line .*U\+000A/,
    ],
    [
      'prompt with an escape sequence',
      (t) => {
        t.prompt = `y = A x \u001b[2J`;
      },
      /prompt: expected text without .*U\+001B/,
    ],
    [
      'blank title',
      (t) => {
        t.title = ' ';
      },
      /title: expected some text, found none/,
    ],
    [
      'reason without an end',
      (t) => {
        t.verifyInputs[0].why = 'because '.repeat(1000);
      },
      /verifyInputs\[0\]\.why: expected at most 4000 characters, found 8000/,
    ],
    [
      'negative figures',
      (t) => {
        t.flops = '0-nnz';
      },
      /flops at .*at least 0/,
    ],
    [
      'weight of zero',
      (t) => {
        t.weight = '0*nnz';
      },
      /weight at .*more than 0/,
    ],
    [
      'unknown category',
      (t) => {
        t.category = 'misc';
      },
      /category: .*sparse/,
    ],
  ];
  it.each([
    ['published', { N: 23_999_999_999 }, null],
    [
      'published',
      { N: 40e9 },
      /published\[0\]: the buffers need 320\.0 GB, expected at most 288\.0 GB: no GPU has more/,
    ],
    ['published', { N: 2 ** 52 }, /published\[0\]: buffer "X" has 4\.50e\+15 elements, expected at most 2\^40/],
    ['always', { N: 40e9 }, /verify\.always\[0\]: the buffers need 320\.0 GB/],
    ['rule', { N: 40e9 }, /sizes\.verify\.dims: the buffers need [23]\d\d\.\d GB/],
  ])('is refused where a size is one that no GPU holds: %s %o', (place, size, message) => {
    const file = raw('dot_product');
    file.wrapper.params = file.wrapper.params.map((param: Any) =>
      param.role === 'scalar' ? { ...param, ctype: 'long' } : param,
    );
    if (place === 'published') file.sizes.published = [size];
    else if (place === 'always') file.sizes.verify.always = [size];
    else file.sizes.verify.dims.N = { oneOf: [size.N] };
    const said = refusal(parse(file));
    if (message === null) expect(said).toBe('accepted');
    else expect(said).toMatch(message);
  });

  it('may speak every language, in several lines', () => {
    const file = raw();
    file.title = 'Dünnbesetzt · 稀疏 · تنک می‌شود';
    file.prompt = 'y = A·x\n\twith A ∈ ℝ^{m×n}, for 👩‍🔬';
    expect(refusal(parse(file))).toBe('accepted');
  });

  it('may end its lines as Windows does, where several lines may be', () => {
    const task = (change: object) => parse({ ...raw('softmax'), ...change });
    expect(task({ prompt: 'First line.\r\nSecond line.\r\n' }).ok).toBe(true);
    expect(refusal(task({ prompt: 'shown\rhidden' }))).toMatch(/prompt: .*found U\+000D at position 6/);
    expect(refusal(task({ prompt: 'shown\r\r\nhidden' }))).toMatch(/prompt: .*found U\+000D at position 6/);
    expect(refusal(task({ title: 'a\r\nb' }))).toMatch(/title: expected one line .*found U\+000D at position 2/);
  });

  it.each(cases)('is refused: %s', (_, damage, message) => {
    const file = raw();
    damage(file);
    expect(refusal(parse(file))).toMatch(message);
  });
});

describe('the folder of a task', () => {
  const copy = (id: string): string => {
    const dir = mkdtempSync(join(folder, 'task-'));
    cpSync(join(root, shippedTasks, id), dir, { recursive: true });
    return dir;
  };
  const edit = (dir: string, name: string, change: (text: string) => string): string => {
    writeFileSync(join(dir, name), change(readFileSync(join(dir, name), 'utf8')));
    return dir;
  };

  it.each(['task.json', 'origin.fp32.cu', 'origin.bf16.cu', 'reference.h'])('needs %s', (name) => {
    const dir = copy('dot_product');
    rmSync(join(dir, name));
    const loaded = loadTaskFrom(dir);
    expect(loaded.ok ? '' : loaded.error).toMatchObject({ code: 'input.file', message: expect.stringContaining(name) });
  });

  it('of a user needs no reference', () => {
    const dir = edit(copy('dot_product'), 'task.json', (t) => t.replace('"dense-linear-algebra"', '"user"'));
    rmSync(join(dir, 'reference.h'));
    expect(unwrap(loadTaskFrom(dir)).reference).toBeNull();
  });

  it('is refused where something else than a regular file lies in it, before anything waits for it', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const cases: [string, (path: string) => void, RegExp][] = [
      ['task.json', (path) => execFileSync('mkfifo', [path]), /task\.json cannot be read: .*but a pipe/],
      ['reference.h', (path) => symlinkSync(pipe, path), /reference\.h cannot be read: .*but a pipe/],
      ['origin.fp32.cu', (path) => symlinkSync('/dev/zero', path), /origin\.fp32\.cu cannot be read: .*but a device/],
      ['library.cu', (path) => mkdirSync(path), /library\.cu cannot be read: it is a folder/],
      [
        'origin.bf16.cu',
        (path) => symlinkSync(path, path),
        /origin\.bf16\.cu cannot be read: its links lead in a circle/,
      ],
      [
        'reference.h',
        (path) => writeFileSync(path, ' '.repeat(2 ** 20 + 1)),
        /reference\.h cannot be read: .*too large/,
      ],
    ];
    const dirs = cases.map(([name, make]) => {
      const dir = copy('dot_product');
      rmSync(join(dir, name), { force: true });
      make(join(dir, name));
      return dir;
    });
    // In a process of its own: what hangs there is ended here.
    const code = `import { loadTaskFrom } from ${JSON.stringify(join(root, 'main/evaluate/task/load.ts'))};
      console.log(JSON.stringify(${JSON.stringify(dirs)}.map((dir) => loadTaskFrom(dir).error)));`;
    const argv = ['--input-type=module', '-e', code];
    const child = spawnSync(process.execPath, argv, { encoding: 'utf8', timeout: 60_000, killSignal: 'SIGKILL' });
    const errors = JSON.parse(child.stdout) as { code: string; message: string }[];
    for (const [index, [, , message]] of cases.entries())
      expect(errors[index]).toMatchObject({ code: 'input.file', message: expect.stringMatching(message) });
    // A link to a regular file is as good as the file.
    const linked = copy('dot_product');
    rmSync(join(linked, 'reference.h'));
    symlinkSync(join(root, shippedTasks, 'dot_product/reference.h'), join(linked, 'reference.h'));
    expect(refusal(loadTaskFrom(linked))).toBe('accepted');
  }, 120_000);

  const sources: [string, (t: string) => string, RegExp][] = [
    [
      'another name',
      (t) => t.replaceAll('void dot_product(', 'void dot_prod('),
      /no definition of "void dot_product\(…\)"/,
    ],
    [
      'another type',
      (t) => t.replace('const float* Y, const int N)', 'const double* Y, const int N)'),
      /takes \(.*const double\*, int\), expected/,
    ],
    [
      'a parameter less',
      (t) => t.replace(', const int N)', ')'),
      /expected \(float\*, const float\*, const float\*, int\)/,
    ],
    ['C++ linkage', (t) => t.replace('extern "C"', ''), /not declared extern "C"/],
    ['a definition in a comment only', (t) => t.replace(/extern "C"[\s\S]*$/, (s) => `/* ${s} */`), /no definition/],
  ];
  it.each(sources)('is refused when the wrapper has %s', (_, change, message) => {
    expect(refusal(loadTaskFrom(edit(copy('dot_product'), 'origin.fp32.cu', change)))).toMatch(message);
  });
});

describe('checkWrapper', () => {
  const expected = ['float*', 'const float*', 'int'];
  it.each([
    'extern "C" void f(float* y, const float* x, int n) {',
    'extern "C" void f(float *__restrict__ y, float const *__restrict__ x, const int n)\n{',
    'extern "C" { void g(); void f(float*y,const float*x,int n){',
    'extern "C" void f(float* y, /* in, */ const float* x, // comment, with comma\n int n) {',
  ])('accepts %s', (source) => expect(checkWrapper(source, 'f', expected)).toEqual({ ok: true, value: null }));

  it('compares the wrappers of all candidates with their tasks', () => {
    const dir = join(root, 'test/candidates');
    for (const list of ['index.json', 'host/index.json'])
      for (const { file, task: id, dtype } of JSON.parse(readFileSync(join(dir, list), 'utf8'))) {
        const { task } = unwrap(loadTask(root, id));
        const name = file.endsWith('origin.cpp') ? originName(task, dtype) : candidateName(task, dtype);
        expect(refusal(checkWrapper(readFileSync(join(dir, file), 'utf8'), name, paramTypes(task, dtype))), file).toBe(
          'accepted',
        );
      }
  });
});
