import { useState } from 'react';
import type { RunConfig } from '../../../main/contract/run.ts';
import type { RunView } from '../../state/run-view.ts';
import { Facts, OutcomeBadge } from '../../ui/feedback.tsx';
import { count, money, number, ratioEstimate } from '../../ui/format.ts';
import { bottleneckText, outcomeLook } from '../../ui/outcomes.ts';
import { Whiskers } from '../../ui/whiskers.tsx';
import { Queue } from './queue.tsx';
import { confirmedScore } from './timeline-model.ts';

interface Props {
  readonly run: string;
  readonly view: RunView;
  readonly onSelect: (id: string) => void;
}

/** The run as a whole: what every attempt came to, its settings, notices, who has the GPU. */
export function Overview({ view, onSelect }: Props) {
  const { state } = view;
  const attempts = state.rounds.flatMap((r) =>
    r.attempts.map((a) => ({ id: `r${r.round}.a${a.attempt}`, round: r.round, ...a })),
  );
  const scored = attempts.filter((a) => confirmedScore(a.evaluation) !== null);
  return (
    <div className="detail">
      <section>
        <h3>Weighted speed-up over the original, by attempt</h3>
        {scored.length === 0 ? (
          <p className="muted">No attempt has confirmed figures yet.</p>
        ) : (
          <Whiskers
            axis="P, ×"
            reference={1}
            onSelect={onSelect}
            rows={scored.map((a) => ({
              id: a.id,
              label: a.id,
              estimate: confirmedScore(a.evaluation),
              tone: outcomeLook(a.outcome).tone === 'good' ? ('good' as const) : ('muted' as const),
            }))}
          />
        )}
      </section>
      <section>
        <h3>Attempts</h3>
        {attempts.length === 0 ? (
          <p className="muted">None yet. The original is measured first, then the Planner is asked.</p>
        ) : (
          <table className="plain-table attempts-table">
            <caption className="visually-hidden">Attempts with outcome and reason</caption>
            <thead>
              <tr>
                <th scope="col">Attempt</th>
                <th scope="col">Outcome</th>
                <th scope="col" className="num">
                  P [interval]
                </th>
                <th scope="col">Bottleneck</th>
                <th scope="col">Reason</th>
              </tr>
            </thead>
            <tbody>
              {attempts.map((a) => {
                const verdict = a.evaluation?.profile?.verdict;
                return (
                  <tr key={a.id}>
                    <td>
                      <button type="button" className="link-button" onClick={() => onSelect(a.id)}>
                        {a.id}
                      </button>
                    </td>
                    <td>
                      <OutcomeBadge outcome={a.outcome} />
                    </td>
                    <td className="num">{ratioEstimate(confirmedScore(a.evaluation))}</td>
                    <td>{verdict ? bottleneckText(verdict.bottleneck, verdict.launchBound) || 'no verdict' : '–'}</td>
                    <td className="wrap">{a.reason}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </section>
      <Notices view={view} />
      <div className="detail-columns">
        <section>
          <h3>Settings of this run</h3>
          {state.config && <ConfigFacts config={state.config} />}
        </section>
        <section>
          <h3>GPUs and who uses them</h3>
          <Queue />
        </section>
      </div>
    </div>
  );
}

function Notices({ view }: { readonly view: RunView }) {
  const { notices, changes } = view.state;
  return (
    <>
      <Folded title="Notices" lines={notices.map((n) => ({ position: n.position, text: n.message }))} />
      <Folded
        title="Changed since it was recorded or begun"
        lines={changes.map((c) => ({ position: c.position, text: c.what }))}
      />
    </>
  );
}

/** Of more lines than these the newest are shown. */
const SHOWN = 300;

/** Lines that are made only when the reader opens them. */
function Folded({
  title,
  lines,
}: {
  readonly title: string;
  readonly lines: readonly { readonly position: string; readonly text: string }[];
}) {
  const [open, setOpen] = useState(false);
  if (lines.length === 0) return null;
  const first = Math.max(0, lines.length - SHOWN);
  return (
    <details className="details" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        {title} ({count(lines.length)})
      </summary>
      {open && (
        <ul className="notes">
          {first > 0 && <li className="muted">{count(first)} older ones are not shown.</li>}
          {lines.slice(first).map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines are only added, and may repeat
            <li key={first + index}>
              <span className="mono muted">{line.position}</span> {line.text}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function ConfigFacts({ config }: { readonly config: RunConfig }) {
  const agents = Object.entries(config.models ?? {}).map(([agent, m]) => `${agent}: ${m.provider}, ${m.model}`);
  return (
    <Facts
      rows={[
        ['Sizes', config.sizeSet],
        ['Rounds R, repairs D', `${config.rounds}, ${config.debugAttempts}`],
        ['Profile', config.profile],
        ['Provider, model', `${config.provider}, ${config.model || '–'}`],
        ['Other models', agents.length > 0 ? agents.join('; ') : 'none'],
        ['Effort', config.effort ?? 'not said'],
        ['Runs jobs', config.executor],
        ['Architecture', config.arch],
        ['Limits', limitsText(config)],
        [
          'Notes to the Planner',
          config.notes === '' ? (
            'none'
          ) : (
            <span key="n" className="prose">
              {config.notes}
            </span>
          ),
        ],
      ]}
    />
  );
}

function limitsText(config: RunConfig): string {
  const parts = [
    config.maxUsd === null ? null : money(config.maxUsd),
    config.maxTokens === null ? null : `${count(config.maxTokens)} tokens`,
    config.maxMinutes === null ? null : `${number(config.maxMinutes, 3)} minutes`,
  ].filter((p) => p !== null);
  return parts.length > 0 ? parts.join(', ') : 'none';
}
