import { z } from 'zod';

export const dtypes = ['fp32', 'bf16'] as const;
export const dtypeSchema = z.enum(dtypes);
export type Dtype = z.infer<typeof dtypeSchema>;

/** Arithmetic over dimension names: + - * / % ( ) min max floor ceil sqrt log2 pow, sizeof(T). Integers unless said. */
export const exprSchema = z.string().min(1).max(400);

/** C element types of buffers. `T` is float in fp32 tasks and __nv_bfloat16 in bf16 tasks. */
export const elemSchema = z.enum(['T', 'float', 'bf16', 'int']);
export type Elem = z.infer<typeof elemSchema>;

/** Generators of single values. */
const elementGenerators = [
  /** Uniform on a 2^24 grid over [lo, hi). */
  z.object({ kind: z.literal('uniform'), lo: z.number(), hi: z.number() }),
  /** Sign · 2^e · (1 + mantissa), e uniform in [loExp, hiExp). */
  z.object({ kind: z.literal('wide'), loExp: z.number().int(), hiExp: z.number().int() }),
  /** One of `levels` equally spaced values in [lo, hi]: many ties. */
  z.object({ kind: z.literal('levels'), lo: z.number(), hi: z.number(), levels: z.number().int().min(1) }),
  /** +0, -0 and (one in four) a uniform value in [-1, 1). */
  z.object({ kind: z.literal('zeros') }),
  /** Integers uniform in [lo, hi). */
  z.object({ kind: z.literal('int'), lo: exprSchema, hi: exprSchema }),
] as const;
export const elementGeneratorSchema = z.discriminatedUnion('kind', elementGenerators);

/**
 * Counter-based input generators; value i of a buffer is a pure function of (seed, buffer ordinal, i),
 * bit-identical on host and GPU (kernels/harness/generators.h implements exactly these kinds).
 */
export const generatorSchema = z.discriminatedUnion('kind', [
  ...elementGenerators,
  /** Uniform over [0, 2/count): `count` values that add up to about one. */
  z.object({ kind: z.literal('share'), count: exprSchema }),
  /**
   * CSR/CSC row offsets of `rows` rows and `nnz` entries (length rows+1). `even`: row r has floor(nnz/rows) entries, the
   * first nnz%rows rows one more. `skewed`: only every `every`-th row has entries, spread evenly over those rows.
   */
  z.object({
    kind: z.literal('offsets'),
    rows: exprSchema,
    nnz: exprSchema,
    style: z.enum(['even', 'skewed']).default('even'),
    every: z.number().int().min(1).default(16),
  }),
  /**
   * Row (or column) index of each of `nnz` entries, spread over `rows` as `offsets` does: `sorted` by row, or `shuffled` by a
   * permutation that depends on the seed.
   */
  z.object({
    kind: z.literal('rows'),
    rows: exprSchema,
    nnz: exprSchema,
    style: z.enum(['even', 'skewed']).default('even'),
    every: z.number().int().min(1).default(16),
    order: z.enum(['sorted', 'shuffled']).default('shuffled'),
  }),
  /**
   * ELL matrix, row-major with `width` places a row: entries from `entries`, then padding (-1 for int, else 0). `mixed`: rows of
   * varying length, `nnz` entries in all; `skewed`: every `every`-th row full, the others empty. Buffers of one matrix agree.
   */
  z.object({
    kind: z.literal('ell'),
    rows: exprSchema,
    nnz: exprSchema,
    width: exprSchema,
    style: z.enum(['mixed', 'skewed']).default('mixed'),
    every: z.number().int().min(1).default(16),
    entries: elementGeneratorSchema,
  }),
]);
export type Generator = z.infer<typeof generatorSchema>;

export const paramSchema = z.discriminatedUnion('role', [
  z.object({
    role: z.literal('in'),
    name: z.string(),
    elem: elemSchema,
    count: exprSchema,
    generator: generatorSchema,
  }),
  z.object({
    role: z.literal('inout'),
    name: z.string(),
    elem: elemSchema,
    count: exprSchema,
    generator: generatorSchema,
  }),
  z.object({ role: z.literal('out'), name: z.string(), elem: elemSchema, count: exprSchema }),
  z.object({
    role: z.literal('scalar'),
    name: z.string(),
    ctype: z.enum(['int', 'long', 'float', 'T']),
    value: exprSchema,
  }),
]);
export type Param = z.infer<typeof paramSchema>;

/** A size: value of each dimension. */
export const sizeSchema = z.record(z.string(), z.number());
export type Size = z.infer<typeof sizeSchema>;

/** "rows=1024 cols=2048". */
export const sizeText = (size: Size): string =>
  Object.entries(size)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

export const verifyRuleSchema = z.object({
  /** How many ragged sizes are drawn per verification. */
  count: z.number().int().min(1).max(16),
  /** Per dimension: inclusive range and divisibility; `expr` derives a dimension from others (drawn first). */
  dims: z.record(
    z.string(),
    z.union([
      z.object({ min: z.number().int(), max: z.number().int(), multipleOf: z.number().int().min(1).default(1) }),
      z.object({ expr: exprSchema }),
      z.object({ oneOf: z.array(z.number()).min(1) }),
    ]),
  ),
  /** Always verified as well (edge sizes). */
  always: z.array(sizeSchema).default([]),
});

export const toleranceSchema = z.object({
  /** Name of the out/inout parameter. */
  output: z.string(),
  /** Measured constant of the elementwise limit |y-r| <= uOut|r| + c*uAcc*sqrt(n)*M + 2^-126 (kernels/harness/PROTOCOL.md). */
  c: z.number().nonnegative(),
  /** Bound on RMS((y-r)/limit) over the whole output; below 1. */
  rms: z.number().positive(),
  /** Unit roundoff of the stored output: 2^-24 fp32, 2^-8 bf16 (8 significant bits); 'exact' demands bit equality. */
  rounding: z.enum(['fp32', 'bf16', 'T', 'exact']),
  /** How c was measured: reserve of correct variants, and of the nearest wrong one. */
  evidence: z.string(),
});

export const taskSchema = z.strictObject({
  version: z.number().int(),
  id: z.string().regex(/^[A-Za-z][A-Za-z0-9_]*$/),
  title: z.string(),
  category: z.enum([
    'dense-linear-algebra',
    'sparse',
    'normalization',
    'activation',
    'llm',
    'loss',
    'tensor',
    'stencil-convolution',
    'math-algorithms',
    'user',
  ]),
  /** Mathematical definition told to the agents. */
  prompt: z.string().min(1),
  dtypes: z.array(dtypeSchema).min(1),
  /** Dimension names in the order in which harness and reference see them. All are 64-bit integers. */
  dims: z.array(z.string()).min(1),
  wrapper: z.object({
    /** C name per dtype, e.g. {fp32: "dot_product", bf16: "dot_product_bf16"}. */
    name: z.partialRecord(dtypeSchema, z.string()),
    params: z.array(paramSchema).min(1),
  }),
  sizes: z.object({
    published: z.array(sizeSchema),
    large: z.array(sizeSchema),
    largeNote: z.string().optional(),
    verify: verifyRuleSchema,
  }),
  /** Extra verification inputs: generator overrides per parameter. */
  verifyInputs: z.array(
    z.object({ id: z.string(), why: z.string(), generators: z.record(z.string(), generatorSchema) }),
  ),
  /** T(N) of the paper: weight of a size in P. */
  weight: exprSchema,
  flops: exprSchema,
  bytes: z.object({ read: exprSchema, write: exprSchema }),
  streaming: z.boolean(),
  persist: z.string(),
  tolerance: z.partialRecord(dtypeSchema, z.array(toleranceSchema)),
  deviations: z.array(z.object({ published: z.string(), ours: z.string(), reason: z.string() })),
});
export type Task = z.infer<typeof taskSchema>;

/** Names of size sets that can be scored. */
export const sizeSets = ['published', 'large'] as const;
export type SizeSet = (typeof sizeSets)[number];
