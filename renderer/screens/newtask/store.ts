/** What is written on this screen: kept while the user looks elsewhere, and over a reload, until it is added or discarded. */
import { create } from 'zustand';
import type { AddedTask, DraftView, OwnTaskFile, OwnTaskTexts } from '../../../main/contract/own-task.ts';
import { ownTaskFileLimit, ownTaskFiles } from '../../../main/contract/own-task.ts';
import type { AppError } from '../../../main/contract/result.ts';
import type { Protocol } from '../../api/protocol.ts';
import { remember, remembered, toast } from '../../state/shell.ts';
import {
  draftOptions,
  type EditedFiles,
  emptyForm,
  type Form,
  type FormFile,
  filesToAdd,
  refusedFile,
} from './model.ts';

/** A new task: source, form, and what was written over the form's files. */
export interface Fresh {
  readonly source: string;
  readonly form: Form;
  readonly edited: EditedFiles;
  /** The user has asked for the task: what is missing is said at its field. */
  readonly tried: boolean;
}

/** A task that is changed: its files as they were read and as they stand. */
export interface Change {
  readonly loaded: OwnTaskTexts;
  readonly texts: OwnTaskTexts;
}

/** One check under way or the last one that failed. */
export interface Check {
  readonly abort: AbortController | null;
  readonly note: string;
  readonly error: AppError | null;
  /** What was checked: a line of the error is shown while its file is still that text. */
  readonly files: OwnTaskTexts;
}

interface State {
  readonly fresh: Fresh;
  /** What the engine made of source and form. */
  readonly view: DraftView | null;
  /** What `view` answers. */
  readonly asked: string;
  readonly changes: Readonly<Record<string, Change>>;
  /** By task; a new one under ''. */
  readonly checks: Readonly<Record<string, Check>>;
  set(change: Partial<Fresh>): void;
  setForm(change: Partial<Form>): void;
  edit(file: FormFile, text: string): void;
  /** The form's own text again. */
  regenerate(file: FormFile): void;
  startOver(): void;
  load(task: string, files: OwnTaskTexts): void;
  change(task: string, file: OwnTaskFile, text: string): void;
  /** The files as they were read. */
  revert(task: string): void;
  /** Nothing of it is kept. */
  discard(task: string): void;
}

const emptyFresh: Fresh = { source: '', form: emptyForm, edited: {}, tried: false };
const key = 'newtask';

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const allTexts = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).every((v) => typeof v === 'string');

function formFrom(value: unknown): Form | null {
  if (!isRecord(value)) return null;
  const texts = (['wrapper', 'id', 'title', 'prompt', 'flops'] as const).every((f) => typeof value[f] === 'string');
  const dims = value.dims === null || typeof value.dims === 'string';
  const records = allTexts(value.counts) && allTexts(value.values);
  const sizes = Array.isArray(value.sizes) && value.sizes.every(allTexts);
  const inout = Array.isArray(value.inout) && value.inout.every((name) => typeof name === 'string');
  const ints = isRecord(value.ints) && Object.values(value.ints).every(allTexts);
  return texts && dims && records && sizes && inout && ints ? (value as unknown as Form) : null;
}

/** What was kept; anything else than that is as if nothing had been. */
export function restored(text: string | null): Pick<State, 'fresh' | 'changes'> {
  const nothing = { fresh: emptyFresh, changes: {} };
  try {
    const value = JSON.parse(text ?? '') as unknown;
    if (!isRecord(value) || !isRecord(value.fresh) || !isRecord(value.changes)) return nothing;
    const form = formFrom(value.fresh.form);
    const { source, edited } = value.fresh;
    const changes = Object.values(value.changes);
    if (form === null || typeof source !== 'string' || !isRecord(edited)) return nothing;
    if (!Object.values(edited).every(allTexts)) return nothing;
    if (!changes.every((c) => isRecord(c) && allTexts(c.loaded) && allTexts(c.texts))) return nothing;
    const fresh: Fresh = { source, form, edited: edited as EditedFiles, tried: false };
    return { fresh, changes: value.changes as unknown as Record<string, Change> };
  } catch {
    return nothing;
  }
}

const without = <T>(record: Readonly<Record<string, T>>, name: string): Record<string, T> =>
  Object.fromEntries(Object.entries(record).filter(([other]) => other !== name));

const changed = ({ loaded, texts }: Change): boolean => ownTaskFiles.some((file) => loaded[file] !== texts[file]);
export const isChanged = (change: Change | undefined): boolean => change !== undefined && changed(change);

export const useTasks = create<State>((set) => ({
  ...restored(remembered(key)),
  view: null,
  asked: '',
  checks: {},
  set: (change) => set(({ fresh }) => ({ fresh: { ...fresh, ...change } })),
  setForm: (change) => set(({ fresh }) => ({ fresh: { ...fresh, form: { ...fresh.form, ...change } } })),
  edit: (file, text) =>
    set(({ fresh, view }) => {
      const base = fresh.edited[file]?.base ?? view?.files?.[file] ?? '';
      const edited = text === base ? without(fresh.edited, file) : { ...fresh.edited, [file]: { text, base } };
      return { fresh: { ...fresh, edited } };
    }),
  regenerate: (file) => set(({ fresh }) => ({ fresh: { ...fresh, edited: without(fresh.edited, file) } })),
  startOver: () => set(({ checks }) => ({ fresh: emptyFresh, view: null, asked: '', checks: without(checks, '') })),
  load: (task, files) =>
    set(({ changes }) => {
      const before = changes[task];
      const texts = before !== undefined && changed(before) ? before.texts : files;
      return { changes: { ...changes, [task]: { loaded: files, texts } } };
    }),
  change: (task, file, text) =>
    set(({ changes }) => {
      const before = changes[task];
      if (before === undefined) return {};
      return { changes: { ...changes, [task]: { ...before, texts: { ...before.texts, [file]: text } } } };
    }),
  revert: (task) =>
    set(({ changes, checks }) => {
      const before = changes[task];
      if (before === undefined) return {};
      return { changes: { ...changes, [task]: { ...before, texts: before.loaded } }, checks: without(checks, task) };
    }),
  discard: (task) => set(({ changes, checks }) => ({ changes: without(changes, task), checks: without(checks, task) })),
}));

let timer: ReturnType<typeof setTimeout> | undefined;
useTasks.subscribe(({ fresh, changes }, before) => {
  if (fresh === before.fresh && changes === before.changes) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    // Files as they were read need no keeping.
    const kept = Object.fromEntries(Object.entries(changes).filter(([, change]) => changed(change)));
    remember(key, JSON.stringify({ fresh, changes: kept }));
  }, 400);
});

/** The answer decides which fields count, so that a changed source is asked about again: it settles in two or three turns. */
const mostTurns = 5;

/** Brings `view` up to date with source and form. Gives back why that was not possible. */
export async function askDraft(api: Protocol, signal?: AbortSignal): Promise<AppError | null> {
  for (let turn = 0; turn < mostTurns; turn++) {
    const { fresh, view, asked } = useTasks.getState();
    const { source, form } = fresh;
    if (source.trim() === '') {
      useTasks.setState({ view: null, asked: '' });
      return null;
    }
    const refused = refusedFile(source.length, source, ownTaskFileLimit);
    if (refused !== null) {
      useTasks.setState({ view: null, asked: '' });
      return { code: 'input.file', message: 'This source is not taken.', remedy: refused };
    }
    const options = draftOptions(form, view);
    const question = JSON.stringify([source, options]);
    if (question === asked) return null;
    const answer = await api.call('tasks.draft', { source, options }, signal);
    if (signal?.aborted) return null;
    if (!answer.ok) return answer.error;
    useTasks.setState({ view: answer.value, asked: question });
  }
  return null;
}

const setCheck = (task: string, check: Check | null): void =>
  useTasks.setState(({ checks }) => ({
    checks: check === null ? without(checks, task) : { ...checks, [task]: check },
  }));

const sameTexts = (a: OwnTaskTexts | null | undefined, b: OwnTaskTexts): boolean =>
  a != null && ownTaskFiles.every((file) => a[file] === b[file]);

/** What is written still is what was added. A form that was changed after the last answer is another one, whatever that answer says. */
function isStill(task: string, added: OwnTaskTexts): boolean {
  const { fresh, view, asked, changes } = useTasks.getState();
  if (task !== '') return sameTexts(changes[task]?.texts, added);
  const answered = JSON.stringify([fresh.source, draftOptions(fresh.form, view)]) === asked;
  return answered && sameTexts(filesToAdd(fresh.source, fresh.edited, view), added);
}

/** Drops what was added; what was written while it was checked stays. Gives back whether something did. */
function keepNewer(task: string, files: OwnTaskTexts, added: string): boolean {
  const { fresh, changes, startOver, discard } = useTasks.getState();
  if (isStill(task, files)) {
    if (task === '') startOver();
    else discard(task);
    return false;
  }
  if (task === '') return fresh.source !== '' || Object.keys(fresh.edited).length > 0;
  const newer = changes[task];
  if (newer === undefined) return false;
  // Under another id the files of this task are as they were.
  if (added === task) useTasks.setState({ changes: { ...changes, [task]: { ...newer, loaded: files } } });
  return true;
}

export interface Added {
  readonly task: string;
  /** What was written while it was checked is still on the screen. */
  readonly newer: boolean;
}

/**
 * Checks files and takes them in; goes on when the user looks elsewhere, and loses nothing that is written meanwhile. Gives back null
 * where it was refused.
 * @param task that is changed; '' for a new one.
 */
export async function checkAndAdd(
  api: Pick<Protocol, 'call'>,
  task: string,
  files: OwnTaskTexts,
  replace: boolean,
): Promise<Added | null> {
  if (useTasks.getState().checks[task]?.abort) return null;
  const abort = new AbortController();
  const at = (note: string): void => setCheck(task, { abort, note, error: null, files });
  at('Checking every field.');
  const answer = await api.call('tasks.add', { files, replace }, abort.signal, at);
  if (!answer.ok) {
    const cancelled = answer.error.code === 'cancelled';
    setCheck(task, cancelled ? null : { abort: null, note: '', error: answer.error, files });
    return null;
  }
  setCheck(task, null);
  const newer = keepNewer(task, files, answer.value.task);
  const detail = whatWasDone(answer.value);
  const kept = 'What you wrote since then is still here and not part of it: check and add it again to replace it.';
  toast(`${answer.value.task} is in the list of kernels.`, {
    tone: 'good',
    detail: newer ? `${detail} ${kept}` : detail,
  });
  for (const note of answer.value.notes) toast(note);
  return { task: answer.value.task, newer };
}

function whatWasDone({ compiled, replaced }: AddedTask): string {
  const tried = compiled.map(({ file, state, why }) => `${file} ${state}${why === '' ? '' : ` (${why})`}`).join(', ');
  return replaced ? `${tried}. The former files are kept aside.` : `${tried}.`;
}
