import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test, vi } from 'vitest';
import { type DraftFault, type DraftParam, type DraftView, type OwnTaskTexts, ok } from '../../main/contract/index.ts';
import { viewDraft } from '../../main/evaluate/task/index.ts';
import { ApiContext } from '../../renderer/api/client.ts';
import { Protocol } from '../../renderer/api/protocol.ts';
import Screen from '../../renderer/screens/newtask/index.tsx';
import {
  dimsOf,
  draftOptions,
  dtypeIn,
  emptyForm,
  errorText,
  type Form,
  faultAt,
  filesToAdd,
  fileText,
  idIn,
  isOutdated,
  refusedFile,
  summaryText,
  understoodText,
  wrongCells,
} from '../../renderer/screens/newtask/model.ts';
import { askDraft, checkAndAdd, restored, useTasks } from '../../renderer/screens/newtask/store.ts';

const source = `extern "C" void axpy(const float* x, float* y, const int* idx, float a, int n, int m) {
}
extern "C" void other(float* y, int k) {
}
`;

/** Asks as the screen does: again, until the answer changes nothing any more. Gives back the answers. */
function asked(text: string, form: Form, first: DraftView | null = null): DraftView[] {
  const views: DraftView[] = [];
  let before = '';
  for (let view = first; ; view = views.at(-1) ?? null) {
    const options = draftOptions(form, view);
    if (JSON.stringify(options) === before) return views;
    before = JSON.stringify(options);
    views.push(viewDraft(text, options));
    if (views.length > 5) throw new Error('does not settle');
  }
}
const settled = (form: Form, text = source): DraftView => asked(text, form).at(-1) as DraftView;
const places = (view: DraftView): string[] => view.faults.map(({ field, name }) => `${field} ${name}`).sort();

const whole: Form = {
  ...emptyForm,
  wrapper: 'axpy',
  sizes: [{ n: '1024', m: '8' }],
  counts: { x: 'n*m', y: 'n', idx: 'n' },
  values: { a: '0.5' },
  ints: { idx: { lo: '0', hi: 'n' } },
  flops: '2*n*m',
};

describe('the form and the engine', () => {
  test('nothing typed: the wrapper is asked for first, then everything else, with what the source suggests', () => {
    const unchosen = settled(emptyForm);
    expect(unchosen.wrappers).toEqual(['axpy', 'other']);
    expect(places(unchosen)).toEqual(['wrapper null']);
    const chosen = settled({ ...emptyForm, wrapper: 'axpy' });
    expect(dimsOf(emptyForm, chosen)).toEqual(['n', 'm']);
    expect(places(chosen)).toEqual(
      ['counts idx', 'counts x', 'counts y', 'flops null', 'ints idx', 'sizes 0', 'values a'].sort(),
    );
    expect(chosen.faults.every(({ missing }) => missing)).toBe(true);
  });

  test('filled in it is whole, and settles in three questions', () => {
    const views = asked(source, whole);
    expect(views.length).toBeLessThanOrEqual(3);
    expect(views.at(-1)?.faults).toEqual([]);
    expect(Object.keys(views.at(-1)?.files ?? {})).toEqual(['task.json', 'origin.fp32.cu', 'reference.h']);
  });

  test('a wrong count stands at its field', () => {
    const view = settled({ ...whole, counts: { ...whole.counts, x: 'n*q' } });
    const fault = faultAt(view, 'counts', 'x');
    expect(errorText(fault, false)).toMatch(/^q is no dimension \(n, m are\)\. Expressions know n, m/);
    expect(faultAt(view, 'counts', 'y')).toBeNull();
  });

  test('texts of parameters that are gone wait for them', () => {
    const renamed = source.replaceAll('* x', '* z');
    const known = settled(whole);
    const views = asked(renamed, whole, known);
    expect(places(views.at(-1) as DraftView)).toEqual(['counts z']);
    expect(asked(source, whole, views.at(-1)).at(-1)?.faults).toEqual([]);
    // A chosen wrapper that is no longer there is as if none had been chosen; what was said in n stands for y still, and is told.
    const other = asked('extern "C" void f(float* y, int k) {\n}\n', whole, known).at(-1) as DraftView;
    expect(other.wrapper).toBe('f');
    expect(places(other)).toEqual(['counts y', 'flops null', 'sizes 0']);
  });

  test('dimensions by hand, blanks and commas, several sizes', () => {
    const form: Form = { ...whole, dims: ' n , m ', sizes: [{ n: '1', m: '2' }, { n: '3' }] };
    expect(draftOptions(form, settled(form)).sizes).toEqual(['n=1,m=2', 'n=3,m=']);
    expect(errorText(faultAt(settled(form), 'sizes', '1'), false)).toBeNull();
    expect(errorText(faultAt(settled(form), 'sizes', '1'), true)).toMatch(/^m is needed\./);
    const wrong = { ...form, sizes: [{ n: '1', m: 'x' }] };
    const fault = faultAt(settled(wrong), 'sizes', '0');
    expect(errorText(fault, false)).toMatch(/^m is "x", not a whole number\./);
    expect(wrongCells(wrong.sizes[0] ?? {}, ['n', 'm'], fault)).toEqual(['m']);
    expect(wrongCells({ n: '1', m: '2' }, ['n', 'm'], fault)).toEqual(['n', 'm']);
  });

  test('parameters with names of the language’s own', () => {
    const text = 'extern "C" void f(const float* constructor, float* toString, int n) {\n}\n';
    expect(places(settled({ ...emptyForm, sizes: [{ n: '8' }], flops: '0' }, text))).toEqual([]);
  });

  test('an int buffer that is read as well gets a range', () => {
    const text = 'extern "C" void f(int* y, int n) {\n}\n';
    const form = { ...emptyForm, sizes: [{ n: '8' }], flops: '0', ints: { y: { lo: '0', hi: 'n' } } };
    expect(places(settled(form, text))).toEqual([]);
    const both = settled({ ...form, inout: ['y'] }, text);
    expect(places(both)).toEqual([]);
    expect(both.parameters[0]).toMatchObject({ role: 'inout', range: '0:n' });
  });
});

describe('what is shown', () => {
  const param = (more: Partial<DraftParam>): DraftParam => ({
    ...{ name: 'x', type: 'float*', role: 'out', expression: 'n', mayRead: true, range: null },
    ...more,
  });
  test.each<[Partial<DraftParam>, string]>([
    [{}, 'output, not read, n elements'],
    [{ role: 'in' }, 'input, n elements'],
    [{ role: 'inout', expression: null }, 'read and overwritten, number of elements not known yet'],
    [{ role: 'in', range: '0:n' }, 'input, n elements, integers 0:n'],
    [{ role: 'in', range: '' }, 'input, n elements, range of the integers not known yet'],
    [{ role: 'scalar', expression: '0.5' }, 'scalar, 0.5'],
    [{ role: 'scalar', expression: null }, 'scalar, its value is not known yet'],
  ])('%j', (more, text) => expect(understoodText(param(more))).toBe(text));

  test('missing is an error only once it was asked for', () => {
    const fault: DraftFault = { field: 'flops', name: null, message: 'Needed.', remedy: 'Say it.', missing: true };
    expect(errorText(fault, false)).toBeNull();
    expect(errorText(fault, true)).toBe('Needed. Say it.');
    expect(errorText({ ...fault, missing: false, remedy: null }, false)).toBe('Needed.');
    expect(errorText(null, true)).toBeNull();
  });

  test('the line that says where everything stands', () => {
    expect(summaryText('', {}, null)).toMatch(/^Paste/);
    expect(summaryText('x', {}, null)).toMatch(/^Reading/);
    expect(summaryText(source, {}, settled({ ...whole, flops: '' }))).toBe('1 field is still needed.');
    expect(summaryText(source, {}, settled({ ...whole, flops: 'q', values: {} }))).toBe(
      '1 field is still needed, 1 needs a look.',
    );
    expect(summaryText(source, {}, settled(whole))).toMatch(/left is reference\.h/);
  });
});

describe('files', () => {
  const view = settled(whole);
  const form = view.files?.['reference.h'] as string;

  test('the form writes them until the user does', () => {
    expect(fileText('reference.h', {}, view)).toBe(form);
    const edited = { 'reference.h': { text: 'mine', base: form } };
    expect(fileText('reference.h', edited, null)).toBe('mine');
    expect(isOutdated('reference.h', edited, view)).toBe(false);
    const changed = settled({ ...whole, id: 'another' });
    expect(isOutdated('reference.h', edited, changed)).toBe(true);
    expect(filesToAdd(source, edited, changed)).toEqual({
      'task.json': changed.files?.['task.json'],
      'origin.fp32.cu': source,
      'reference.h': 'mine',
    });
  });

  test('an incomplete form gives none, unless task.json stands by itself', () => {
    const lacking = settled({ ...whole, flops: '' });
    const edited = { 'reference.h': { text: 'mine', base: form } };
    expect(filesToAdd(source, edited, lacking)).toBeNull();
    expect(filesToAdd(source, edited, null)).toBeNull();
    const both = { ...edited, 'task.json': { text: '{}', base: '' } };
    expect(filesToAdd(source, both, lacking)?.['task.json']).toBe('{}');
  });

  test('what a task.json says of itself', () => {
    expect(idIn(view.files?.['task.json'])).toBe('axpy');
    for (const text of [undefined, '', '{', 'null', '[]', '{"id": 7}']) expect(idIn(text)).toBeNull();
    expect(dtypeIn({ 'origin.bf16.cu': '' })).toBe('bf16');
  });

  test('a file that is no source is refused', () => {
    expect(refusedFile(11, '', 10)).toContain('11 characters');
    expect(refusedFile(1, '\0', 10)).toContain('not a text');
    expect(refusedFile(1, 'x', 10)).toBeNull();
  });

  test('what was kept comes back; anything else is nothing', () => {
    const fresh = { source, form: whole, edited: { 'reference.h': { text: 'a', base: 'b' } }, tried: true };
    const changes = { mine: { loaded: { 'task.json': '{}' }, texts: { 'task.json': '{ }' } } };
    const back = restored(JSON.stringify({ fresh, changes }));
    expect(back).toEqual({ fresh: { ...fresh, tried: false }, changes });
    const nothing = restored(null);
    expect(nothing.fresh.source).toBe('');
    for (const wrong of [
      '{',
      'null',
      '[]',
      '{}',
      JSON.stringify({ fresh, changes: [] }),
      JSON.stringify({ fresh: { ...fresh, source: 7 }, changes }),
      JSON.stringify({ fresh: { ...fresh, form: { ...whole, sizes: {} } }, changes }),
      JSON.stringify({ fresh: { ...fresh, form: { ...whole, counts: { x: 1 } } }, changes }),
      JSON.stringify({ fresh: { ...fresh, edited: { 'reference.h': 'text' } }, changes }),
      JSON.stringify({ fresh, changes: { mine: { loaded: {} } } }),
    ])
      expect(restored(wrong), wrong).toEqual(nothing);
  });
});

describe('what is written while a check is under way', () => {
  /** The engine: drafts as it makes them; what is added waits until the test lets it go on. */
  function engine(added: string) {
    let finish = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const call = async (method: string, params: { source: string; options: Parameters<typeof viewDraft>[1] }) => {
      if (method === 'tasks.draft') return ok(viewDraft(params.source, params.options));
      await done;
      return ok({ task: added, dtypes: ['fp32'], compiled: [], replaced: false, notes: [] });
    };
    return { api: { call } as unknown as Protocol, finish };
  }
  /** A new task, complete, with its check begun. */
  async function begun() {
    const { api, finish } = engine('axpy');
    const tasks = useTasks.getState();
    tasks.startOver();
    tasks.set({ source, form: whole });
    expect(await askDraft(api)).toBeNull();
    tasks.edit('reference.h', 'mine');
    const { fresh, view } = useTasks.getState();
    const files = filesToAdd(fresh.source, fresh.edited, view) as OwnTaskTexts;
    const check = checkAndAdd(api, '', files, false);
    return { api, finish, check };
  }

  test('nothing: the screen is ready for the next one', async () => {
    const { finish, check } = await begun();
    finish();
    expect(await check).toEqual({ task: 'axpy', newer: false });
    expect(useTasks.getState().fresh.source).toBe('');
  });

  test.each<[string, () => void]>([
    ['a source', () => useTasks.getState().set({ source: `${source}// more` })],
    ['a reference', () => useTasks.getState().edit('reference.h', 'other')],
    ['a field, about which the engine has not answered yet', () => useTasks.getState().setForm({ title: 'Other' })],
  ])('%s stays, and only the check is over', async (_what, write) => {
    const { finish, check } = await begun();
    write();
    const { fresh } = useTasks.getState();
    finish();
    expect(await check).toEqual({ task: 'axpy', newer: true });
    expect(useTasks.getState().fresh).toEqual(fresh);
    expect(useTasks.getState().checks).toEqual({});
  });

  test('a task that is changed: newer texts stay, against those that were added', async () => {
    const tasks = useTasks.getState();
    const [read, added, newer] = ['a', 'b', 'c'].map((text) => ({ 'task.json': '{}', 'reference.h': text }));
    const change = async (id: string, write?: string) => {
      const { api, finish } = engine(id);
      tasks.discard('mine');
      tasks.load('mine', read as OwnTaskTexts);
      tasks.change('mine', 'reference.h', 'b');
      const check = checkAndAdd(api, 'mine', added as OwnTaskTexts, true);
      if (write !== undefined) tasks.change('mine', 'reference.h', write);
      finish();
      return [(await check)?.newer, useTasks.getState().changes.mine];
    };
    expect(await change('mine')).toEqual([false, undefined]);
    expect(await change('mine', 'c')).toEqual([true, { loaded: added, texts: newer }]);
    // Back to what it was before: that, too, is newer than what was added.
    expect(await change('mine', 'a')).toEqual([true, { loaded: added, texts: read }]);
    // Added under another id: the files of this one are as they were.
    expect(await change('other', 'c')).toEqual([true, { loaded: read, texts: newer }]);
    tasks.discard('mine');
  });
});

test('before there is a kernel the screen says what will be done with it', () => {
  vi.stubGlobal('window', { innerWidth: 1440 });
  try {
    const screen = createElement(Screen, { route: { screen: 'newtask', path: [], query: {} } });
    const page = renderToStaticMarkup(createElement(ApiContext, { value: new Protocol() }, screen));
    const words = page.replaceAll(/<[^>]*>/g, '');
    expect(words).toContain('both are compiled in the sandbox, and reference.h is called there.');
  } finally {
    vi.unstubAllGlobals();
  }
});
