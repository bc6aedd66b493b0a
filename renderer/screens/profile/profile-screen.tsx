import { useCallback, useMemo } from 'react';
import { resultFigures } from '../../../main/contract/confirmed.ts';
import type { Evaluation, Launch, MetricLine, Profile as ProfileData } from '../../../main/contract/index.ts';
import { sanitizedOf } from '../../../main/contract/sanitized.ts';
import { useQuery } from '../../api/client.ts';
import { type Command, useCommands } from '../../app/commands.ts';
import { go, setQuery } from '../../app/navigation.ts';
import { useRunView } from '../../state/runs.ts';
import { Button, SelectField } from '../../ui/controls.tsx';
import { Callout, Empty, ErrorBox, Loading, OutcomeBadge, SanitizedBadge } from '../../ui/feedback.tsx';
import { ratioEstimate } from '../../ui/format.ts';
import { Tabs } from '../../ui/panels.tsx';
import { CodeTab } from './code-tab.tsx';
import { MetricsTab } from './metrics-tab.tsx';
import { Overview } from './overview.tsx';
import { mainLaunch, type RunVersion, splitVersion, versionsOf, whyNoProfile } from './versions.ts';
import { VersionsTab } from './versions-tab.tsx';
import './profile.css';

/** What the tabs look at. */
export interface ProfileContext {
  readonly versions: readonly RunVersion[];
  readonly selected: RunVersion;
  readonly evaluation: Evaluation;
  readonly profile: ProfileData;
  /** The launch looked at; null: none can be named. */
  readonly launch: Launch | null;
  readonly compared: RunVersion | null;
  readonly catalogue: readonly MetricLine[];
}

const NO_METRICS: readonly MetricLine[] = [];

interface Props {
  readonly version: string;
  readonly query: Readonly<Record<string, string>>;
}

/** The profile of one version beside another of its run. */
export function Profile({ version, query }: Props) {
  const run = splitVersion(version)?.run ?? null;
  const view = useRunView(run);
  const metrics = useQuery('metrics.list', {});
  const versions = useMemo(() => (run === null || view === null ? [] : versionsOf(run, view.state)), [run, view]);
  if (run === null)
    return (
      <Empty title={`“${version}” is no version.`} action={<Button onClick={() => go('profile')}>Choose one</Button>}>
        <p>A version is named by its run and its place in it, for instance 261129-1755-adx3:r1.a0.</p>
      </Empty>
    );
  if (view === null) return <Loading what="profile" />;
  if (view.error !== null && versions.length <= 1) return <ErrorBox error={view.error} />;
  const selected = versions.find(({ id }) => id === version);
  if (selected === undefined)
    return (
      <Empty
        title={`The run ${run} has no version ${version.split(':')[1]}.`}
        action={<Button onClick={() => go('run', [run])}>Show the run</Button>}
      />
    );
  const compared = comparedWith(versions, selected, query.with);
  return (
    <div className="profile-screen">
      <ProfileCommands run={run} version={selected.id} />
      <Bar run={run} task={view.state.config?.task ?? ''} versions={versions} selected={selected} compared={compared} />
      <Body
        versions={versions}
        selected={selected}
        compared={compared}
        catalogue={metrics.data ?? NO_METRICS}
        query={query}
      />
    </div>
  );
}

const tabs = [
  { id: 'overview', label: 'Overview' },
  { id: 'code', label: 'Code heatmap' },
  { id: 'metrics', label: 'Metrics' },
  { id: 'versions', label: 'All versions' },
] as const;

/** What the palette offers while a profile is shown. */
function ProfileCommands({ run, version }: { readonly run: string; readonly version: string }) {
  const commands = useMemo<readonly Command[]>(
    () => [
      ...tabs.map(({ id, label }) => ({
        id: `profile.${id}`,
        title: `Profile: ${label}`,
        group: 'Profile',
        run: () => setQuery({ tab: id }),
      })),
      { id: 'profile.source', title: 'Source of this version', group: 'Profile', run: () => go('kernel', [version]) },
      { id: 'profile.run', title: 'Run of this version', group: 'Profile', run: () => go('run', [run]) },
    ],
    [run, version],
  );
  useCommands(commands);
  return null;
}

/** Chosen, or the origin (for the origin: nothing). "none" compares with nothing. */
function comparedWith(
  versions: readonly RunVersion[],
  selected: RunVersion,
  wanted: string | undefined,
): RunVersion | null {
  const chosen = wanted === undefined ? versions[0] : versions.find(({ id }) => id === wanted);
  return chosen === undefined || chosen.id === selected.id ? null : chosen;
}

function Bar(props: {
  readonly run: string;
  readonly task: string;
  readonly versions: readonly RunVersion[];
  readonly selected: RunVersion;
  readonly compared: RunVersion | null;
}) {
  const { run, task, versions, selected, compared } = props;
  const option = ({ id, label, outcome, isBest }: RunVersion) => ({
    value: id,
    label: `${label}${isBest ? ' ★ best' : ''}${outcome === null ? '' : ` · ${outcome}`}`,
  });
  const score = resultFigures(selected.evaluation)?.score ?? null;
  return (
    <header className="profile-bar">
      <h1>
        {task} <span className="muted">{selected.label}</span>
      </h1>
      <OutcomeBadge outcome={selected.outcome} />
      {score !== null && <span className="tabular">{ratioEstimate(score)}</span>}
      <SanitizedBadge sanitized={selected.evaluation && sanitizedOf(selected.evaluation)} />
      <div className="profile-choice">
        <SelectField
          label="Version"
          value={selected.id}
          options={versions.map(option)}
          onChange={(id) => go('profile', [id], currentQuery())}
        />
        <SelectField
          label="Beside"
          value={compared?.id ?? 'none'}
          options={[
            { value: 'none', label: 'nothing' },
            ...versions.filter(({ id }) => id !== selected.id).map(option),
          ]}
          onChange={(id) => setQuery({ with: id })}
        />
        <Button icon="kernel" onClick={() => go('kernel', [selected.id])}>
          Source
        </Button>
        <Button icon="run" onClick={() => go('run', [run])}>
          Run
        </Button>
      </div>
    </header>
  );
}

const currentQuery = (): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(window.location.hash.split('?')[1] ?? ''));

function Body(props: {
  readonly versions: readonly RunVersion[];
  readonly selected: RunVersion;
  readonly compared: RunVersion | null;
  readonly catalogue: readonly MetricLine[];
  readonly query: Readonly<Record<string, string>>;
}) {
  const { versions, selected, compared, catalogue, query } = props;
  const { evaluation } = selected;
  const profile = evaluation?.profile ?? null;
  const launch = useMemo(
    () => profile?.launches.find(({ index }) => `${index}` === query.launch) ?? mainLaunch(profile),
    [profile, query.launch],
  );
  const setTab = useCallback((tab: string) => setQuery({ tab }), []);
  const missing = whyNoProfile(evaluation);
  const tab = query.tab ?? 'overview';
  if (evaluation === null || profile === null || missing !== null)
    return (
      <div className="profile-missing">
        <Callout tone="warn" icon="warn" title={missing?.reason ?? 'There is no profile.'}>
          {missing !== null && <p>{missing.remedy}</p>}
          {profile?.ncuVersion && <p className="muted">Nsight Compute {profile.ncuVersion}</p>}
        </Callout>
        <VersionsTab versions={versions} catalogue={catalogue} selected={selected.id} />
      </div>
    );
  const context: ProfileContext = { versions, selected, evaluation, profile, launch, compared, catalogue };
  const found = profile.findings?.filter(({ state }) => state === 'found').length;
  return (
    <Tabs
      label="Parts of the profile"
      value={tab}
      onChange={setTab}
      tabs={tabs.map((t) => (t.id === 'overview' && found ? { ...t, count: found } : t))}
    >
      {tab === 'code' ? (
        <CodeTab context={context} />
      ) : tab === 'metrics' ? (
        <MetricsTab context={context} query={query.q ?? ''} />
      ) : tab === 'versions' ? (
        <VersionsTab versions={versions} catalogue={catalogue} selected={selected.id} />
      ) : (
        <Overview context={context} />
      )}
    </Tabs>
  );
}
