/** Recordings and exports of runs that hold less than one would expect, as services and at the command line. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { environmentOf } from '../../main/app/machine.ts';
import { type Executor, unwrap } from '../../main/contract/index.ts';
import { createHost } from '../../main/host/index.ts';
import { inProcess } from '../cli/program.ts';
import { machine, resultFor, root } from './lab.ts';

vi.setConfig({ testTimeout: 120_000 });

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-take-'));
  vi.stubEnv('CUDAMASTER_HOME', home);
  const mine = home;
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(mine, { recursive: true, force: true });
  });
});

/** The services, with the laboratory in the place of the GPU. */
function services() {
  const executor: Executor = {
    name: 'local',
    execute: async (bundle) => ({ kind: 'done', result: resultFor(bundle) }),
  };
  return createHost({
    root,
    openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor }),
  }).services;
}
const ctx = { emit: () => {} };
const wanted = { task: 'dot_product', dtype: 'fp32', provider: 'manual', arch: 'sm_90' } as const;

it('a run without a complete step is not recorded: nothing is written, and it is said what to do', async () => {
  const run = unwrap(await createHost({ root }).services.optimize({ ...wanted, executor: 'bundle' }, ctx)).id;
  const out = join(home, 'empty.cudamaster');
  const ran = await inProcess('record', run, '--out', out, '--json');
  expect(ran.code).toBe(2);
  expect(ran.last).toMatchObject({
    ok: false,
    error: {
      code: 'usage',
      message: expect.stringContaining(run),
      remedy: `Go on with it first: cudamaster resume ${run}`,
    },
  });
  expect(existsSync(out)).toBe(false);
});

it('a run whose best is its origin gives the origin only when it is asked for', async () => {
  const app = services();
  // Waits for the Planner: the origin is measured, nothing else.
  const { id } = unwrap(await app.optimize({ ...wanted, executor: 'local' }, ctx));
  const out = join(home, 'best.zip');
  const ran = await inProcess('export', id, '--out', out);
  expect(ran.code).toBe(4);
  expect(ran.err).toMatch(
    /Error \(candidate\.not-accepted\): Run .* has no accepted version: its best is the origin\./,
  );
  expect(ran.err).toContain('--origin');
  expect(ran.err).toContain(`${id}:origin`);
  expect(existsSync(out)).toBe(false);

  const asked = unwrap(await app.exportVersion({ version: 'last', out, origin: true }, ctx));
  expect(asked.version).toBe(`${id}:origin`);
  const named = unwrap(await app.exportVersion({ version: `${id}:origin`, out, origin: true }, ctx));
  expect(named.sha256).toBe(asked.sha256);
  expect(await app.exportVersion({ version: `${id}:r1.a0`, out, origin: true }, ctx)).toMatchObject({
    ok: false,
    error: { code: 'usage' },
  });
  // A profile of it is looked at, and told to be the origin's.
  const said: unknown[] = [];
  const shown = await app.storedProfile({ version: id }, { emit: (e) => void said.push(e) });
  expect(shown.ok).toBe(true);
  expect(said).toContainEqual(expect.objectContaining({ message: expect.stringContaining('profile of its origin') }));
});
