import type { AppEvent, StoredEvent } from '../app/index.ts';
import { confirmedFigures, type Evaluation, isValidOutcome } from '../contract/index.ts';
import { bottleneckText, ratioText, timeText } from './figures.ts';
import { type Printer, printable } from './output.ts';

const firstLine = (text: string, width = 100): string => {
  const line = printable(text.trim().split('\n')[0] ?? '');
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
};

function evaluationText(e: Evaluation): string {
  const parts = [e.outcome.toUpperCase()];
  const figures = confirmedFigures(e);
  if (figures?.score && isValidOutcome(e.outcome)) parts.push(`P = ${ratioText(figures.score)}`);
  else if (figures?.phase === 'baseline' && figures.sizes[0])
    parts.push(`${figures.sizes[0].problem} ${timeText(figures.sizes[0].originSpanNs)}`);
  const bound = bottleneckText(e);
  if (bound) parts.push(bound);
  return `${parts.join('  ')}  ${firstLine(e.reason, 160)}`;
}

/** One line per durable event; null = not worth a line. */
export function eventLine(event: StoredEvent): string | null {
  const at = (round: number, attempt?: number) =>
    (attempt === undefined ? `r${round}` : `r${round}.a${attempt}`).padEnd(6);
  switch (event.type) {
    case 'run-started':
      return null;
    case 'baseline':
      return `${at(0)} origin: ${evaluationText(event.evaluation)}`;
    case 'round-started':
      return `${at(event.round)} round ${event.round}`;
    case 'scheme':
      return `${at(event.round)} scheme (${event.by ?? 'planner'}): ${firstLine(event.scheme)}`;
    case 'attempt-started':
      return null;
    case 'fix':
      return `${at(event.round, event.attempt)} debug: ${firstLine(event.fix)}`;
    case 'source':
      return `${at(event.round, event.attempt)} source: ${event.source.split('\n').length} lines, nvcc ${event.compileArgs.join(' ')}`;
    case 'evaluated':
      return `${at(event.round, event.attempt)} ${evaluationText(event.evaluation)}`;
    case 'bad-reply':
      return `${at(event.round, event.attempt)} unusable reply of the ${event.agent}: ${firstLine(event.reason)}`;
    case 'round-ended':
      return `${at(event.round)} ${event.accepted ? 'new best' : 'not accepted'}${event.outcome ? ` (${event.outcome})` : ''}`;
    case 'usage':
      return null;
    case 'parked':
      return `       waits for ${event.waitingFor === 'bundle' ? 'a bundle' : 'an answer'}: ${event.path}`;
    case 'resumed':
      return `       resumed: ${event.note}`;
    case 'changed':
      return `       changed at ${event.position}: ${event.what}`;
    case 'remeasured':
      return `       measured again: origin ${evaluationText(event.origin)}${
        event.best === null
          ? ''
          : `; best r${event.best.round}.a${event.best.attempt} ${evaluationText(event.best.evaluation)}${event.bestRound === 0 ? '; the origin is the best again' : ''}`
      }`;
    case 'notice':
      return `       note (${event.position}): ${firstLine(event.message, 200)}`;
    case 'limit':
      return `       limit: ${event.message}`;
    case 'run-ended':
      return null;
  }
}

/** "published 12/200, 1 failed, 6 min left: dot_product fp32 verify" */
function benchStatus(event: Extract<AppEvent, { type: 'bench' }>): string {
  const { stage, done, failed, total, leftMs, note } = event;
  const left =
    leftMs === null
      ? ''
      : `, ${leftMs < 90_000 ? `${Math.ceil(leftMs / 1000)} s` : `${Math.ceil(leftMs / 60_000)} min`} left`;
  return `${stage} ${done}/${total}${failed > 0 ? `, ${failed} failed` : ''}${left}${note === '' ? '' : `: ${note}`}`;
}

/** Shows events to a person: lines for durable ones, a status line for the rest. */
export function showEvent(printer: Printer, event: AppEvent): void {
  if (event.type === 'run') {
    printer.note(`Run ${event.run}: ${event.kind} ${event.task}`);
    printer.replays = event.kind === 'replay' || event.kind === 'demo';
  } else if (event.type === 'event') {
    // In a replay every job may differ from the recorded one; the report says so once, at its end.
    const line = printer.replays && event.event.type === 'changed' ? null : eventLine(event.event);
    if (line !== null) printer.note(line);
    printer.status('');
  } else if (event.type === 'transient') {
    const e = event.event;
    if (e.type === 'progress') printer.status(`[${e.index + 1}/${e.count}] ${e.step}${e.note ? `: ${e.note}` : ''}`);
    else printer.status(`${e.agent}: … ${e.text.slice(-60)}`);
  } else if (event.type === 'bench') {
    printer.status(benchStatus(event));
  } else {
    printer.note(`Note: ${printable(event.message)}`);
    if (event.detail) printer.note(`  ${printable(event.detail)}`);
    if (event.remedy) printer.note(`  ${printable(event.remedy)}`);
  }
}
