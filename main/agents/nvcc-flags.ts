/**
 * nvcc options that an agent or a user may choose, as data. Everything else is refused by name.
 * Spelling: without leading dashes; aliases map to one canonical form, so that equal choices give equal build keys.
 */
export interface FlagRule {
  /** Canonical spelling with dashes. */
  readonly flag: string;
  readonly aliases: readonly string[];
  /** none: a switch. value: `flag=value`, matched whole. */
  readonly value: RegExp | null;
  /** Told to the Compiler agent. */
  readonly told: string;
}

const bool = /^(true|false)$/;

export const nvccFlags: readonly FlagRule[] = [
  {
    flag: '-O3',
    aliases: ['O3'],
    value: null,
    told: '`-O3`, `-O2`, `-O1`: host optimization (device code is always at -O3 unless ptxas is told otherwise)',
  },
  { flag: '-O2', aliases: ['O2'], value: null, told: '' },
  { flag: '-O1', aliases: ['O1'], value: null, told: '' },
  {
    flag: '-use_fast_math',
    aliases: ['use_fast_math'],
    value: null,
    told: '`-use_fast_math`: fast approximations, flush to zero; only where the error limit still holds',
  },
  {
    flag: '--ftz',
    aliases: ['ftz'],
    value: bool,
    told: '`--ftz=true|false`, `--prec-div=true|false`, `--prec-sqrt=true|false`: the single parts of fast math',
  },
  { flag: '--prec-div', aliases: ['prec-div'], value: bool, told: '' },
  { flag: '--prec-sqrt', aliases: ['prec-sqrt'], value: bool, told: '' },
  { flag: '--fmad', aliases: ['fmad'], value: bool, told: '`--fmad=true|false`: contraction of multiply and add' },
  {
    flag: '-maxrregcount',
    aliases: ['maxrregcount'],
    value: /^(1[6-9]|[2-9]\d|1\d\d|2[0-4]\d|25[0-5])$/,
    told: '`-maxrregcount=N`, N from 16 to 255',
  },
  { flag: '-std', aliases: ['std'], value: /^c\+\+(14|17|20)$/, told: '`-std=c++14|c++17|c++20`' },
  { flag: '-lineinfo', aliases: ['lineinfo', 'generate-line-info'], value: null, told: '`-lineinfo` (always added)' },
  {
    flag: '--restrict',
    aliases: ['restrict'],
    value: null,
    told: '`--restrict`: all pointer parameters of kernels are restrict',
  },
  {
    flag: '--extra-device-vectorization',
    aliases: ['extra-device-vectorization'],
    value: null,
    told: '`--extra-device-vectorization`',
  },
  {
    flag: '--expt-relaxed-constexpr',
    aliases: ['expt-relaxed-constexpr'],
    value: null,
    told: '`--expt-relaxed-constexpr`, `--extended-lambda`: language extensions, if the file needs them',
  },
  { flag: '--extended-lambda', aliases: ['extended-lambda', 'expt-extended-lambda'], value: null, told: '' },
];

/** Options behind `-Xptxas`, matched whole. */
export const ptxasFlags: readonly RegExp[] = [
  /^-v$/,
  /^-O[0-3]$/,
  /^-dlcm=(ca|cg|cv|cs)$/,
  /^-dscm=(wb|cg|cs|wt)$/,
  /^--def-load-cache=(ca|cg|cv|cs)$/,
  /^--def-store-cache=(wb|cg|cs|wt)$/,
  /^--allow-expensive-optimizations=(true|false)$/,
  /^--warn-on-(spills|local-memory-usage|double-precision-use)$/,
];
export const ptxasTold =
  '`-Xptxas=OPTION` with OPTION one of `-O0` … `-O3`, `-dlcm=ca|cg|cv|cs`, `-dscm=wb|cg|cs|wt`, `--allow-expensive-optimizations=true|false`, `-v`';

/** `-DNAME` or `-DNAME=value`. Names with an underscore first, or of the toolkit's or the harness's families, are not free. */
export const defineName = /^(?!_)(?!CM_)(?!CUDA)(?!NV)(?!__)[A-Z][A-Z0-9_]{0,39}$/;
export const defineValue = /^[A-Za-z0-9_.+-]{0,40}$/;
export const defineTold =
  '`-DNAME` or `-DNAME=VALUE`: NAME in capitals, not beginning with `_`, `CM_`, `CUDA` or `NV`; VALUE of letters, digits and `_.+-`';

/** Why a refused option is refused; the first match counts, with its dashes removed. */
export const refusals: readonly (readonly [RegExp, string])[] = [
  [
    /^(arch|gencode|gpu-architecture|gpu-code|code|generate-code|sm_|compute_)/,
    'the application decides the architecture',
  ],
  [
    /^(o|output-file|output-directory|odir|c|ptx|cubin|fatbin|shared|lib|link|dlink|dc|dw|run|keep|keep-dir|save-temps)($|=|\b)/,
    'the application decides what is built',
  ],
  [/^(rdc|relocatable-device-code|dlto|lto)/, 'relocatable device code is not allowed'],
  [
    /^(I|include|isystem|include-path|system-include|imacros|L|l|library|library-path)/,
    'includes and libraries are given by the task',
  ],
  [
    /^(Xcompiler|compiler-options|ccbin|compiler-bindir|Xlinker|linker-options|Xarchive|Xnvlink)/,
    'options for other programs are not allowed',
  ],
  [/^(G|g|device-debug|debug|pg|profile)$/, 'debug builds are not measured'],
  [/^default-stream/, 'the meaning of the default stream is fixed'],
  [/^(options-file|optf|x|threads|t|ftemplate|D|define-macro|U)/, 'not allowed in this form'],
];
