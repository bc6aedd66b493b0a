import { useMemo } from 'react';
import type { Finding } from '../../../main/contract/profile.ts';
import { Badge } from '../../ui/feedback.tsx';
import { count, metric } from '../../ui/format.ts';
import { Panel } from '../../ui/panels.tsx';
import { occupancy } from './occupancy.ts';
import type { ProfileContext } from './profile-screen.tsx';

const STATES: Record<Finding['state'], { readonly word: string; readonly rank: number }> = {
  found: { word: 'found', rank: 0 },
  unknown: { word: 'not known', rank: 1 },
  clear: { word: 'clear', rank: 2 },
  'not-applicable': { word: 'does not apply', rank: 3 },
};

export function FindingsPanel({ context }: { readonly context: ProfileContext }) {
  const findings = useMemo(
    () => (context.profile.findings ?? []).toSorted((a, b) => STATES[a.state].rank - STATES[b.state].rank),
    [context.profile],
  );
  if (findings.length === 0)
    return (
      <Panel title="Findings">
        <p className="muted">
          This profile holds no finer findings: it was made by an older version of CUDAMaster. The metrics tab has its
          evidence.
        </p>
      </Panel>
    );
  return (
    <Panel title="Findings">
      <ul className="findings">
        {findings.map((finding) => (
          <li key={finding.id}>
            <details open={finding.state === 'found'}>
              <summary>
                <Badge tone={finding.state === 'found' ? 'warn' : finding.state === 'clear' ? 'good' : 'neutral'}>
                  {STATES[finding.state].word}
                </Badge>{' '}
                {finding.label}
                {finding.value.available && <span className="tabular strong"> {metric(finding.value).text}</span>}
              </summary>
              <p>{finding.sentence}</p>
              <p className="muted">Rule: {finding.rule}.</p>
              <ul className="evidence">
                {finding.evidence.map(({ id, label, meaning, value }) => (
                  <li key={id} title={`${id}${meaning === '' ? '' : `: ${meaning}`}`}>
                    {label}:{' '}
                    <span className="tabular">
                      {value.available ? metric(value).text : `not available (${value.reason})`}
                    </span>
                  </li>
                ))}
              </ul>
            </details>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export function OccupancyPanel({ context }: { readonly context: ProfileContext }) {
  const { launch, evaluation, profile } = context;
  const found = useMemo(() => (launch === null ? null : occupancy(launch, evaluation.gpu)), [launch, evaluation]);
  if (found === null || launch === null) return null;
  const statics = profile.static?.find(({ kernel }) => launch.kernel.includes(kernel));
  return (
    <Panel title="Occupancy">
      <p>
        Achieved <span className="tabular strong">{metric(found.achieved).text}</span>
        {!found.achieved.available && <span className="muted"> ({found.achieved.reason})</span>}, theoretical{' '}
        <span className="tabular strong">{metric(found.theoretical).text}</span>
        {!found.theoretical.available && <span className="muted"> ({found.theoretical.reason})</span>}.{' '}
        {found.limiter === null ? 'What limits it is not known: a limit is missing.' : `Limited by ${found.limiter}.`}
      </p>
      <table className="figure-table occupancy">
        <thead>
          <tr>
            <th scope="col">Resource</th>
            <th scope="col" className="num">
              Blocks per SM
            </th>
            <th scope="col">A block takes</th>
          </tr>
        </thead>
        <tbody>
          {found.limits.map(({ id, label, blocks, uses, limiting }) => (
            <tr key={id} className={limiting ? 'limiting' : undefined}>
              <th scope="row">
                {label}
                {limiting && (
                  <>
                    {' '}
                    <Badge tone="warn">limits</Badge>
                  </>
                )}
              </th>
              <td className="num" title={metric(blocks).title}>
                {blocks.available ? count(blocks.value) : 'n/a'}
              </td>
              <td className="tabular">{uses || <span className="muted">–</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {statics && (
        <p className="muted tabular">
          ptxas for {statics.arch}: {statics.registers ?? '–'} registers, spills {statics.spillStoreBytes ?? '–'} B
          stored and {statics.spillLoadBytes ?? '–'} B loaded, stack {statics.stackBytes ?? '–'} B, shared{' '}
          {statics.sharedBytes ?? '–'} B, constant {statics.constantBytes ?? '–'} B, barriers {statics.barriers ?? '–'}.
        </p>
      )}
    </Panel>
  );
}
