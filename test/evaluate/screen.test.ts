import { describe, expect, test } from 'vitest';
import { screenSource } from '../../main/evaluate/screen/index.ts';
import { lex, stringText } from '../../main/evaluate/screen/lex.ts';

const expected = {
  name: 'scale_optimized',
  types: ['float*', 'const float*', 'int'],
  declaration: 'extern "C" void scale_optimized(float* out, const float* in, int N)',
};
const wrapper = `extern "C" void scale_optimized(float* out, const float* in, int N) {
  scale_kernel_optimized<<<(N + 255) / 256, 256>>>(out, in, N);
}
`;
const kernel = `#include <cuda_runtime.h>
__global__ void scale_kernel_optimized(float* out, const float* in, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) out[i] = 2.0f * in[i];
}
`;
/** A right source with `extra` at namespace scope before the wrapper and `inside` in the wrapper. */
const source = (extra = '', inside = ''): string => `${kernel}${extra}\n${wrapper.replace('{\n', `{\n${inside}\n`)}`;
const rules = (text: string): string[] => screenSource(text, expected).rejections.map((r) => `${r.rule}: ${r.why}`);

describe('tokens', () => {
  const texts = (text: string): string[] => lex(text).tokens.map((t) => t.text);
  test.each([
    ['sys\\\ntem("x")', ['system', '(', '"x"', ')']],
    ['sys\\ \t\ntem', ['system']], // gcc allows blanks behind the backslash
    ['a // b \\\n still comment\nc', ['a', 'c']],
    ['a /* b // */ c', ['a', 'c']],
    ['R"x(a)" \\\n // not a comment )x" b', ['R"x(a)" \\\n // not a comment )x"', 'b']],
    ['u8R"(//)" LR"(/*)"', ['u8R"(//)"', 'LR"(/*)"']],
    ['"a\\"b" \'\\\'\' c', ['"a\\"b"', "'\\''", 'c']],
    ["1'000'000 0x1p-3f 1e+5 .5f", ["1'000'000", '0x1p-3f', '1e+5', '.5f']],
    ['<% %> <: :> %: %:%:', ['{', '}', '[', ']', '#', '##']],
    ['a<::b>', ['a', '<', '::', 'b', '>']],
    ['x<::>', ['x', '[', ']']],
    ['#include <a/b.h>\n<c>', ['#', 'include', '<a/b.h>', '<', 'c', '>']],
  ])('%j', (text, want) => {
    expect(texts(text)).toEqual(want);
  });
  test('lines survive splices, comments and raw strings', () => {
    const { tokens } = lex('a\\\n\\\nb\n/* \n\n */ c R"(\n\n)" d\r\ne');
    expect(tokens.map((t) => [t.text.slice(0, 2), t.line])).toEqual([
      ['ab', 1],
      ['c', 6],
      ['R"', 6],
      ['d', 8],
      ['e', 9],
    ]);
  });
  test('string contents', () => {
    const [token] = lex('"\\x2eincbin\\n\\056x"').tokens;
    expect(stringText(token as never)).toBe('.incbin\n.x');
  });
  test.each(['"open', "'x", '/* no end', 'R"(no end', '"line\nbreak"'])('fault: %j', (text) => {
    expect(lex(text).faults.length).toBeGreaterThan(0);
  });
});

describe('honest sources pass', () => {
  test.each<[string, string, string]>([
    ['plain', '', ''],
    ['words in comments', '// system("rm"), fopen, std::thread\n/* asm(".incbin") #include "x" */', ''],
    ['words in strings', 'static const char* const help = "system fopen dlopen asm";', ''],
    ['raw string with words', 'static const char* const text = R"(system("x"); #include "y.h")";', ''],
    [
      'own names that the C library also has',
      '',
      'int read = 0; float time = 1.0f; int open[2] = {0, 1}; read += open[0]; (void)time;',
    ],
    ['members', '', 'struct P { void write() {} void wait() {} } p; p.write(); p.wait();'],
    [
      'device function called read',
      '__device__ float read(const float* p) { return *p; }\n__device__ float twice(const float* p) { return 2 * read(p); }',
      '',
    ],
    [
      'inline PTX',
      '__device__ __forceinline__ float ex2(float x) { float y; asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }',
      '',
    ],
    [
      'PTX in a macro, used on the device',
      '#define NOP() asm volatile("nop;")\n#define TWICE() NOP(); NOP()\n__device__ void f() { TWICE(); }',
      '',
    ],
    [
      'a namespace of its own beside std',
      'namespace tile { struct op { __device__ static float read(float x) { return x; } }; }',
      '',
    ],
    ['unrolling by a macro', '#define UNROLL _Pragma("unroll")', ''],
    ['PTX in several strings', '__device__ void f() { asm("{\\n\\t" "nop;\\n\\t" "}" ::: "memory"); }', ''],
    ['launch bounds', '__global__ void __launch_bounds__(256, 4) other_kernel_optimized(float* o) { o[0] = 1; }', ''],
    [
      'template kernel',
      'template <int B, typename T = float>\n__global__ __launch_bounds__(B) void t_kernel_optimized(T* __restrict__ o) { o[0] = T(B); }',
      '',
    ],
    ['kernel in a namespace', 'namespace detail { __global__ void n_kernel_optimized(float* o) { o[0] = 1; } }', ''],
    [
      'workspace kept',
      '',
      'static float* ws = nullptr; static size_t size = 0; if (size < size_t(N)) { cudaFree(ws); cudaMalloc(&ws, N * sizeof(float)); size = N; }',
    ],
    ['async pool', '', 'float* p; cudaMallocAsync(&p, 64, 0); cudaFreeAsync(p, 0);'],
    [
      'shared memory attribute',
      '',
      'cudaFuncSetAttribute(scale_kernel_optimized, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);',
    ],
    ['device properties', '', 'int sms; cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);'],
    [
      'graph',
      '',
      'cudaStream_t s; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);',
    ],
    [
      'error check macro',
      '#include <cstdio>\n#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) fprintf(stderr, "%s\\n", cudaGetErrorString(e)); } while (0)',
      'CHECK(cudaGetLastError());',
    ],
    [
      'harmless pasting',
      '#define CASE(x) case_##x\n#define JOIN2(a) tile_##a##_size\nenum { CASE(one), JOIN2(b) };',
      '',
    ],
    ['__VA_ARGS__ comma', '#include <cstdio>\n#define LOG(f, ...) printf(f, ##__VA_ARGS__)', ''],
    [
      'constants',
      'constexpr int kTile = 32;\nstatic const float kScale = 2.0f;\n__constant__ float table[4];\nconst int kList[3] = {1, 2, 3};',
      '',
    ],
    ['constexpr call', 'constexpr int half_of(int x) { return x / 2; }\nconstexpr int kHalf = half_of(8);', ''],
    ['plain globals', 'static float* g_ws = nullptr;\nstatic int g_n;\nstatic std::mutex g_lock;', ''],
    [
      'forward declaration',
      '__device__ float helper(float x);\nstatic int blocks(int n);\n__device__ float helper(float x) { return x; }\nstatic int blocks(int n) { return n; }',
      '',
    ],
    [
      'struct with members',
      'struct Pair { float a = 0.0f; int b; __device__ Pair(float x, int y) : a(x), b(y) {} };',
      '',
    ],
    [
      'attributes',
      'struct __attribute__((aligned(16))) V { float x[4]; };\nstruct alignas(8) W { float x[2]; };\n[[maybe_unused]] static int unused_one = 0;',
      '',
    ],
    [
      'pragmas',
      '#pragma once\n__device__ void u(float* p) {\n#pragma unroll 4\n  for (int i = 0; i < 4; ++i) p[i] = 0;\n  _Pragma("unroll") for (int i = 0; i < 2; ++i) p[i] = 1;\n}',
      '',
    ],
    [
      'libraries of the toolkit',
      '#include <cub/block/block_reduce.cuh>\n#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <mma.h>\n#include <cuda/pipeline>\n#include <cuda/std/limits>\nnamespace cg = cooperative_groups;\nusing namespace nvcuda;',
      '',
    ],
    [
      'cooperative groups',
      '#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__global__ void c_kernel_optimized(float* o) { auto b = cg::this_thread_block(); cg::sync(b); b.sync(); o[0] = 0; }',
      '',
    ],
    [
      'extern shared',
      '__global__ void s_kernel_optimized(float* o) { extern __shared__ float tile[]; o[0] = tile[0]; }',
      '',
    ],
    [
      'lambda and arrays',
      '',
      'auto blocks = [](int n) { return (n + 255) / 256; }; int a[2][2] = {{1, 2}, {3, 4}}; (void)a; (void)blocks;',
    ],
    ['digraphs', '__device__ void d(float* p) <% p<:0:> = 1; %>', ''],
  ])('%s', (_, extra, inside) => {
    expect(rules(source(extra, inside))).toEqual([]);
  });

  test('CRLF, a BOM and comments in other languages', () => {
    expect(rules(`\uFEFF${source('// größer 大きい')}`.replaceAll('\n', '\r\n'))).toEqual([]);
  });

  test.each([
    'extern "C" void scale_optimized(float* out, const float* in, int N)',
    'extern "C" __host__ void scale_optimized(float *__restrict__ out, float const* const __restrict__ in, const int N)',
    'extern "C" void scale_optimized(float out[], const float in[], int)',
    'using T = float; extern "C" void scale_optimized(T* out, const T* in, int n)',
    'typedef float real; extern "C" void scale_optimized(real* out, const real* in, int n)',
    '#define REAL float\nextern "C" void scale_optimized(REAL* o, const REAL* i, int n)',
  ])('signature written as %j', (head) => {
    expect(rules(`${kernel}${head} { }`)).toEqual([]);
  });
  test('wrapper in an extern "C" block', () => {
    expect(rules(`${kernel}extern "C" {\n${wrapper.replace('extern "C" ', '')}}`)).toEqual([]);
  });
});

describe('evasions are refused', () => {
  test.each<[string, RegExp, string, string]>([
    ['call', /^name: system/, '', 'system("true");'],
    ['std call', /std::system/, '', 'std::system("true");'],
    ['global qualifier', /^name: open/, '', 'int f = ::open("x", 0);'],
    ['spliced name', /^name: system/, '', 'sys\\\ntem("true");'],
    ['spliced with a blank', /^name: system/, '', 'sys\\  \ntem("true");'],
    ['spliced include', /^include/, '#in\\\nclude <thread>', ''],
    [
      'code behind a comment with a splice that ends',
      /^name: fork/,
      '// note \\\ncontinued\nstatic void g() { fork(); }',
      '',
    ],
    ['macro alias', /^name: popen/, '#define RUN popen', 'RUN("x", "r");'],
    ['macro alias with arguments', /^name: system/, '#define RUN(x) system(x)', 'RUN("x");'],
    ['address of a C function', /^name: open/, '', 'auto f = &open; f("x", 0);'],
    ['function pointer', /^name: exit/, '', 'void (*f)(int) = exit; f(0);'],
    ['token pasting', /^macro: .*syscall|^macro: .*system/, '#define P(a) sys##a\n', ''],
    ['pasting of two parameters', /^macro: .*any name/, '#define P(a, b) a##b', ''],
    ['pasting by digraph', /^macro/, '%:define P(a, b) a%:%:b', ''],
    ['pasting a CUDA name', /^macro/, '#define C(x) cuda##x', ''],
    ['pasting asm', /^macro/, '#define A(x) as##x', ''],
    ['keyword redefined', /^macro: asm/, '#define asm nop', ''],
    ['CUDA function redefined', /^macro: cudaMalloc/, '#define cudaMalloc fake', ''],
    ['__global__ redefined', /^macro: __global__/, '#define __global__ static', ''],
    ['trigraph', /^text: trigraphs/, '// what??/\nint x;', ''],
    ['universal character name', /^text/, '', 's\\u0079stem("x");'],
    ['look-alike letters', /^text/, '', 'int sуstem2 = 0;'],
    ['zero byte', /^text: control/, '\0', ''],
    ['right-to-left override', /^text: control/, '// \u202e', ''],
    ['dollar name', /^text/, 'static int a$b = 0;', ''],
    ['quoted include', /^include: quoted/, '#include "cuda_runtime.h"', ''],
    ['absolute include', /^include: <\/etc/, '#include </etc/passwd>', ''],
    ['path out', /^include/, '#include <../../x.h>', ''],
    ['include by macro', /^include: the header/, '#define H <thread>\n#include H', ''],
    ['include_next', /^directive: #include_next/, '#include_next <cuda_runtime.h>', ''],
    ['embed', /^directive: #embed/, '#embed "x"', ''],
    ['digraph directive', /^include/, '%:include <thread>', ''],
    ['directive with comments', /^include/, '/* */ # /* */ include /* */ <dlfcn.h>', ''],
    ['has_include', /^directive: __has_include/, '#if __has_include("/etc/passwd")\n#endif', ''],
    ['line', /^directive: #line/, '#line 1 "other.cu"', ''],
    ['header of a library', /cublas/, '#include <cublas_v2.h>', ''],
    ['driver header', /driver API/, '#include <cuda.h>', ''],
    ['unknown header', /not on the list/, '#include <foo.h>', ''],
    ['thread', /std::thread/, '', 'std::thread t([]{}); t.detach();'],
    ['pthread', /host threads/, '', 'pthread_t t; pthread_create(&t, 0, 0, 0);'],
    ['incbin', /^asm: assembly must not read/, '__device__ void f() { asm(".incbin \\"/etc/passwd\\""); }', ''],
    ['incbin by escapes', /^asm: assembly must not read/, '__device__ void f() { asm("\\x2eincbin \\"x\\""); }', ''],
    ['incbin in parts', /^asm: assembly must not read/, '__device__ void f() { asm(".inc" "bin \\"x\\""); }', ''],
    ['incbin in a raw string', /^asm: assembly must not read/, '__device__ void f() { asm(R"(.incbin "x")"); }', ''],
    ['asm at namespace scope', /^asm: assembly outside/, 'asm(".globl x");', ''],
    ['asm in host code', /^asm: assembly in/, '', 'asm volatile("syscall");'],
    ['asm for both sides', /^asm/, '__host__ __device__ void f() { asm("nop"); }', ''],
    ['asm by macro text', /^asm: assembly must be a plain/, '#define T "nop"\n__device__ void f() { asm(T); }', ''],
    ['asm hidden in a macro', /^asm: assembly must not read/, '#define A asm(".incbin \\"x\\"")', ''],
    [
      'clock register',
      /clocks/,
      '__device__ long long f() { long long t; asm("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }',
      '',
    ],
    ['clock64', /clocks/, '__device__ long long f() { return clock64(); }', ''],
    ['constructor attribute', /^attribute: .*constructor/, '__attribute__((constructor)) static void go() {}', ''],
    [
      'constructor with underscores',
      /^attribute: .*constructor/,
      '__attribute__((__constructor__(101))) static void go() {}',
      '',
    ],
    ['gnu::constructor', /^attribute: .*constructor/, '[[gnu::constructor]] static void go() {}', ''],
    ['attribute in a macro', /^attribute: .*constructor/, '#define INIT __attribute__((constructor))', ''],
    [
      'section attribute',
      /^attribute: .*section/,
      '__attribute__((section(".init_array"))) static void (*p)() = nullptr;',
      '',
    ],
    ['weak', /^attribute: .*weak/, '__attribute__((weak)) void hook() {}', ''],
    ['pragma', /^pragma/, '#pragma GCC optimize("O0")', ''],
    ['pragma operator', /^pragma/, '_Pragma("redefine_extname malloc mine")', ''],
    ['initialiser that calls', /^global/, 'static int go() { return 1; }\nstatic int x = go();', ''],
    ['lambda as initialiser', /^global/, 'static int x = [] { return 1; }();', ''],
    ['initialiser in braces', /^global/, 'static int go() { return 1; }\nstatic int x{go()};', ''],
    ['object with a constructor', /^global/, 'struct S { S() {} };\nstatic S s;', ''],
    ['object with constructor, in one', /^global/, 'struct S { S() {} } s;', ''],
    ['object with a destructor', /^global/, 'struct S { ~S() {} };\nS s;', ''],
    ['object with arguments', /^global/, 'struct S { int a; S(int) {} };\nS s(1);', ''],
    ['object in a namespace', /^global/, 'namespace { struct S { S() {} }; S s; }', ''],
    ['inline static member', /^global/, 'static int go() { return 1; }\nstruct S { static inline int x = go(); };', ''],
    ['unknown type', /^global/, 'cub::CachingDeviceAllocator alloc;', ''],
    ['foreign function', /^declaration/, 'extern "C" int puts2(const char*);', ''],
    ['foreign function without extern', /^declaration/, 'int puts2(const char*);', ''],
    ['foreign object', /^declaration/, 'extern int secret;', ''],
    ['redeclared libc', /^name: open|^declaration/, 'extern "C" int open(const char*, int, ...);', ''],
    ['pinned memory', /^cuda: cudaMallocHost/, '', 'float* p; cudaMallocHost(&p, 4);'],
    ['managed memory', /^cuda: cudaMallocManaged/, '', 'float* p; cudaMallocManaged(&p, 4);'],
    ['managed variable', /__managed__/, '__managed__ int x;', ''],
    ['host callback', /host callbacks/, '', 'cudaLaunchHostFunc(0, nullptr, nullptr);'],
    ['device reset', /^cuda: cudaDeviceReset/, '', 'cudaDeviceReset();'],
    ['persisting L2', /^cuda: cudaDeviceSetLimit/, '', 'cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);'],
    ['profiler', /^cuda: cudaProfilerStop/, '', 'cudaProfilerStop();'],
    ['driver entry point', /^cuda: cudaGetDriverEntryPoint/, '', 'cudaGetDriverEntryPoint("x", nullptr, 0);'],
    ['driver API', /driver API/, '', 'cuMemAlloc(0, 0);'],
    ['CUPTI', /profiling/, '', 'cuptiActivityFlushAll(0);'],
    ['library', /library is not allowed/, '', 'cublasHandle_t h;'],
    ['event timing', /clocks/, '', 'float ms; cudaEventElapsedTime(&ms, 0, 0);'],
    ['environment', /getenv/, '', 'if (getenv("X")) return;'],
    ['files', /fopen/, '', 'fopen("x", "r");'],
    ['exit', /std::exit/, '', 'std::exit(0);'],
    ['std by an alias', /std::exit/, 'namespace s = ::std;', 's::exit(0);'],
    ['std in a namespace', /std::system/, 'namespace q { using namespace std; }', 'q::system("id");'],
    ['device function of that name', /^name: exit/, '__device__ void exit(float) {}', 'exit(0);'],
    [
      'device function of that name, by a macro',
      /^name: exit/,
      '__device__ void exit(float) {}\n#define E exit(0)',
      'E;',
    ],
    ['wide files', /wifstream/, '#include <iostream>', 'std::wifstream f("/etc/passwd");'],
    ['file buffers', /basic_filebuf/, '', 'std::basic_filebuf<char> f;'],
    [
      'assembly by a macro in host code',
      /^asm: OUTER holds/,
      '#define INNER asm("rdtsc")\n#define OUTER INNER',
      'OUTER;',
    ],
    ['assembly by a macro at namespace scope', /^asm: A holds/, '#define A asm("nop")\nA;', ''],
    [
      'text of a constant in assembly',
      /^asm: the constraint/,
      'constexpr char c[] = {37, 99, 108, 111, 99, 107, 0};\n__device__ unsigned f() { unsigned v; asm("mov.u32 %0, %1;" : "=r"(v) : "C"(c)); return v; }',
      '',
    ],
    ['clock of nvvm', /clocks/, '__device__ long long f() { return __nvvm_read_ptx_sreg_clock64(); }', ''],
    ['clock of libcu++', /clocks/, '__device__ unsigned f() { return cuda::ptx::get_sreg_clock(); }', ''],
    ['pragma operator in a macro', /^pragma/, '#define W _Pragma("redefine_extname puts system")\nW', ''],
    ['builtin', /^name: __builtin_return_address/, '', '__builtin_return_address(0);'],
    ['syscall', /^name: syscall/, '', 'syscall(39);'],
    ['inactive branch', /^name: system/, '#if 0\nstatic void g() { system("x"); }\n#endif', ''],
    ['bracket hidden', /^text: a bracket/, 'static void g() {', ''],
  ])('%s', (_, pattern, extra, inside) => {
    const found = rules(source(extra, inside));
    expect(
      found.some((rule) => pattern.test(rule)),
      found.join('\n') || 'nothing refused',
    ).toBe(true);
  });

  test('libraries and headers that the task allows', () => {
    const text = source('#include <cublas_v2.h>', 'cublasHandle_t h; cublasCreate(&h);');
    expect(screenSource(text, expected, { includes: ['cublas_v2.h'], libraries: ['cublas'] }).rejections).toEqual([]);
  });
});

describe('sources that are no programs', () => {
  test.each([
    'extern "C" {',
    '(',
    'namespace n {',
    'struct s {',
    '[[',
    'asm("',
    '::',
    'template<',
    '#if 1\n',
    '{}',
    'a;',
    'f(){}',
  ])('%s without end is refused', (text) => {
    const junk = text.repeat(Math.floor(200_000 / text.length));
    for (const whole of [kernel + junk, junk + kernel]) expect(rules(whole)).not.toEqual([]);
  });

  test('a very long one is refused before it is looked at', () => {
    expect(rules(source(`/* ${'x'.repeat(600_000)} */`))).toEqual([
      'text: the source is longer than 524288 characters',
    ]);
  });
});

describe('signature', () => {
  const only = (text: string) => screenSource(text, expected);
  test('missing extern "C" is named as the only gap', () => {
    const found = only(kernel + wrapper.replace('extern "C" ', ''));
    expect(found.externCLine).toBe(6);
    expect(found.rejections).toEqual([
      { line: 6, rule: 'signature', why: expect.stringContaining('nothing else is wrong') },
    ]);
  });
  test('missing extern "C" beside other faults is not', () => {
    const two = only(kernel.replace('_kernel_optimized', '_kernel') + wrapper.replace('extern "C" ', ''));
    expect(two.externCLine).toBeNull();
  });
  test.each<[string, string, RegExp]>([
    [
      'order',
      'extern "C" void scale_optimized(const float* in, float* out, int N) {}',
      /takes \(const float\*, float\*, int\), expected/,
    ],
    [
      'type',
      'extern "C" void scale_optimized(float* out, const float* in, long N) {}',
      /takes \(float\*, const float\*, long\)/,
    ],
    [
      'const lost',
      'extern "C" void scale_optimized(float* out, float* in, int N) {}',
      /takes \(float\*, float\*, int\)/,
    ],
    ['count', 'extern "C" void scale_optimized(float* out, const float* in) {}', /takes \(float\*, const float\*\)/],
    ['reference', 'extern "C" void scale_optimized(float* out, const float* in, int& N) {}', /int&/],
    [
      'return type',
      'extern "C" int scale_optimized(float* out, const float* in, int N) { return 0; }',
      /must return void/,
    ],
    [
      'name',
      'extern "C" void scale(float* out, const float* in, int N) {}',
      /no definition of scale_optimized .* found scale/,
    ],
    [
      'a kernel',
      'extern "C" __global__ void scale_optimized(float* out, const float* in, int N) {}',
      /must be a host function/,
    ],
    ['twice', `${wrapper}namespace x { void scale_optimized(int) {} }`, /defined twice/],
    ['kernel name', `__global__ void helper(float* o) { o[0] = 0; }\n${wrapper}`, /the kernel helper must be named/],
  ])('%s', (_, text, pattern) => {
    expect(
      rules(kernel + text).some((rule) => pattern.test(rule)),
      rules(kernel + text).join('\n'),
    ).toBe(true);
  });
});

test('macros of the command line are read like those of the source', () => {
  const found = (arg: string, inside: string): string[] =>
    screenSource(source('', inside), expected, { compileArgs: ['-O3', arg] }).rejections.map(
      (r) => `${r.line} ${r.why}`,
    );
  expect(found('-DQ=system', 'Q("id");')).toEqual(['1 system: starting programs is not allowed']);
  expect(found('-DQ=exit', 'Q(0);')[0]).toMatch(/^1 exit: ending/);
  expect(found('-DQ=asm', 'Q("rdtsc");').join()).toMatch(/assembly/);
  expect(found('-DQ=clock64', '').join()).toMatch(/clocks/);
  for (const fine of ['-DTILE=16', '-DFLAG', '-DSCALE=1.5e-3f', '-DT=__nv_bfloat16', '-DV=float4'])
    expect(found(fine, '')).toEqual([]);
});

test('each rejection names line, rule and reason', () => {
  const found = screenSource(source('#include <thread>\n\nasm("x");'), expected).rejections;
  expect(found.map((r) => [r.line, r.rule])).toEqual([
    [6, 'include'],
    [8, 'asm'],
  ]);
  expect(found.every((r) => r.why.length > 10)).toBe(true);
});

test('odd and large inputs end quickly', () => {
  const start = performance.now();
  for (const text of [
    '',
    '#',
    '((((',
    '}}}}',
    'a'.repeat(200_000),
    '/*'.repeat(20_000),
    `${'{'.repeat(20_000)}`,
    '#define X(\n',
    '"\\',
    source('int a = 1;\n'.repeat(5_000)),
  ])
    screenSource(text, expected);
  expect(performance.now() - start).toBeLessThan(5_000);
});
