import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { useQuery } from '../api/client.ts';
import { useShell } from '../state/shell.ts';
import { type Command, useCommandLists } from './commands.ts';
import { search } from './match.ts';
import { go } from './navigation.ts';
import { chordText } from './shortcuts.ts';

/** Tasks and runs are found like commands. */
function useObjects(): readonly Command[] {
  const tasks = useQuery('tasks.list', {});
  const runs = useQuery('runs.list', { limit: 200 });
  return useMemo(
    () => [
      ...(runs.data ?? []).map((r) => ({
        id: `run:${r.id}`,
        title: `${r.task} ${r.dtype} — run ${r.id}`,
        group: 'Run',
        words: r.status,
        run: () => go('run', [r.id]),
      })),
      ...(tasks.data ?? []).map((t) => ({
        id: `task:${t.id}:${t.dtype}`,
        title: `${t.id} ${t.dtype}`,
        group: 'Kernel',
        words: t.category ?? '',
        run: () => go('kernel', [t.id, t.dtype]),
      })),
    ],
    [tasks.data, runs.data],
  );
}

function PaletteBox({ onClose }: { readonly onClose: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const lists = useCommandLists();
  const objects = useObjects();
  const found = useMemo(() => {
    const commands = lists.flat().filter((c) => !c.disabled && c.id !== 'palette');
    return search(query, [...commands, ...objects], (c) => `${c.group} ${c.title} ${c.words ?? ''}`);
  }, [query, lists, objects]);
  useEffect(() => ref.current?.showModal(), []);
  useEffect(() => {
    window.addEventListener('hashchange', onClose);
    return () => window.removeEventListener('hashchange', onClose);
  }, [onClose]);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
  }, [at]);

  const take = (command: Command | undefined) => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === 'ArrowDown') setAt(Math.min(found.length - 1, at + 1));
    else if (e.key === 'ArrowUp') setAt(Math.max(0, at - 1));
    else if (e.key === 'Enter') take(found[at]);
    else return;
    e.preventDefault();
  };
  return (
    <dialog
      ref={ref}
      className="palette"
      aria-label="Commands, tasks and runs"
      onCancel={onClose}
      onClose={onClose}
      onClick={(e) => {
        if (e.target === ref.current) onClose();
      }}
    >
      <input
        className="palette-input"
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-label="Find a command, task or run"
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        placeholder="Find a command, task or run …"
        value={query}
        spellCheck={false}
        onChange={(e) => {
          setQuery(e.target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <div ref={list} id={id} role="listbox" aria-label="Found" className="palette-list" tabIndex={-1}>
        {found.map((c, index) => (
          <div
            key={c.id}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className="palette-item"
            onClick={() => take(c)}
            onMouseMove={() => setAt(index)}
          >
            <span className="palette-group">{c.group}</span>
            <span className="palette-title">{c.title}</span>
            {c.key && <kbd>{chordText(c.key)}</kbd>}
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="palette-none">Nothing fits “{query}”.</p>}
    </dialog>
  );
}

export function Palette() {
  const open = useShell((s) => s.paletteOpen);
  return open ? <PaletteBox onClose={() => useShell.setState({ paletteOpen: false })} /> : null;
}
