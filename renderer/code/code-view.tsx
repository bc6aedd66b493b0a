import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Button, Checkbox, IconButton, Segmented } from '../ui/controls.tsx';
import { CodePane } from './code-pane.tsx';
import type { Shown } from './code-row.ts';
import {
  anchorOf,
  type CodeModel,
  hottest,
  nextHot,
  type Side,
  type SortBy,
  type StallColumn,
  searchRows,
} from './model.ts';
import '../charts/scale.css';
import './code.css';

export interface CodeSelection {
  readonly side: Side;
  readonly index: number;
}

interface Props {
  readonly model: CodeModel;
  /** The row to begin with; default: none. A new object selects again. */
  readonly start?: CodeSelection | null;
  readonly onSelect?: (selection: CodeSelection | null) => void;
}

type Layout = 'both' | Side;
const NOTHING: ReadonlySet<number> = new Set();
/** Reasons with less than this share of the samples are hidden until they are asked for. */
const WORTH = 0.005;
const other = (side: Side): Side => (side === 'lines' ? 'instructions' : 'lines');

/** Source and machine code beside each other with samples and stalls as heat; a row selects those made from it on the other side. */
export function CodeView({ model, start = null, onSelect }: Props) {
  const both = model.lines.length > 0 && model.instructions.length > 0;
  const [layout, setLayout] = useState<Layout>(both ? 'both' : model.lines.length > 0 ? 'lines' : 'instructions');
  const [shown, setShown] = useState<Shown>('percent');
  const [sort, setSort] = useState<Record<Side, SortBy>>({ lines: 'order', instructions: 'order' });
  const [picked, setPicked] = useState<ReadonlySet<string> | null>(null);
  const [query, setQuery] = useState('');
  const [selection, setSelection] = useState<CodeSelection | null>(null);
  const [reveal, setReveal] = useState<Partial<Record<Side, { readonly index: number }>>>({});
  const search = useRef<HTMLInputElement>(null);

  const columns = useMemo(() => chosen(model, picked), [model, picked]);
  const linked = useMemo(
    () => new Set(selection === null ? [] : (model[selection.side][selection.index]?.linked ?? [])),
    [model, selection],
  );
  const found = useMemo(
    () => ({ lines: searchRows(model.lines, query), instructions: searchRows(model.instructions, query) }),
    [model, query],
  );
  const foundSets = useMemo(
    () => ({ lines: new Set(found.lines), instructions: new Set(found.instructions) }),
    [found],
  );

  const select = useCallback(
    (side: Side, index: number | null) => {
      const next = index === null ? null : { side, index };
      setSelection(next);
      onSelect?.(next);
      if (index === null) return;
      const across = anchorOf(model[other(side)], model[side][index]?.linked ?? []);
      setReveal({ [side]: { index }, ...(across === null ? {} : { [other(side)]: { index: across } }) });
    },
    [model, onSelect],
  );
  useEffect(() => {
    if (start !== null) select(start.side, start.index);
  }, [start, select]);

  const sides: Side[] = layout === 'both' ? ['lines', 'instructions'] : [layout];
  const first = sides[0] as Side;
  const active = selection !== null && sides.includes(selection.side) ? selection.side : first;
  const step = (direction: 1 | -1): void => {
    const current = selection?.side === active ? selection.index : -1;
    const next = nextHot(hottest(model[active], sort[active]), current, direction);
    if (next !== null) select(active, next);
  };
  const matches = sides.flatMap((side) => found[side].map((index) => ({ side, index })));
  const toMatch = (direction: 1 | -1): void => {
    const at = matches.findIndex(({ side, index }) => side === selection?.side && index === selection.index);
    const next = matches[(at + direction + matches.length) % matches.length] ?? matches[0];
    if (next) select(next.side, next.index);
  };
  const cross = (side: Side): void => {
    const to = anchorOf(model[other(side)], [...linked]);
    if (to === null) return;
    if (layout !== 'both') setLayout(other(side));
    select(other(side), to);
    requestAnimationFrame(() => document.getElementById(`code-${other(side)}`)?.focus());
  };

  return (
    <div className="code-view">
      <div className="code-bar" role="toolbar" aria-label="Code view">
        {both && (
          <Segmented
            label="Columns"
            value={layout}
            onChange={setLayout}
            options={[
              { value: 'lines', label: 'Source' },
              { value: 'both', label: 'Both' },
              { value: 'instructions', label: 'SASS' },
            ]}
          />
        )}
        <Segmented
          label="Figures"
          value={shown}
          onChange={setShown}
          options={[
            { value: 'percent', label: '%' },
            { value: 'samples', label: 'Samples' },
          ]}
        />
        <Segmented
          label="Order"
          value={sides.every((side) => sort[side] === 'order') ? 'order' : 'hot'}
          onChange={(to) =>
            setSort(
              to === 'order'
                ? { lines: 'order', instructions: 'order' }
                : { lines: 'samples', instructions: 'samples' },
            )
          }
          options={[
            { value: 'order', label: 'Program order' },
            { value: 'hot', label: 'Hottest first' },
          ]}
        />
        <Button icon="up" onClick={() => step(-1)} title="Next hotter row (p)">
          Hotter
        </Button>
        <Button icon="down" onClick={() => step(1)} title="Hottest row, then the next (n)">
          {selection === null ? 'Hottest' : 'Next hottest'}
        </Button>
        <StallChooser model={model} columns={columns} onPick={setPicked} />
        <span className="code-search">
          <input
            ref={search}
            className="input"
            type="search"
            value={query}
            placeholder="Search code  /"
            aria-label="Search source and machine code"
            spellCheck={false}
            onChange={(e) => setQuery(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === 'Enter') toMatch(e.shiftKey ? -1 : 1);
              if (e.key === 'Escape') document.getElementById(`code-${active}`)?.focus();
            }}
          />
          <IconButton icon="up" label="Previous match" disabled={matches.length === 0} onClick={() => toMatch(-1)} />
          <IconButton icon="down" label="Next match" disabled={matches.length === 0} onClick={() => toMatch(1)} />
          <span className="muted tabular" role="status">
            {query.trim() === '' ? '' : `${matches.length} found`}
          </span>
        </span>
      </div>
      <div className={`code-panes code-panes-${layout}`}>
        {sides.map((side) => (
          <CodePane
            key={side}
            id={`code-${side}`}
            side={side}
            title={side === 'lines' ? 'Source lines with warp samples' : 'Instructions with warp samples'}
            model={model}
            columns={columns}
            shown={shown}
            sort={sort[side]}
            onSort={(by) => setSort((old) => ({ ...old, [side]: by === old[side] ? 'order' : by }))}
            selected={selection?.side === side ? selection.index : null}
            linked={selection !== null && selection.side !== side ? linked : NOTHING}
            found={foundSets[side]}
            reveal={reveal[side] ?? null}
            onSelect={(index) => select(side, index)}
            onSearch={() => search.current?.focus()}
            onCross={() => cross(side)}
          />
        ))}
      </div>
    </div>
  );
}

function chosen(model: CodeModel, picked: ReadonlySet<string> | null): readonly StallColumn[] {
  if (picked !== null) return model.stalls.filter(({ id }) => picked.has(id));
  return model.stalls.filter(({ samples }) => samples > 0 && samples >= WORTH * (model.total ?? 0));
}

function StallChooser({
  model,
  columns,
  onPick,
}: {
  readonly model: CodeModel;
  readonly columns: readonly StallColumn[];
  readonly onPick: (ids: ReadonlySet<string>) => void;
}) {
  const on = new Set(columns.map(({ id }) => id));
  const toggle = (id: string): void =>
    onPick(new Set(on.has(id) ? [...on].filter((each) => each !== id) : [...on, id]));
  return (
    <details className="code-chooser">
      <summary className="button button-plain">
        Stall reasons <span className="count">{columns.length}</span>
      </summary>
      <div className="code-choices">
        <div className="code-choice-bar">
          <Button onClick={() => onPick(new Set(model.stalls.map(({ id }) => id)))}>All</Button>
          <Button onClick={() => onPick(new Set())}>None</Button>
        </div>
        {model.stalls.length === 0 && <p className="muted">The page has no stall columns.</p>}
        {model.stalls.map(({ id, label, samples, meaning }) => (
          <Checkbox
            key={id}
            label={
              <span title={meaning}>
                {label}{' '}
                <span className="muted tabular">
                  {model.total ? `${((100 * samples) / model.total).toFixed(1)} %` : samples}
                </span>
              </span>
            }
            checked={on.has(id)}
            onChange={() => toggle(id)}
          />
        ))}
      </div>
    </details>
  );
}
