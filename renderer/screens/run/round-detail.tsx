import type { StepLine } from '../../../main/contract/api.ts';
import type { RoundState } from '../../../main/contract/run-state.ts';
import { setQuery } from '../../app/navigation.ts';
import type { RunView } from '../../state/run-view.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { Badge, Empty } from '../../ui/feedback.tsx';
import { ratio } from '../../ui/format.ts';
import { Tabs } from '../../ui/panels.tsx';
import { Messages } from './messages.tsx';
import { placeOf } from './positions.ts';
import { type RoundEnd, roundEnd } from './timeline-model.ts';

interface Props {
  readonly run: string;
  readonly view: RunView;
  readonly steps: readonly StepLine[];
  readonly round: RoundState;
  readonly tab?: string;
}

/** A round: its scheme and how it was asked for. */
/** The Planner's requests of a round: the first, and those after a rejection. */
function plannerPositions(steps: readonly StepLine[], round: number): string[] {
  const asked = steps.filter((s) => s.agent === 'planner' && placeOf(s.position)?.round === round);
  return asked.length > 0 ? asked.map((s) => s.position) : [`r${round}.planner`];
}

const ENDS: Record<RoundEnd, string> = {
  best: 'made a new best',
  withdrawn: 'a new best, until the machine changed',
  none: 'made no new best',
};

export function RoundDetail({ run, view, steps, round, tab }: Props) {
  const end = roundEnd(round);
  const holds = end === 'best';
  const shown = tab ?? (round.scheme === '' && !round.ended ? 'messages' : 'scheme');
  return (
    <Tabs
      label={`Round ${round.round}`}
      value={shown}
      onChange={(id) => setQuery({ tab: id })}
      tabs={[
        { id: 'scheme', label: 'Scheme' },
        { id: 'messages', label: 'Planner' },
      ]}
    >
      {shown === 'messages' ? (
        <Messages run={run} view={view} positions={plannerPositions(steps, round.round)} />
      ) : (
        <div className="detail">
          <div className="row">
            {round.ended ? (
              <Badge tone={holds ? 'good' : 'neutral'} icon={holds ? 'check' : 'equal'}>
                {ENDS[end]}
              </Badge>
            ) : (
              <Badge tone="info" icon="wait">
                under way
              </Badge>
            )}
            {round.score !== null && <span>P {ratio(round.score)}</span>}
            {round.by === 'user' && <Badge tone="neutral">written by you</Badge>}
            <span className="node-gap" />
            {round.scheme !== '' && <CopyButton text={round.scheme} what="the scheme" />}
          </div>
          {round.scheme === '' ? (
            <Empty title="No scheme yet">
              {round.attempts.length > 0 ? 'This round began from a given source.' : 'The Planner is at work.'}
            </Empty>
          ) : (
            <p className="prose">{round.scheme}</p>
          )}
        </div>
      )}
    </Tabs>
  );
}
