import { type KeyboardEvent, useRef } from 'react';
import { Badge, OutcomeBadge } from '../../ui/feedback.tsx';
import { duration, ratio, stamp } from '../../ui/format.ts';
import { useNow } from '../../ui/hooks.ts';
import { Icon } from '../../ui/icons.tsx';
import type { TimelineNode, TimelineStep } from './timeline-model.ts';

interface Props {
  readonly nodes: readonly TimelineNode[];
  readonly selected: string;
  readonly onSelect: (id: string) => void;
}

/** Rounds, attempts and their steps in order. Arrow keys move between them. */
export function Timeline({ nodes, selected, onSelect }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const open = nodes.some((n) => n.steps.some((s) => s.state === 'open'));
  const now = useNow(open);
  const ids = ['run', ...nodes.map((n) => n.id)];
  const onKey = (e: KeyboardEvent) => {
    const index = ids.indexOf(selected);
    const to =
      e.key === 'ArrowDown'
        ? index + 1
        : e.key === 'ArrowUp'
          ? index - 1
          : e.key === 'Home'
            ? 0
            : e.key === 'End'
              ? ids.length - 1
              : null;
    const id = to === null ? undefined : ids[to];
    if (id === undefined) return;
    e.preventDefault();
    onSelect(id);
    list.current?.querySelector<HTMLElement>(`[data-node="${id}"]`)?.focus();
  };
  const item = (id: string) => ({
    'data-node': id,
    'aria-current': id === selected ? ('true' as const) : undefined,
    tabIndex: id === selected ? 0 : -1,
    onClick: () => onSelect(id),
    onKeyDown: onKey,
  });
  return (
    <div ref={list} className="timeline">
      <button type="button" className="node node-0" {...item('run')}>
        <span className="node-head">
          <span className="node-title">Overview</span>
        </span>
      </button>
      {nodes.map((n) => (
        <div key={n.id}>
          <button type="button" className={`node node-${n.level}`} {...item(n.id)}>
            <span className="node-head">
              <span className="node-title">{n.title}</span>
              <span className="node-id mono muted">{n.id}</span>
              {n.best && (
                <Badge tone="info" title="The best version so far">
                  best
                </Badge>
              )}
              <span className="node-gap" />
              {n.score && <span className="node-score">{ratio(n.score.value)}</span>}
              {n.outcome !== undefined && <OutcomeBadge outcome={n.outcome} />}
            </span>
            {n.text !== '' && <span className="node-text">{n.text}</span>}
          </button>
          {n.steps.length > 0 && (
            <ul className={`steps steps-${n.level}`}>
              {n.steps.map((s) => (
                <Step key={s.position} step={s} now={now} />
              ))}
            </ul>
          )}
        </div>
      ))}
    </div>
  );
}

const icons = { open: 'run', parked: 'wait', done: 'check' } as const;
const states = { open: 'under way', parked: 'waiting', done: 'done' } as const;

function Step({ step, now }: { readonly step: TimelineStep; readonly now: number }) {
  const end = step.doneAt === null ? now : Date.parse(step.doneAt);
  return (
    <li className={`step step-${step.state}`} title={`${step.position}\nbegan ${stamp(step.openedAt)}`}>
      <Icon name={icons[step.state]} size={12} />
      <span className="visually-hidden">{states[step.state]}: </span>
      <span className="step-name">{step.name}</span>
      {step.repeated && <span className="muted">(repeated)</span>}
      {step.now && <span className="step-now muted">{step.now}</span>}
      <span className="step-time muted">{duration(end - Date.parse(step.openedAt))}</span>
    </li>
  );
}
