import { type Generator, type Param, type Problem, sizeText, type Task } from '../../contract/index.ts';
import { allocatedBytes, storageBytes, storageOf } from './resolve.ts';

/** Values that are well-formed and cannot be meant: each of them makes a task that cannot be run, or whose checks cannot fail. */
type Report = (path: string, message: string) => void;

/** Largest finite value of each stored format: (2 - 2^(1-p)) 2^127 with p significant bits. */
export const largestFinite = { f32: (2 - 2 ** -23) * 2 ** 127, bf16: (2 - 2 ** -7) * 2 ** 127 } as const;

/**
 * From 2^13 on, c·2^-24 is the unit roundoff of half and TF32 (2^-11): results of that precision are inside of the limit however few
 * terms an output has, so the limit no longer says what it is for. The shipped tasks need 32 at most.
 */
export const mostC = 2 ** 13;
/** Below this the limit of single elements would be ten thousand times the errors there are: guessed, and not measured. */
export const leastRms = 1e-4;
/** The generators draw a level from 32 bits (kernels/harness/problem.h). */
const mostLevels = 2 ** 31;
/** Elements of a buffer, rows and width that the harness takes (kernels/harness/problem.h). */
export const mostElements = 2 ** 40;
const mostRows = 2 ** 31;
/** Memory of the largest GPU there is (NVIDIA B300), bytes: a size beyond it can be run nowhere. */
export const mostGpuBytes = 288e9;
/** An hour of 10^18 operations a second, more than any GPU does in any format. */
const mostFlops = 3.6e21;

/** Longest texts, characters. */
const lengths = { line: 200, prose: 4_000, prompt: 40_000 } as const;

/**
 * What changes how a text is shown, or shows nothing: controls, line and paragraph separators, direction overrides and isolates, invisible
 * characters. The joiners U+200C and U+200D belong to the spelling of several languages. Lines may end as Windows writes them; alone, a
 * carriage return writes over its line.
 */
const invisible = /(?!\r\n|[\n\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/u;

const codePoint = (char: string): string =>
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

function checkText(text: string, path: string, kind: keyof typeof lengths, report: Report): void {
  if (text.trim() === '') report(path, 'expected some text, found none');
  if (text.length > lengths[kind]) report(path, `expected at most ${lengths[kind]} characters, found ${text.length}`);
  const odd = (kind === 'line' ? /[\r\n\t]/.exec(text) : null) ?? invisible.exec(text);
  if (odd)
    report(
      path,
      `expected ${kind === 'line' ? 'one line of ' : ''}text without control or invisible characters, found ${codePoint(odd[0])} at position ${odd.index + 1}`,
    );
}

/** Longest id and C name: they name folders and files, with a stage, a type and a version around them. */
const mostName = 100;
/** Sizes of a set, special inputs, parameters: each one more is minutes of every evaluation. */
const mostListed = 64;

/** Names and lists of a length that a file system and a machine can deal with. */
export function checkCounts(task: Task, report: Report): void {
  const names = [
    ['id', task.id],
    ...task.dims.map((name, index) => [`dims[${index}]`, name] as const),
    ...task.wrapper.params.map(({ name }, index) => [`wrapper.params[${index}].name`, name] as const),
    ...Object.entries(task.wrapper.name).map(([dtype, name]) => [`wrapper.name.${dtype}`, name ?? ''] as const),
    ...task.verifyInputs.map(({ id }, index) => [`verifyInputs[${index}].id`, id] as const),
  ] as const;
  for (const [path, name] of names)
    if (name.length > mostName) report(path, `expected at most ${mostName} characters, found ${name.length}`);
  const lists = [
    ['dims', task.dims],
    ['wrapper.params', task.wrapper.params],
    ['sizes.published', task.sizes.published],
    ['sizes.large', task.sizes.large],
    ['sizes.verify.always', task.sizes.verify.always],
    ['verifyInputs', task.verifyInputs],
  ] as const;
  for (const [path, { length }] of lists)
    if (length > mostListed) report(path, `expected at most ${mostListed}, found ${length}`);
}

/** Texts that lists, reports and prompts show. */
export function checkTexts(task: Task, report: Report): void {
  checkText(task.title, 'title', 'line', report);
  checkText(task.prompt, 'prompt', 'prompt', report);
  checkText(task.persist, 'persist', 'prose', report);
  if (task.sizes.largeNote !== undefined) checkText(task.sizes.largeNote, 'sizes.largeNote', 'prose', report);
  task.verifyInputs.forEach((input, index) => {
    checkText(input.why, `verifyInputs[${index}].why`, 'prose', report);
  });
  for (const [dtype, list] of Object.entries(task.tolerance))
    list?.forEach((tolerance, index) => {
      checkText(tolerance.evidence, `tolerance.${dtype}[${index}].evidence`, 'prose', report);
    });
  task.deviations.forEach((deviation, index) => {
    for (const key of ['published', 'ours', 'reason'] as const)
      checkText(deviation[key], `deviations[${index}].${key}`, 'prose', report);
  });
}

/** Bounds that the formats in which a parameter is stored can hold, and that are two values there. The generators work in double. */
export function checkBounds(g: Generator, param: Param, path: string, task: Task, report: Report): void {
  if (g.kind === 'levels' && g.levels > mostLevels)
    report(`${path}.levels`, `expected at most 2^31 levels, found ${g.levels}`);
  if ((g.kind !== 'uniform' && g.kind !== 'levels') || param.role === 'scalar') return;
  const storages = task.dtypes.map((dtype) => storageOf(param.elem, dtype));
  const storage = storages.includes('bf16') ? 'bf16' : 'f32';
  const most = largestFinite[storage];
  let inside = true;
  for (const key of ['lo', 'hi'] as const) {
    if (Math.abs(g[key]) <= most) continue;
    inside = false;
    report(`${path}.${key}`, `expected a value that ${storage} can hold (${-most} to ${most}), found ${g[key]}`);
  }
  const several = g.kind === 'uniform' || g.levels > 1;
  if (inside && several && g.lo < g.hi && Math.fround(g.lo) === Math.fround(g.hi))
    report(path, `expected lo and hi that differ in fp32, found ${g.lo} and ${g.hi}, which are one value there`);
}

/** A limit that nothing can miss, or nothing can keep, proves nothing. */
export function checkLimit(limit: { readonly c: number; readonly rms: number }, path: string, report: Report): void {
  if (!(limit.c < mostC))
    report(
      `${path}.c`,
      `expected less than ${mostC}, from where results in half precision pass for results in fp32, found ${limit.c}`,
    );
  if (!(limit.rms <= 1)) report(`${path}.rms`, `expected at most 1 (which binds nothing), found ${limit.rms}`);
  else if (limit.rms < leastRms) report(`${path}.rms`, `expected ${leastRms} to 1, found ${limit.rms}`);
}

/** A number of bytes for people: "1.2 TB". */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  let [value, unit] = [bytes, 0];
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  if (value >= 1e6) return `${value.toExponential(1)} ${units[unit]}`;
  return unit === 0 ? `${value} bytes` : `${value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}

/**
 * What a size needs, against what can be run anywhere: elements and rows that the harness counts, memory of the largest GPU, scalars of
 * their type; and figures that the buffers bear out.
 */
export function checkProblem(problem: Problem, figures: Figures, path: string, report: Report): void {
  for (const { name, count, generator: g } of problem.buffers) {
    if (count > mostElements)
      report(path, `buffer "${name}" has ${count.toExponential(2)} elements, expected at most 2^40`);
    if (g?.kind === 'ell' && (g.rows > mostRows || g.width > mostRows))
      report(path, `buffer "${name}": expected at most 2^31 rows and places a row, found ${g.rows} and ${g.width}`);
  }
  const bytes = allocatedBytes(problem);
  if (bytes > mostGpuBytes)
    report(path, `the buffers need ${bytesText(bytes)}, expected at most ${bytesText(mostGpuBytes)}: no GPU has more`);
  problem.args.forEach((arg, index) => {
    if (arg.kind !== 'float' && arg.kind !== 'bf16') return;
    const most = largestFinite[arg.kind === 'float' ? 'f32' : 'bf16'];
    if (Math.abs(arg.value) > most)
      report(
        `wrapper.params[${index}].value`,
        `expected a value that ${arg.kind} can hold (${-most} to ${most}), found ${arg.value}`,
      );
  });
  // Floors are made of the sizes that are scored; at an edge of one element a formula may be off by one.
  if (/^sizes\.(published|large)/.test(path)) checkFigures(problem, figures, report);
}

export interface Figures {
  readonly flops: number;
  readonly bytes: { readonly read: number; readonly write: number };
}

/** Every byte of a buffer needs to be moved once at most; figures beyond that make a physical floor that no kernel can reach. */
function checkFigures(problem: Problem, { flops, bytes }: Figures, report: Report): void {
  const size = sizeText(problem.dims);
  if (flops > mostFlops) report('flops', `expected at most ${mostFlops} operations, found ${flops} at ${size}`);
  const held = (without: 'in' | 'out'): number =>
    problem.buffers
      .filter((buffer) => buffer.role !== without)
      .reduce((sum, { count, elem }) => sum + count * storageBytes(elem), 0);
  for (const [side, what, all] of [
    ['read', 'inputs', held('out')],
    ['write', 'outputs', held('in')],
  ] as const)
    if (bytes[side] > all * (1 + 1e-9))
      report(`bytes.${side}`, `expected at most the ${all} bytes of all ${what} at ${size}, found ${bytes[side]}`);
}
