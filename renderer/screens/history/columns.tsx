import type { VersionRow } from '../../../main/contract/api.ts';
import { sanitizedText } from '../../../main/contract/sanitized.ts';
import { Whisker } from '../../charts/whisker.tsx';
import type { LogDomain } from '../../charts/whisker-scale.ts';
import { IconButton } from '../../ui/controls.tsx';
import { OutcomeBadge } from '../../ui/feedback.tsx';
import { ago, count, level, MISSING, number, ratio, ratioEstimate, stamp } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { bottleneckText, outcomeLook, outcomeOf } from '../../ui/outcomes.ts';
import type { Column } from '../../ui/table.tsx';
import { useActions } from './actions.ts';
import { NoteCell } from './note.tsx';

/** Times are compared as numbers: ten thousand of them, on every click. */
const times = new WeakMap<VersionRow, number>();
export function timeOf(row: VersionRow): number {
  const known = times.get(row);
  if (known !== undefined) return known;
  const at = Date.parse(row.at);
  times.set(row, at);
  return at;
}

/** "r2.a0" or "origin": what of its run a version is. */
export const positionOf = (row: VersionRow): string => row.id.slice(row.run.length + 1);

/** "memory-latency, launch": the word "bound" is the column's. */
const shortBottleneck = (v: VersionRow): string =>
  bottleneckText(v.bottleneck, v.launchBound).replaceAll(' bound', '') || MISSING;

/** Only pinned rows have a button here (key p and the details pin the others): thousands of rows are scrolled past. */
function PinCell({ row }: { readonly row: VersionRow }) {
  const { edit } = useActions();
  if (!row.pinned) return null;
  return (
    <IconButton
      icon="pin"
      label={`Unpin ${row.id}`}
      className="pin pin-on"
      tabIndex={-1}
      onClick={(e) => {
        e.stopPropagation();
        void edit(row, { pinned: false });
      }}
    />
  );
}

/** "0.98× … 1,605×": what the axis of the whiskers spans. */
export const domainText = (d: LogDomain | null): string => (d === null ? '' : `${ratio(d.lo)} to ${ratio(d.hi)}`);

const scoreHint = (v: VersionRow): string =>
  v.score === null
    ? 'No confirmed figure: only a measurement that was repeated in fresh processes counts.'
    : `${ratioEstimate(v.score)}, ${level(v.score.level)} interval${v.sanitized === null ? '' : `; ${sanitizedText(v.sanitized)}`}`;

/** Columns of the history; `domain`: axis of the scores' whiskers. */
export function historyColumns(domain: LogDomain | null): readonly Column<VersionRow>[] {
  return [
    {
      id: 'pin',
      title: 'Pin',
      width: '32px',
      fits: true,
      sort: (v) => !v.pinned,
      cell: (v) => <PinCell row={v} />,
      meaning: 'Pinned versions are kept in sight.',
    },
    {
      id: 'task',
      title: 'Kernel',
      width: 'minmax(138px, 1fr)',
      sort: (v) => v.task,
      cell: (v) => <span>{v.task}</span>,
    },
    { id: 'dtype', title: 'Type', width: '48px', fits: true, sort: (v) => v.dtype, cell: (v) => v.dtype },
    {
      id: 'version',
      title: 'Version',
      width: 'minmax(174px, 1.2fr)',
      sort: (v) => v.id,
      cell: (v) => (
        <span>
          <span className="mono">{v.id}</span>
          {v.label !== positionOf(v) && <span className="muted"> {v.label}</span>}
        </span>
      ),
      hint: (v) => `${v.id}: ${v.label}`,
    },
    {
      id: 'outcome',
      title: 'Outcome',
      width: '112px',
      fits: true,
      sort: (v) => outcomeLook(outcomeOf(v)).label,
      cell: (v) => <OutcomeBadge outcome={outcomeOf(v)} />,
      hint: (v) => v.reason,
    },
    {
      id: 'score',
      title: 'Speed-up',
      width: '156px',
      fits: true,
      align: 'right',
      sort: (v) => v.score?.value ?? null,
      cell: (v) =>
        v.score === null ? (
          <span className="muted">{MISSING}</span>
        ) : (
          <span>
            {v.sanitized !== null && v.sanitized.state !== 'yes' && (
              <span role="img" aria-label={sanitizedText(v.sanitized)}>
                <Icon name="warn" size={11} />{' '}
              </span>
            )}
            {ratioEstimate(v.score)}
          </span>
        ),
      hint: scoreHint,
      meaning: 'Score P over the origin with its interval, from the confirming measurement.',
    },
    {
      id: 'whisker',
      title: 'Interval',
      width: '110px',
      fits: true,
      cell: (v) => v.score && <Whisker estimates={[v.score]} domain={domain} mark={1} width={94} />,
      hint: scoreHint,
      meaning: `Score and interval on one logarithmic axis${domain === null ? '' : `, ${domainText(domain)}`}; the dashed line is 1×.`,
    },
    {
      id: 'pmin',
      title: 'P_min',
      width: '68px',
      fits: true,
      align: 'right',
      sort: (v) => v.pMin,
      cell: (v) => ratio(v.pMin),
      meaning: 'Speed-up of the worst size.',
    },
    {
      id: 'bottleneck',
      title: 'Bound by',
      width: 'minmax(168px, 1.1fr)',
      sort: (v) => bottleneckText(v.bottleneck, v.launchBound) || null,
      cell: (v) => <span>{shortBottleneck(v)}</span>,
      hint: (v) => bottleneckText(v.bottleneck, v.launchBound) || 'No profile with a verdict.',
    },
    {
      id: 'ulp',
      title: 'Error',
      unit: 'ulp',
      width: '88px',
      fits: true,
      align: 'right',
      sort: (v) => v.maxUlp,
      cell: (v) => number(v.maxUlp, 3),
      meaning: 'Largest error of the verification, in units in the last place of the stored type.',
    },
    {
      id: 'registers',
      title: 'Regs',
      width: '48px',
      fits: true,
      align: 'right',
      sort: (v) => v.registers,
      cell: (v) => count(v.registers),
      meaning: 'Registers per thread of the heaviest kernel.',
    },
    {
      id: 'gpu',
      title: 'GPU',
      width: 'minmax(56px, 0.5fr)',
      sort: (v) => v.gpu,
      cell: (v) => <span>{v.gpu?.replace(/^NVIDIA /, '') ?? MISSING}</span>,
      hint: (v) => v.gpu ?? 'Not measured on a GPU.',
    },
    {
      id: 'at',
      title: 'Made',
      width: '82px',
      fits: true,
      align: 'right',
      sort: timeOf,
      cell: (v) => ago(v.at),
      hint: (v) => stamp(v.at),
    },
    {
      id: 'note',
      title: 'Note',
      width: 'minmax(70px, 1.1fr)',
      sort: (v) => v.note || null,
      cell: (v) => <NoteCell row={v} />,
      hint: (v) => v.note,
    },
  ];
}
