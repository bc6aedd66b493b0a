import {
  type JobResult,
  sameMachine,
  stepOfVersion,
  type VersionDetail,
  type VersionRow,
} from '../../contract/index.ts';
import { stateOf } from '../../optimizer/index.ts';
import { exportFile } from '../export.ts';
import { reportPlace } from '../report-file.ts';
import { knownOf } from '../start.ts';
import { jobAt, newestBaseline } from './baseline.ts';
import type { ApiContext, Handlers } from './context.ts';

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
  const job = await jobAt(store, row.run, stepOfVersion(state, row.round, row.attempt));
  const newest =
    state.baseline ?? (await newestBaseline(store, row.task, row.dtype, run.config.sizeSet))?.evaluation ?? null;
  const baseline = sameMachine(newest, known.evaluation) ? newest : null;
  return {
    ...row,
    ...known,
    baseline,
    machine: known.evaluation?.machine ?? null,
    measuredAt: job?.startedAt ?? null,
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
