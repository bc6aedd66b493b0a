/** A task from the user's own kernel: the form as text, turned into the options of `tasks.draft`, and its answer at the fields. Pure. */
import type {
  DraftFault,
  DraftField,
  DraftOptions,
  DraftParam,
  DraftView,
  OwnTaskFile,
  OwnTaskTexts,
} from '../../../main/contract/own-task.ts';

export interface Range {
  readonly lo: string;
  readonly hi: string;
}

type Texts = Readonly<Record<string, string>>;

/** What is typed. Texts of parameters and dimensions that are gone are kept: they may come back with the next edit of the source. */
export interface Form {
  /** Chosen of several; '': none chosen. */
  readonly wrapper: string;
  readonly id: string;
  readonly title: string;
  readonly prompt: string;
  /** "N, M"; null: as the wrapper's integers suggest. */
  readonly dims: string | null;
  /** A size for each row: dimension → number. */
  readonly sizes: readonly Texts[];
  readonly counts: Texts;
  readonly values: Texts;
  readonly inout: readonly string[];
  readonly ints: Readonly<Record<string, Range>>;
  readonly flops: string;
}

export const emptyForm: Form = {
  wrapper: '',
  id: '',
  title: '',
  prompt: '',
  dims: null,
  sizes: [{}],
  counts: {},
  values: {},
  inout: [],
  ints: {},
  flops: '',
};

const isWhole = ({ role, type }: DraftParam): boolean => role === 'scalar' && (type === 'int' || type === 'long');

/** Integers of a wrapper are its dimensions, until the user says otherwise. */
export const suggestedDims = (view: DraftView | null): readonly string[] =>
  (view?.parameters ?? []).filter(isWhole).map(({ name }) => name);

export function dimsOf(form: Form, view: DraftView | null): readonly string[] {
  if (form.dims === null) return suggestedDims(view);
  return form.dims.split(/[\s,]+/).filter((name) => name !== '');
}

/** Own property: a parameter may be named `constructor`. */
export const textOf = (texts: Texts, name: string): string => (Object.hasOwn(texts, name) ? (texts[name] ?? '') : '');

/** Texts of those names that were given; blanks are not given. */
function given(texts: Texts, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, textOf(texts, name).trim()]).filter(([, text]) => text !== ''));
}

export const rangeOf = (form: Form, name: string): Range =>
  Object.hasOwn(form.ints, name) ? (form.ints[name] as Range) : { lo: '', hi: '' };

/**
 * Options of the next draft. What the last answer knows of the source decides which fields count: a source that has changed meanwhile is
 * asked about twice.
 */
export function draftOptions(form: Form, view: DraftView | null): DraftOptions {
  const params = view?.parameters ?? [];
  const named = (of: (param: DraftParam) => boolean): string[] => params.filter(of).map(({ name }) => name);
  const dims = dimsOf(form, view);
  const ranges = named((param) => param.range !== null).map((name) => [name, rangeOf(form, name)] as const);
  const wanted = view === null || view.wrappers.includes(form.wrapper) ? form.wrapper : '';
  const optional = (text: string): string | undefined => text.trim() || undefined;
  return {
    wrapper: optional(wanted),
    id: optional(form.id),
    title: optional(form.title),
    prompt: optional(form.prompt),
    counts: given(
      form.counts,
      named(({ role }) => role !== 'scalar'),
    ),
    values: given(
      form.values,
      named(({ role }) => role === 'scalar'),
    ),
    inout: named((param) => param.mayRead && form.inout.includes(param.name)),
    ints: Object.fromEntries(
      ranges
        .filter(([, { lo, hi }]) => `${lo}${hi}`.trim() !== '')
        .map(([name, { lo, hi }]) => [name, `${lo.trim()}:${hi.trim()}`]),
    ),
    sizes:
      dims.length === 0
        ? []
        : form.sizes.map((size) => dims.map((name) => `${name}=${textOf(size, name).trim()}`).join(',')),
    flops: optional(form.flops),
  };
}

export const faultAt = (view: DraftView | null, field: DraftField, name: string | null = null): DraftFault | null =>
  view?.faults.find((fault) => fault.field === field && fault.name === name) ?? null;

/** Text under a field: what is wrong and what to do. What is only missing is said once the user has asked for the task. */
export function errorText(fault: DraftFault | null, tried: boolean): string | null {
  if (fault === null || (fault.missing && !tried)) return null;
  return fault.remedy === null ? fault.message : `${fault.message} ${fault.remedy}`;
}

const isNumber = (text: string): boolean => /^\d+$/.test(text.trim());

/** Cells of a size's row that its fault is about: those that hold no number, or all. */
export function wrongCells(size: Texts, dims: readonly string[], fault: DraftFault | null): readonly string[] {
  if (fault === null) return [];
  const bad = dims.filter((name) => !isNumber(textOf(size, name)));
  return bad.length > 0 ? bad : dims;
}

/** "input, N elements": what the engine makes of a parameter. */
export function understoodText({ role, expression, range }: DraftParam): string {
  if (role === 'scalar') return expression === null ? 'scalar, its value is not known yet' : `scalar, ${expression}`;
  const what = { in: 'input', inout: 'read and overwritten', out: 'output, not read' }[role];
  const many = expression === null ? 'number of elements not known yet' : `${expression} elements`;
  const values = range === null ? '' : range === '' ? ', range of the integers not known yet' : `, integers ${range}`;
  return `${what}, ${many}${values}`;
}

/** Where everything stands, in a line. */
export function summaryText(source: string, edited: EditedFiles, view: DraftView | null): string {
  if (source.trim() === '') return 'Paste, drop or choose a .cu first.';
  if (view === null) return 'Reading the source …';
  const wrong = view.faults.filter((fault) => !fault.missing).length;
  const missing = view.faults.length - wrong;
  if (wrong + missing === 0)
    return edited['reference.h'] === undefined
      ? 'The form is complete. What is left is reference.h.'
      : 'Complete: check and add it.';
  const parts = [
    ...(missing > 0 ? [`${missing} ${missing === 1 ? 'field is' : 'fields are'} still needed`] : []),
    ...(wrong > 0 ? [`${wrong} ${wrong === 1 ? 'needs' : 'need'} a look`] : []),
  ];
  return `${parts.join(', ')}.`;
}

/** Files that the form writes and the user may write on. */
export type FormFile = 'reference.h' | 'task.json';
export const formFiles: readonly FormFile[] = ['reference.h', 'task.json'];

export interface Edited {
  readonly text: string;
  /** What the form had written when the edit began. */
  readonly base: string;
}
export type EditedFiles = Readonly<Partial<Record<FormFile, Edited>>>;

/** A file as it stands now; null: the form is not complete and it was never edited. */
export const fileText = (file: FormFile, edited: EditedFiles, view: DraftView | null): string | null =>
  edited[file]?.text ?? view?.files?.[file] ?? null;

/** The user's text was made from another form than the one that stands there now. */
export const isOutdated = (file: FormFile, edited: EditedFiles, view: DraftView | null): boolean => {
  const now = view?.files?.[file];
  const own = edited[file];
  return own !== undefined && now !== undefined && own.base !== now;
};

/** Files to be checked and added; null: the form is not complete, and what was edited does not stand for it. */
export function filesToAdd(source: string, edited: EditedFiles, view: DraftView | null): OwnTaskTexts | null {
  if (view === null || view.dtype === null) return null;
  const json = fileText('task.json', edited, view);
  const reference = fileText('reference.h', edited, view);
  // task.json by hand: the form's fields no longer decide.
  if (json === null || reference === null || (view.files === null && edited['task.json'] === undefined)) return null;
  return { 'task.json': json, [`origin.${view.dtype}.cu`]: source, 'reference.h': reference };
}

/** Id that a task.json gives; null: none can be read, which the check will say. */
export function idIn(json: string | undefined): string | null {
  try {
    const { id } = JSON.parse(json ?? '') as { id?: unknown };
    return typeof id === 'string' ? id : null;
  } catch {
    return null;
  }
}

/** Data type of the first origin. */
export const dtypeIn = (files: OwnTaskTexts): 'fp32' | 'bf16' =>
  files['origin.fp32.cu'] === undefined ? 'bf16' : 'fp32';

const about: Readonly<Record<OwnTaskFile, string>> = {
  'task.json':
    'Everything the form says, and more: sizes, extra verification inputs, error limits, what is told to the agents.',
  'origin.fp32.cu': 'Your kernel in FP32, as it is now. Every version is measured against it.',
  'origin.bf16.cu': 'Your kernel in BF16, as it is now. Every version is measured against it.',
  'reference.h':
    'Says what is right: every output element in double, from the definition. Every version, and your kernel itself, is compared with it.',
  'library.cu': 'A vendor library’s answer to the same task, measured beside it.',
};
export const aboutFile = (file: OwnTaskFile): string => about[file];

/** Why a text is no source, in size or kind; null: it is taken. */
export function refusedFile(size: number, text: string, limit: number): string | null {
  if (size > limit) return `It has ${size} characters; a kernel of at most ${limit} is taken.`;
  if (text.includes('\0')) return 'It is not a text.';
  return null;
}
