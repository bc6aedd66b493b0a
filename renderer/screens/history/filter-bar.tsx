import { type Ref, useMemo, useState } from 'react';
import type { VersionRow } from '../../../main/contract/api.ts';
import { Button, Checkbox, Segmented } from '../../ui/controls.tsx';
import { count } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { outcomeLook } from '../../ui/outcomes.ts';
import { anything, type Facet, type Filter, facetCounts, isNarrowed, pending } from './filter.ts';

const titles: Readonly<Record<Facet, string>> = { task: 'Kernel', dtype: 'Type', outcome: 'Outcome', gpu: 'GPU' };
const nameOf = (facet: Facet, value: string): string =>
  facet === 'outcome' ? outcomeLook(value === pending ? null : value).label : value;

function FacetSelect({
  facet,
  rows,
  filter,
  onChange,
}: {
  readonly facet: Facet;
  readonly rows: readonly VersionRow[];
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
}) {
  // Counting takes a look at every version: only for a list that someone is about to open.
  const [near, setNear] = useState(false);
  const [focused, setFocused] = useState(false);
  const values = useMemo<readonly (readonly [string, number | null])[]>(() => {
    if (near || focused) return facetCounts(rows, filter, facet);
    return filter[facet] === '' ? [] : [[filter[facet], null]];
  }, [rows, filter, facet, near, focused]);
  return (
    <select
      className="input select facet"
      aria-label={titles[facet]}
      value={filter[facet]}
      data-set={filter[facet] !== '' || undefined}
      onPointerEnter={() => setNear(true)}
      onPointerLeave={() => setNear(false)}
      onFocus={() => setFocused(true)}
      onBlur={() => setFocused(false)}
      onChange={(e) => onChange({ ...filter, [facet]: e.target.value })}
    >
      <option value="">{`${titles[facet]}: any`}</option>
      {values.map(([value, n]) => (
        <option key={value} value={value}>
          {n === null ? nameOf(facet, value) : `${nameOf(facet, value)} (${count(n)})`}
        </option>
      ))}
    </select>
  );
}

/** What narrows the list, and how much of it is left. */
export function FilterBar({
  rows,
  shown,
  filter,
  onChange,
  bin,
  onBin,
  search,
}: {
  readonly rows: readonly VersionRow[];
  readonly shown: number;
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
  readonly bin: boolean;
  readonly onBin: (bin: boolean) => void;
  readonly search: Ref<HTMLInputElement>;
}) {
  return (
    <div className="filter-bar" role="search" aria-label="Versions">
      <div className="filter-text">
        <Icon name="search" />
        <input
          ref={search}
          className="input"
          type="search"
          aria-label="Find versions"
          placeholder="Find: kernel, run, note, GPU …  ( / )"
          value={filter.text}
          spellCheck={false}
          onChange={(e) => onChange({ ...filter, text: e.target.value })}
        />
      </div>
      {(['task', 'dtype', 'outcome', 'gpu'] as const).map((facet) => (
        <FacetSelect key={facet} facet={facet} rows={rows} filter={filter} onChange={onChange} />
      ))}
      <Checkbox label="Pinned" checked={filter.pinned} onChange={(pinned) => onChange({ ...filter, pinned })} />
      {isNarrowed(filter) && (
        <Button tone="quiet" icon="close" onClick={() => onChange(anything)}>
          Clear
        </Button>
      )}
      <span className="filter-count muted" role="status">
        {shown === rows.length ? `${count(shown)} versions` : `${count(shown)} of ${count(rows.length)} versions`}
      </span>
      <Segmented
        label="List"
        value={bin ? 'bin' : 'all'}
        options={[
          { value: 'all', label: 'History' },
          { value: 'bin', label: 'Bin' },
        ]}
        onChange={(v) => onBin(v === 'bin')}
      />
    </div>
  );
}
