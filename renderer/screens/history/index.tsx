import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { VersionRow } from '../../../main/contract/api.ts';
import { useQuery } from '../../api/client.ts';
import { type Command, useCommands } from '../../app/commands.ts';
import { go, setQuery } from '../../app/navigation.ts';
import type { ScreenProps } from '../../app/screens.tsx';
import { domainOf } from '../../charts/whisker-scale.ts';
import { Button } from '../../ui/controls.tsx';
import { Empty, ErrorBox, Loading } from '../../ui/feedback.tsx';
import { Table } from '../../ui/table.tsx';
import { type Actions, ActionsProvider, useVersionActions } from './actions.ts';
import { historyColumns } from './columns.tsx';
import { Details } from './details.tsx';
import { anything, type Filter, filterOf, filterVersions, isNarrowed } from './filter.ts';
import { FilterBar } from './filter-bar.tsx';
import './history.css';

const keyOf = (v: VersionRow): string => v.id;

/** Filter as the address has it; the address follows the typing after a moment. */
function useFilter(query: Readonly<Record<string, string>>): [Filter, (f: Filter) => void] {
  const [filter, setFilter] = useState(() => filterOf(query));
  const told = useRef(JSON.stringify(filter));
  const asked = JSON.stringify(filterOf(query));
  // A link or the back button changed the address.
  useEffect(() => {
    if (asked === told.current) return;
    told.current = asked;
    setFilter(JSON.parse(asked) as Filter);
  }, [asked]);
  useEffect(() => {
    const timer = setTimeout(() => {
      const now = JSON.stringify(filter);
      if (now === told.current) return;
      told.current = now;
      const { text, pinned, ...rest } = filter;
      setQuery({ q: text || undefined, pinned: pinned ? '1' : undefined, ...rest });
    }, 250);
    return () => clearTimeout(timer);
  }, [filter]);
  return [filter, setFilter];
}

/** At most two are chosen: the newest choice, and the one before it. */
function chosenAfter(chosen: readonly string[], id: string, extend: boolean): readonly string[] {
  if (!extend) return [id];
  return chosen.includes(id) ? chosen.filter((c) => c !== id) : [...chosen.slice(-1), id];
}

interface Chosen {
  readonly one: VersionRow | null;
  readonly pair: readonly [string, string] | null;
}

/** Keys of the table's current row: p, n, e, Delete, c. */
function takeKey(row: VersionRow, e: KeyboardEvent, actions: Actions, chosen: Chosen): boolean {
  if (e.ctrlKey || e.metaKey || e.altKey) return false;
  if (e.key === 'p') void actions.edit(row, { pinned: !row.pinned });
  else if (e.key === 'n') actions.setEditing(row.id);
  else if (e.key === 'e') actions.exportZip(row);
  else if (e.key === 'Delete') row.deletedAt === null ? actions.remove(row) : actions.restore(row);
  else if (e.key === 'c' && chosen.pair) go('compare', chosen.pair);
  else return false;
  return true;
}

function useHistoryCommands(chosen: Chosen, actions: Actions, focusSearch: () => void): void {
  const commands = useMemo<readonly Command[]>(() => {
    const { one, pair } = chosen;
    const on = (run: (row: VersionRow) => void) => ({ disabled: one === null, run: () => one && run(one) });
    return [
      { id: 'history.find', title: 'Find versions', group: 'History', key: '/', run: focusSearch },
      {
        id: 'history.compare',
        title: 'Compare the two chosen versions',
        group: 'History',
        disabled: pair === null,
        run: () => pair && go('compare', pair),
      },
      {
        id: 'history.pin',
        title: 'Pin or unpin the version',
        group: 'History',
        ...on((r) => void actions.edit(r, { pinned: !r.pinned })),
      },
      {
        id: 'history.note',
        title: 'Write a note beside the version',
        group: 'History',
        ...on((r) => actions.setEditing(r.id)),
      },
      {
        id: 'history.export',
        title: 'Export the version',
        group: 'History',
        words: 'zip bundle download',
        ...on(actions.exportZip),
      },
      { id: 'history.branch', title: 'Branch from the version', group: 'History', ...on((r) => go('kernel', [r.id])) },
      { id: 'history.profile', title: 'Profile of the version', group: 'History', ...on((r) => go('profile', [r.id])) },
      { id: 'history.delete', title: 'Put the version into the bin', group: 'History', ...on(actions.remove) },
    ];
  }, [chosen, actions, focusSearch]);
  useCommands(commands);
}

function Nothing({
  bin,
  narrowed,
  onClear,
}: {
  readonly bin: boolean;
  readonly narrowed: boolean;
  readonly onClear: () => void;
}) {
  if (narrowed)
    return (
      <Empty title="No version fits." action={<Button onClick={onClear}>Clear the filter</Button>}>
        <p>The words and choices above leave nothing of the list.</p>
      </Empty>
    );
  if (bin)
    return (
      <Empty title="The bin is empty.">
        <p>Deleted versions wait here until they are restored.</p>
      </Empty>
    );
  return (
    <Empty
      title="No version yet."
      action={
        <>
          <Button tone="primary" onClick={() => go('run', ['new'])}>
            Start a run
          </Button>
          <Button onClick={() => go('home')}>Replay a recording</Button>
        </>
      }
    >
      <p>Every version of every kernel that is measured stands here, with its figures and where it came from.</p>
    </Empty>
  );
}

/** `#/history?q=…&task=…&dtype=…&outcome=…&gpu=…&pinned=1&bin=1&version=ID` */
export default function Screen({ route }: ScreenProps) {
  const bin = route.query.bin === '1';
  const list = useQuery('versions.list', bin ? { deleted: true } : {}, ['versions']);
  const { rows: known, actions } = useVersionActions(list.data);
  const rows = useMemo(() => known.filter((r) => (r.deletedAt !== null) === bin), [known, bin]);
  const [filter, setFilter] = useFilter(route.query);
  const [ids, setIds] = useState<readonly string[]>(route.query.version ? [route.query.version] : []);
  const search = useRef<HTMLInputElement>(null);
  const shown = useMemo(() => filterVersions(rows, filter), [rows, filter]);
  const domain = useMemo(
    () =>
      domainOf(
        rows.map((r) => r.score),
        [1],
      ),
    [rows],
  );
  const columns = useMemo(() => historyColumns(domain), [domain]);
  const selected = useMemo(() => new Set(ids), [ids]);
  const chosen = useMemo<Chosen>(() => {
    const there = ids.flatMap((id) => rows.find((r) => r.id === id) ?? []);
    const [a, b] = there;
    return { one: there.at(-1) ?? null, pair: a && b ? [a.id, b.id] : null };
  }, [ids, rows]);
  // The first word that is typed must not wait for the texts of all versions to be put together.
  useEffect(() => {
    const warmed = setTimeout(() => filterVersions(rows, { ...anything, text: ' x' }), 150);
    return () => clearTimeout(warmed);
  }, [rows]);
  const focusSearch = useCallback(() => search.current?.focus(), []);
  useHistoryCommands(chosen, actions, focusSearch);
  const select = useCallback(
    (row: VersionRow, extend: boolean) => setIds((old) => chosenAfter(old, row.id, extend)),
    [],
  );
  const selectId = useCallback((id: string) => setIds([id]), []);
  const onBin = (to: boolean) => {
    setIds([]);
    setQuery({ bin: to ? '1' : undefined, version: undefined });
  };

  if (list.data === null && list.error !== null)
    return (
      <div className="history-fault">
        <ErrorBox
          error={list.error}
          action={
            <Button icon="retry" onClick={list.refresh}>
              Try again
            </Button>
          }
        />
      </div>
    );
  if (list.data === null) return <Loading what="versions" />;
  const narrowed = isNarrowed(filter);
  return (
    <ActionsProvider value={actions}>
      <div className="history">
        <h1 className="visually-hidden">History</h1>
        <FilterBar
          rows={rows}
          shown={shown.length}
          filter={filter}
          onChange={setFilter}
          bin={bin}
          onBin={onBin}
          search={search}
        />
        {list.error && <ErrorBox error={list.error} />}
        <div className="history-table">
          <Table
            label="Versions"
            columns={columns}
            rows={shown}
            rowKey={keyOf}
            selected={selected}
            onSelect={select}
            onActivate={(r) => go('kernel', [r.id])}
            onKey={(r, e) => takeKey(r, e, actions, chosen)}
            initialSort={{ column: 'at', descending: true }}
            empty={<Nothing bin={bin} narrowed={narrowed} onClear={() => setFilter(anything)} />}
            rowClass={(r) => (r.pinned ? 'row-pinned' : undefined)}
          />
          {chosen.pair && (
            <div className="pair-bar" role="status">
              <span>
                <span className="mono">{chosen.pair[0]}</span> and <span className="mono">{chosen.pair[1]}</span>
              </span>
              <Button tone="primary" icon="compare" onClick={() => chosen.pair && go('compare', chosen.pair)}>
                Compare <kbd>c</kbd>
              </Button>
            </div>
          )}
        </div>
        <div className="history-details">
          <Details rows={rows} row={chosen.one} onSelect={selectId} />
        </div>
      </div>
    </ActionsProvider>
  );
}
