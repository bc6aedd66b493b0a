import { z } from 'zod';
import type { AppError } from './result.ts';
import type { Dtype } from './task.ts';

/** A task made from the user's own kernel, as form, command line and API speak of it. */

/** Files of a task, all texts. The names are fixed: nothing else is read, written or taken from a client. */
export const ownTaskFiles = ['task.json', 'origin.fp32.cu', 'origin.bf16.cu', 'reference.h', 'library.cu'] as const;
export type OwnTaskFile = (typeof ownTaskFiles)[number];
export type OwnTaskTexts = Readonly<Partial<Record<OwnTaskFile, string>>>;

/** Longest file of a task, characters: a kernel, not a data file. All of them fit a message of the API. */
export const ownTaskFileLimit = 1 << 20;
/** Sizes of a task that a form offers. */
export const draftSizeLimit = 64;

export const ownTaskTextSchema = z.string().max(ownTaskFileLimit);
export const ownTaskTextsSchema = z.partialRecord(z.enum(ownTaskFiles), ownTaskTextSchema);

const cName = z.string().max(200);
/** Far above what an expression or a name may have: the check that names the field refuses longer ones. */
const typed = z.string().max(4000);

/** DraftOptions as a client sends them. */
export const draftOptionsSchema = z.strictObject({
  wrapper: cName.optional(),
  id: typed.optional(),
  title: typed.optional(),
  prompt: z.string().max(100_000).optional(),
  counts: z.record(cName, typed),
  values: z.record(cName, typed),
  inout: z.array(cName).max(64).readonly(),
  ints: z.record(cName, typed),
  sizes: z.array(typed).max(draftSizeLimit).readonly(),
  flops: typed.optional(),
});

/** What a draft needs besides the source; parameters and dimensions by their C names, expressions over dimensions. */
export interface DraftOptions {
  /** C name; needed when the source has several extern "C" void functions. */
  readonly wrapper?: string;
  /** Default: the wrapper's name. */
  readonly id?: string;
  readonly title?: string;
  /** Mathematical definition told to the agents. */
  readonly prompt?: string;
  /** Pointer parameter → number of its elements. */
  readonly counts: Readonly<Record<string, string>>;
  /** Scalar parameter → its value; default for int and long: the dimension of its own name. */
  readonly values: Readonly<Record<string, string>>;
  /** Pointers that are read and written. */
  readonly inout: readonly string[];
  /** int pointer that is read → "LO:HI", HI exclusive. */
  readonly ints: Readonly<Record<string, string>>;
  /** "N=1024,M=64", at least one; each names all dimensions. */
  readonly sizes: readonly string[];
  /** Least floating-point operations of a call. */
  readonly flops?: string;
}

/** Where a fault of a draft stands: an option of its own name, the source, or what came of all of them together. */
export type DraftField = keyof DraftOptions | 'source' | 'task';

export interface DraftFault {
  readonly field: DraftField;
  /** The parameter; of `sizes` the number of the size, from 0. null: the field as a whole. */
  readonly name: string | null;
  readonly message: string;
  readonly remedy: string | null;
  /** Nothing is wrong yet: the field has to be filled in. */
  readonly missing: boolean;
}

/** A parameter of the wrapper, as it was understood. */
export interface DraftParam {
  readonly name: string;
  /** C type without top-level const and restrict. */
  readonly type: string;
  readonly role: 'in' | 'inout' | 'out' | 'scalar';
  /** Elements of a buffer, value of a scalar; null: not said yet. */
  readonly expression: string | null;
  /** A pointer without const: it may be read as well. */
  readonly mayRead: boolean;
  /** "LO:HI" of an int buffer that is read; '' = not said yet, null = it needs none. */
  readonly range: string | null;
}

/** A source as far as it is understood, and everything that is wrong or missing, each at its field. */
export interface DraftView {
  /** Functions of the source that could be optimized. */
  readonly wrappers: readonly string[];
  /** The one that is; null: none, or none chosen. */
  readonly wrapper: string | null;
  readonly dtype: Dtype | null;
  readonly dims: readonly string[];
  readonly parameters: readonly DraftParam[];
  readonly faults: readonly DraftFault[];
  /** null while there are faults. */
  readonly files: OwnTaskTexts | null;
}

/** A file of the task, and what its compiler said. */
export interface CompiledFile {
  readonly file: string;
  readonly dtype: Dtype;
  readonly state: 'compiles' | 'fails' | 'not tried';
  /** What is wrong, or why it was not tried; "" where nothing is to be said. */
  readonly why: string;
  /** All that the compiler said, where it failed. */
  readonly detail?: string;
}

export interface AddedTask {
  readonly task: string;
  readonly dtypes: readonly Dtype[];
  readonly compiled: readonly CompiledFile[];
  /** A task of this id was there; its files are kept aside. */
  readonly replaced: boolean;
  /** Worth knowing, though the task can be used: what looks odd in its reference, sizes that this machine cannot run. */
  readonly notes: readonly string[];
}

export interface OwnTaskView {
  readonly task: string;
  readonly files: OwnTaskTexts;
  /** Why it cannot be used as it is; null = usable. */
  readonly fault: AppError | null;
}
