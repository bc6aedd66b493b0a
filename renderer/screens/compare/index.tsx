import { useMemo } from 'react';
import type { VersionDetail } from '../../../main/contract/api.ts';
import { useQuery } from '../../api/client.ts';
import { type Command, useCommands } from '../../app/commands.ts';
import { go, setQuery } from '../../app/navigation.ts';
import type { ScreenProps } from '../../app/screens.tsx';
import { Button } from '../../ui/controls.tsx';
import { Callout, Empty, ErrorBox, Loading } from '../../ui/feedback.tsx';
import { MISSING } from '../../ui/format.ts';
import { Tabs } from '../../ui/panels.tsx';
import { Errors } from './errors.tsx';
import { Metrics } from './metrics.tsx';
import { type EnvironmentLine, environmentLines, incomparable } from './model.ts';
import { Reasons, SidePicker, Summary } from './sides.tsx';
import { Source } from './source.tsx';
import { Timings } from './timings.tsx';
import './compare.css';

const tabs = [
  { id: 'source', label: 'Source' },
  { id: 'timings', label: 'Timings' },
  { id: 'metrics', label: 'Metrics' },
  { id: 'errors', label: 'Errors' },
  { id: 'environment', label: 'Environment' },
] as const;

function Environment({ lines }: { readonly lines: readonly EnvironmentLine[] }) {
  return (
    <div className="cmp-environment">
      <table className="plain-table">
        <caption className="visually-hidden">Where each was measured</caption>
        <thead>
          <tr>
            <th scope="col">Environment</th>
            <th scope="col">A</th>
            <th scope="col">B</th>
            <th scope="col">
              <span className="visually-hidden">Difference</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map((l) => (
            <tr key={l.name}>
              <th scope="row">{l.name}</th>
              <td className="mono">{l.a ?? MISSING}</td>
              <td className="mono">{l.b ?? MISSING}</td>
              <td className={l.differs && l.decisive ? 'cmp-differs' : 'muted'}>
                {l.differs ? 'differs' : l.a === null || l.b === null ? 'unknown' : 'same'}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Pair({ a, b, tab }: { readonly a: VersionDetail; readonly b: VersionDetail; readonly tab: string }) {
  const lines = useMemo(() => environmentLines(a, b), [a, b]);
  const why = incomparable(lines);
  const otherKernel = a.task !== b.task || a.dtype !== b.dtype;
  const warning = otherKernel
    ? 'These are versions of different kernels.'
    : why.length > 0
      ? `Not comparable: ${why.join(', ')} ${why.length === 1 ? 'differs' : 'differ'}.`
      : null;
  return (
    <>
      {warning !== null && (
        <div className="compare-warning">
          <Callout tone="warn" icon="warn" title={warning}>
            <p>
              {otherKernel
                ? 'Their times answer different questions.'
                : 'Times and metrics of different environments must not be set against each other; measure one of them again where the other was measured.'}
            </p>
          </Callout>
        </div>
      )}
      <div className="compare-body">
        <aside className="compare-side" aria-label="Summary" tabIndex={0}>
          <Summary a={a} b={b} />
          <Reasons a={a} b={b} />
        </aside>
        <Tabs label="What is compared" tabs={tabs} value={tab} onChange={(id) => setQuery({ tab: id })}>
          {tab === 'source' && <Source a={a} b={b} />}
          {tab === 'timings' && <Timings a={a} b={b} warning={warning} />}
          {tab === 'metrics' && <Metrics a={a} b={b} />}
          {tab === 'errors' && <Errors a={a} b={b} />}
          {tab === 'environment' && <Environment lines={lines} />}
        </Tabs>
      </div>
    </>
  );
}

function useCompareCommands(a: string | undefined, b: string | undefined, tab: string): void {
  const commands = useMemo<readonly Command[]>(
    () => [
      {
        id: 'compare.swap',
        title: 'Swap A and B',
        group: 'Compare',
        key: 'x',
        disabled: a === undefined || b === undefined,
        run: () => a && b && go('compare', [b, a], { tab }),
      },
      ...tabs.map((t, i) => ({
        id: `compare.${t.id}`,
        title: `Compare: ${t.label}`,
        group: 'Compare',
        key: String(i + 1),
        run: () => setQuery({ tab: t.id }),
      })),
    ],
    [a, b, tab],
  );
  useCommands(commands);
}

/** `#/compare/A/B?tab=timings` */
export default function Screen({ route }: ScreenProps) {
  const [a, b] = route.path;
  const tab = tabs.find((t) => t.id === route.query.tab)?.id ?? 'source';
  const list = useQuery('versions.list', {}, ['versions']);
  const left = useQuery('versions.get', a === undefined ? null : { version: a }, ['versions']);
  const right = useQuery('versions.get', b === undefined ? null : { version: b }, ['versions']);
  useCompareCommands(a, b, tab);
  const rows = list.data ?? [];
  const like = rows.find((r) => r.id === (a ?? b));
  const pick = (side: 'A' | 'B') => (id: string) =>
    go('compare', side === 'A' ? [id, ...(b ? [b] : [])] : [a ?? id, id], { tab });
  const fault = left.error ?? right.error ?? list.error;
  return (
    <div className="compare">
      <h1 className="visually-hidden">Compare</h1>
      <div className="compare-bar">
        <SidePicker side="A" value={a} rows={rows} like={undefined} onPick={pick('A')} />
        <Button
          icon="compare"
          disabled={a === undefined || b === undefined}
          onClick={() => a && b && go('compare', [b, a], { tab })}
          title="Swap A and B (x)"
        >
          Swap
        </Button>
        <SidePicker side="B" value={b} rows={rows} like={like} onPick={pick('B')} />
      </div>
      {fault && (
        <div className="compare-warning">
          <ErrorBox error={fault} />
        </div>
      )}
      {a === undefined || b === undefined ? (
        <Empty
          title="Two versions are needed."
          action={<Button onClick={() => go('history')}>Choose them in the History</Button>}
        >
          <p>Choose A and B above, or two rows of the History (Space adds the second).</p>
        </Empty>
      ) : left.data && right.data ? (
        <Pair a={left.data} b={right.data} tab={tab} />
      ) : (
        fault === null && <Loading what="both versions" />
      )}
    </div>
  );
}
