import type { JobResult, VersionDetail, VersionRow } from '../../contract/index.ts';
import { stateOf } from '../../optimizer/index.ts';
import type { Store } from '../../store/index.ts';
import { exportFile } from '../export.ts';
import { reportPlace } from '../report-file.ts';
import { knownOf } from '../start.ts';
import { newestBaseline } from './baseline.ts';
import type { ApiContext, Handlers } from './context.ts';

/** What the version's job gave; null where it was never run or is not done. */
async function jobOf(store: Store, row: VersionRow): Promise<JobResult | null> {
  const position = row.round === 0 ? 'r0.baseline' : `r${row.round}.a${row.attempt}.eval`;
  const steps = await store.steps(row.run);
  if (!steps.some((s) => s.position === position && s.state === 'done')) return null;
  return (await store.step(row.run, position)).job;
}

/** The compile command as it ran; null where the job did not get that far. */
function commandIn(job: JobResult | null, row: VersionRow): string | null {
  const id = row.round === 0 ? 'build-origin' : 'build-candidate';
  return job?.steps.find((s) => s.id === id)?.command || null;
}

async function detail(api: ApiContext, id: string): Promise<VersionDetail> {
  const store = await api.store();
  const row = await store.version(id);
  const run = await store.find(row.run);
  const state = stateOf(await store.events(row.run));
  const known = knownOf(state, row);
  const job = await jobOf(store, row);
  const baseline =
    state.baseline ?? (await newestBaseline(store, row.task, row.dtype, run.config.sizeSet))?.evaluation ?? null;
  return {
    ...row,
    ...known,
    baseline,
    machine: known.evaluation?.machine ?? null,
    nvccCommand: commandIn(job, row),
    ...(await reportPlace(store, run, job)),
  };
}

type Methods = 'versions.list' | 'versions.get' | 'versions.edit' | 'versions.export';

export const versionMethods = (api: ApiContext): Handlers<Methods> => ({
  'versions.list': async ({ deleted }) => (await api.store()).versions(deleted),
  'versions.get': ({ version }) => detail(api, version),
  'versions.edit': async ({ version, ...edit }) => (await api.store()).editVersion(version, edit),
  'versions.export': async ({ version }) => exportFile(api.app, await api.store(), version),
});
