import { useMemo, useState } from 'react';
import type { HeatRow, Profile } from '../../../main/contract/profile.ts';
import { SOURCE_LIMITS } from '../../../main/contract/source-limits.ts';
import { type CodeSelection, CodeView } from '../../code/code-view.tsx';
import { type CodeModel, codeModel, type StallColumn, stallLabel } from '../../code/model.ts';
import { Callout } from '../../ui/feedback.tsx';
import { count, percent } from '../../ui/format.ts';
import type { ProfileContext } from './profile-screen.tsx';

/** Rows of both heatmaps: they carry intervals, and the words for the stalls. */
function heatRows(profile: Profile): readonly HeatRow[] {
  const { heatmap } = profile;
  if (heatmap === undefined) return [];
  return [heatmap.lines, heatmap.instructions].flatMap((map) => (map.available ? map.rows : []));
}

/** Why there is no code to show, in words; null: there is. */
function whyNoCode({ source, heatmap, stages }: Profile): { reason: string; remedy: string } | null {
  if (source !== undefined && source.lines.length + source.instructions.length > 0) return null;
  const map = heatmap?.lines ?? heatmap?.instructions;
  const said = map !== undefined && !map.available ? map.reason : source?.notes[0];
  return {
    reason: said === undefined ? 'This profile has no source page.' : `No source page: ${said}.`,
    remedy:
      stages === undefined
        ? 'It was made by a version of CUDAMaster that did not keep one. Evaluate the version again to collect it.'
        : 'Evaluate the version again with the profile mode “filtered” or “full”; the page needs source counters of Nsight Compute.',
  };
}

const many = (n: number, what: string): string => `${count(n)} ${what}${n === 1 ? '' : 's'}`;

/** Source and SASS with heat, and in words what the selected row waits for. */
export function CodeTab({ context }: { readonly context: ProfileContext }) {
  const { profile, selected, catalogue } = context;
  const { source } = profile;
  const rows = useMemo(() => heatRows(profile), [profile]);
  const known = useMemo(() => {
    const map = new Map<string, Pick<StallColumn, 'label' | 'meaning'>>();
    for (const { dominant } of rows) if (dominant !== null) map.set(dominant.stall, dominant);
    for (const line of catalogue) if (line.id.startsWith('stall:')) map.set(line.id.slice('stall:'.length), line);
    return map;
  }, [rows, catalogue]);
  const model = useMemo(
    () => (source === undefined ? null : codeModel(source, selected.source, known)),
    [source, selected.source, known],
  );
  const [selection, setSelection] = useState<CodeSelection | null>(null);
  const missing = whyNoCode(profile);
  if (missing !== null || model === null || source === undefined)
    return (
      <div className="pad">
        <Callout tone="info" icon="info" title={missing?.reason ?? ''}>
          <p>{missing?.remedy}</p>
        </Callout>
      </div>
    );
  const left = source.omitted.lines + source.omitted.instructions;
  return (
    <div className="code-tab">
      <div className="code-facts">
        <span className="mono" title={source.function}>
          {source.function}
        </span>
        <span className="tabular">
          {source.samples === null ? 'no samples' : `${count(source.samples)} warp samples`}
        </span>
        <span className="tabular muted">
          {many(source.lines.length, 'line')}, {many(source.instructions.length, 'instruction')}
          {left > 0 &&
            `; ${count(left)} rows with the fewest samples were left out (at most ${count(SOURCE_LIMITS.instructions)} instructions and ${count(SOURCE_LIMITS.lines)} lines are kept, and what a compressed page has room for)`}
        </span>
        {source.notes.length > 0 && (
          <details className="code-notes">
            <summary>{many(source.notes.length, 'note')}</summary>
            <ul className="notes">
              {source.notes.map((note) => (
                <li key={note}>{note}</li>
              ))}
            </ul>
          </details>
        )}
      </div>
      <CodeView model={model} onSelect={setSelection} />
      <SelectedRow model={model} rows={rows} selection={selection} known={known} />
    </div>
  );
}

function SelectedRow({
  model,
  rows,
  selection,
  known,
}: {
  readonly model: CodeModel;
  readonly rows: readonly HeatRow[];
  readonly selection: CodeSelection | null;
  readonly known: ReadonlyMap<string, Pick<StallColumn, 'label' | 'meaning'>>;
}) {
  const row = selection === null ? undefined : model[selection.side][selection.index];
  if (row === undefined)
    return (
      <p className="code-words muted">
        Samples stand where a warp waited, not where the value it waited for was asked for. Keys: arrows, n and p
        (hottest), s (order), / (search), Enter (over to the other side).
      </p>
    );
  const heat = rows.find((h) => (h.address ?? `${h.file}:${h.line}`) === row.at);
  const reasons = Object.entries(row.stalls)
    .filter(([, samples]) => samples > 0)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 4);
  const first = reasons.find(([id]) => id !== 'selected')?.[0];
  const meaning = first === undefined ? '' : (known.get(first)?.meaning ?? '');
  return (
    <p className="code-words" role="status">
      <strong>{selection?.side === 'lines' ? `${row.file ?? 'line'}:${row.label}` : `+0x${row.label}`}</strong>
      {': '}
      {row.samples === null ? (
        row.measured ? (
          'has no sample count'
        ) : (
          'no machine code belongs to this line'
        )
      ) : (
        <>
          {model.total ? percent(row.samples / model.total) : '–'}
          {heat !== undefined && ` ± ${percent(heat.plusMinus)}`} of the samples ({count(row.samples)})
          {row.executed !== null && `, ${count(row.executed)} warp instructions executed`}
        </>
      )}
      {reasons.length > 0 && row.samples ? (
        <>
          {': '}
          {reasons
            .map(
              ([id, samples]) =>
                `${known.get(id)?.label ?? stallLabel(id)} ${percent(samples / (row.samples ?? 1), 0)}`,
            )
            .join(', ')}
          {'. '}
          {meaning}
        </>
      ) : null}
    </p>
  );
}
