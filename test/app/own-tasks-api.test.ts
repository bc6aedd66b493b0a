import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiParams, AppError, DraftFault, OwnTaskTexts } from '../../main/contract/index.ts';
import { createHost, type Host } from '../../main/host/index.ts';
import { TestClient } from '../host/client.ts';
import { root } from './lab.ts';

/** Tasks of the user's own over the API, as a screen makes them: texts, real compilers, the data folder. */
const scale = `#include <cuda_runtime.h>
__global__ void scale_kernel(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
extern "C" void scale(const float* x, float* y, float a, int n) {
  scale_kernel<<<(n + 255) / 256, 256>>>(x, y, a, n);
}
`;
const options = { counts: {}, values: { a: '0.5' }, inout: [], ints: {}, sizes: ['n=1024'], flops: 'n' };
const body = 'const double value = a_ * x_[i];\n    return {value, std::fabs(value), 1.0};';

let home: string;
let host: Host;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-own-api-'));
  process.env.CUDAMASTER_HOME = home;
  host = createHost({ root });
});
afterAll(async () => {
  await host.close();
  rmSync(home, { recursive: true, force: true });
});

const own = (): string => join(home, 'data/tasks');
const listed = (): string[] => (existsSync(own()) ? readdirSync(own()).filter((name) => !name.startsWith('.')) : []);

function connect(): TestClient {
  const client: TestClient = new TestClient((m) => line.receive(m));
  const line = host.connect((m) => client.take(m));
  return client;
}

async function refused(client: TestClient, params: ApiParams<'tasks.add'>): Promise<AppError> {
  const answer = await client.call('tasks.add', params);
  if (answer.ok) throw new Error(`added: ${JSON.stringify(answer.value)}`);
  return answer.error;
}

/** The drafted files, with the reference filled in. */
async function filled(client: TestClient, more: Partial<typeof options> & { id?: string } = {}): Promise<OwnTaskTexts> {
  const { files, faults } = await client.got('tasks.draft', { source: scale, options: { ...options, ...more } });
  expect(faults).toEqual([]);
  const form = files?.['reference.h'] as string;
  expect(form).toContain('#error');
  return { ...files, 'reference.h': form.replace(/^#error.*$/m, () => body) };
}

describe('a draft', () => {
  const faultsOf = async (source: string, more: object): Promise<readonly DraftFault[]> =>
    (await connect().got('tasks.draft', { source, options: { ...options, ...more } })).faults;

  it('says how each parameter was understood, and gives the files', async () => {
    const view = await connect().got('tasks.draft', { source: scale, options });
    expect(view).toMatchObject({ wrappers: ['scale'], wrapper: 'scale', dtype: 'fp32', dims: ['n'], faults: [] });
    expect(view.parameters).toEqual([
      { name: 'x', type: 'const float*', role: 'in', expression: 'n', mayRead: false, range: null },
      { name: 'y', type: 'float*', role: 'out', expression: 'n', mayRead: true, range: null },
      { name: 'a', type: 'float', role: 'scalar', expression: '0.5', mayRead: false, range: null },
      { name: 'n', type: 'int', role: 'scalar', expression: 'n', mayRead: false, range: null },
    ]);
    expect(Object.keys(view.files ?? {})).toEqual(['task.json', 'origin.fp32.cu', 'reference.h']);
    expect(existsSync(own())).toBe(false);
  });

  it.each<[string, string, object, Partial<DraftFault>]>([
    ['a wrong count', scale, { counts: { x: 'n*k' } }, { field: 'counts', name: 'x', missing: false }],
    ['a count that is wrong at a size', scale, { counts: { y: 'n/3' } }, { field: 'counts', name: 'y' }],
    ['a value that does not fit', scale, { values: { a: '1', n: 'pow(n, 4)' } }, { field: 'values', name: 'n' }],
    ['a value that is missing', scale, { values: {} }, { field: 'values', name: 'a', missing: true }],
    ['no operations', scale, { flops: undefined }, { field: 'flops', name: null, missing: true }],
    ['operations over nothing', scale, { flops: 'm' }, { field: 'flops', name: null, missing: false }],
    ['no size', scale, { sizes: [] }, { field: 'sizes', name: null, missing: true }],
    ['the second size', scale, { sizes: ['n=1', 'n=x'] }, { field: 'sizes', name: '1', missing: false }],
    ['an id', scale, { id: 'a b' }, { field: 'id', name: null }],
    ['an id that ships', scale, { id: 'softmax' }, { field: 'id', message: expect.stringContaining('ships') }],
    ['a title of two lines', scale, { title: 'a\nb' }, { field: 'title', missing: false }],
    ['a long id', scale, { id: 'a'.repeat(101) }, { field: 'id', missing: false }],
    ['no wrapper', 'int x;', {}, { field: 'source', missing: false }],
    ['a type', scale.replaceAll('float*', 'double*'), {}, { field: 'source' }],
    ['several wrappers', `${scale}extern "C" void g(float* x) {}`, {}, { field: 'wrapper', missing: true }],
    ['a parameter that is gone', scale, { counts: { z: 'n' } }, { field: 'counts', name: 'z' }],
  ])('places %s', async (_what, source, more, fault) => {
    const faults = await faultsOf(source, more);
    expect(faults).toContainEqual(expect.objectContaining(fault));
    for (const { message, remedy } of faults) {
      expect(message).not.toMatch(/--\w/);
      expect(remedy).toBeTruthy();
      expect(remedy).not.toMatch(/--\w/);
    }
  });

  it('tells everything at once', async () => {
    const faults = await faultsOf(scale, { id: '', sizes: ['n='], values: {}, counts: { x: 'n +' }, flops: undefined });
    expect(faults.map(({ field, name }) => `${field} ${name}`).sort()).toEqual([
      'counts x',
      'flops null',
      'id null',
      'sizes 0',
      'values a',
    ]);
  });

  it('a range is asked for where integers are read', async () => {
    const source = 'extern "C" void pick(const int* idx, float* out, int n) {\n}\n';
    const ask = (ints: Record<string, string>) =>
      connect().got('tasks.draft', { source, options: { ...options, values: {}, ints } });
    expect((await ask({})).faults).toEqual([expect.objectContaining({ field: 'ints', name: 'idx', missing: true })]);
    expect((await ask({ idx: '5:5' })).faults).toEqual([expect.objectContaining({ field: 'ints', name: 'idx' })]);
    expect((await ask({ idx: '0:n' })).faults).toEqual([]);
  });
});

describe('a task', { timeout: 300_000 }, () => {
  it('is refused with the file and line at fault, taken in with progress, read, replaced, removed', async () => {
    const client = connect();
    const files = await filled(client);
    const id = 'mine';
    const named = await filled(client, { id });

    const wrong = { ...named, 'reference.h': (named['reference.h'] as string).replace('a_ * x_[i]', 'a_ * z_[i]') };
    const broken = await refused(client, { files: wrong });
    const line = wrong['reference.h'].split('\n').findIndex((text) => text.includes('z_[i]')) + 1;
    expect(broken).toMatchObject({ code: 'input.task', at: { file: 'reference.h', line } });
    expect(broken.message).toMatch(/^reference\.h does not compile \(fp32\): .*z_/);
    expect(broken.detail).toContain('z_');
    expect(listed()).toEqual([]);

    const added = await client.got('tasks.add', { files: named });
    expect(added).toMatchObject({ task: id, dtypes: ['fp32'], replaced: false });
    expect(added.compiled.map(({ file, state }) => [file, state])).toEqual([
      ['reference.h', 'compiles'],
      ['origin.fp32.cu', 'compiles'],
    ]);
    expect(client.of('progress').some(({ note }) => note.includes(id))).toBe(true);
    await client.until(() => client.of('changed').some(({ what }) => what === 'tasks'));
    const entry = (await client.got('tasks.list', {})).find((task) => task.id === id);
    expect(entry).toMatchObject({ own: true, fault: null, category: 'user' });
    expect((await client.got('tasks.files', { task: id })).files).toEqual(named);

    const taken = await refused(client, { files: named });
    expect(taken.message).toContain('named "mine" already');
    const again = await client.got('tasks.add', { files: named, replace: true });
    expect(again.replaced).toBe(true);
    // A reference that no longer compiles leaves the task as it was.
    expect((await refused(client, { files: wrong, replace: true })).at?.file).toBe('reference.h');
    expect((await client.got('tasks.files', { task: id })).files).toEqual(named);

    // Cancelled while it compiles: it never comes into the list.
    const call = client.call('tasks.add', { files });
    const before = client.of('progress').length;
    await client.until(() => client.of('progress').length > before);
    const { id: number } = client.of('progress').at(-1) as { id: number };
    client.raw({ type: 'abandon', id: number });
    expect(await call).toMatchObject({ ok: false, error: { code: 'cancelled' } });

    const removed = await client.got('tasks.remove', { task: id });
    expect(readdirSync(removed.kept).sort()).toEqual(['origin.fp32.cu', 'reference.h', 'task.json']);
    expect(listed()).toEqual([]);
    // The call that was given up comes to its end by itself, and leaves nothing.
    const scratch = (): string[] =>
      readdirSync(tmpdir()).filter((name) => name.startsWith(`cm-${process.pid.toString(36)}-`));
    await expect.poll(scratch, { timeout: 60_000 }).toEqual([]);
    expect(listed()).toEqual([]);
  });

  it('takes no other file, no name that ships, and nothing that is not one of the user’s', async () => {
    const client = connect();
    const files = await filled(client);
    for (const name of ['../evil.cu', 'notes.txt', 'origin.fp64.cu', '/etc/passwd', 'constructor'])
      expect((await refused(client, { files: { ...files, [name]: 'x' } })).code, name).toBe('usage');
    expect((await refused(client, { files: { 'task.json': 'x'.repeat((1 << 20) + 1) } })).code).toBe('usage');
    expect(await refused(client, { files: {} })).toMatchObject({
      code: 'input.file',
      message: 'task.json is missing.',
    });
    const json = JSON.parse(files['task.json'] as string);
    const changed = (change: object) => ({ ...files, 'task.json': JSON.stringify({ ...json, ...change }) });
    const ships = await refused(client, { files: changed({ id: 'softmax' }), replace: true });
    expect(ships.message).toContain('"softmax" ships');
    expect(await refused(client, { files: changed({ category: 'sparse' }) })).toMatchObject({
      message: expect.stringMatching(/^task\.json: category: expected "user"/),
      at: { file: 'task.json' },
    });
    const other = (files['reference.h'] as string).replaceAll('p.in("x")', 'p.in("xx")');
    expect(await refused(client, { files: { ...files, 'reference.h': other } })).toMatchObject({
      message: expect.stringMatching(/^reference\.h: in\("xx"\)/),
      at: { file: 'reference.h' },
    });
    for (const [task, why] of [
      ['softmax', 'ships'],
      ['../tasks', 'no task'],
      ['nowhere', 'no task'],
    ] as const)
      for (const method of ['tasks.files', 'tasks.remove'] as const) {
        const answer = await client.call(method, { task });
        expect(answer.ok ? '' : answer.error.message, `${method} ${task}`).toContain(why);
      }
    expect(listed()).toEqual([]);
  });

  it('that cannot be used can still be read and removed', async () => {
    const client = connect();
    const files = await filled(client);
    const folder = join(own(), 'hurt');
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text as string);
    writeFileSync(join(folder, 'task.json'), '{');
    // As another process would have made it: lists are told.
    await client.until(() => client.of('changed').some(({ what }) => what === 'tasks'));
    const view = await client.got('tasks.files', { task: 'hurt' });
    expect(view.files['task.json']).toBe('{');
    expect(view.fault).toMatchObject({
      at: { file: 'task.json' },
      message: expect.stringMatching(/^task\.json: not JSON/),
    });
    expect((await client.got('tasks.list', {})).find(({ id }) => id === 'hurt')).toMatchObject({ own: true });
    await client.got('tasks.remove', { task: 'hurt' });
    expect(listed()).toEqual([]);
  });
});
