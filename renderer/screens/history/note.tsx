import { useEffect, useId, useRef, useState } from 'react';
import type { VersionRow } from '../../../main/contract/api.ts';
import { useActions } from './actions.ts';

/** A note in the table: text, or one line to write it in. Enter keeps it, Escape leaves it as it was. */
export function NoteCell({ row }: { readonly row: VersionRow }) {
  const { editing, setEditing } = useActions();
  if (editing !== row.id)
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: a shortcut of the mouse; key n and the palette do the same
      <span
        className={row.note === '' ? 'note-empty' : undefined}
        onDoubleClick={(e) => {
          e.stopPropagation();
          setEditing(row.id);
        }}
      >
        {row.note === '' ? '' : row.note}
      </span>
    );
  return <NoteInput key={row.id} row={row} />;
}

function NoteInput({ row }: { readonly row: VersionRow }) {
  const { edit, setEditing } = useActions();
  const input = useRef<HTMLInputElement>(null);
  const over = useRef(false);
  useEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);
  const end = (keep: boolean) => {
    if (over.current) return;
    over.current = true;
    const note = input.current?.value ?? row.note;
    const grid = input.current?.closest<HTMLElement>('[role=grid]');
    setEditing(null);
    grid?.focus();
    if (keep && note !== row.note) void edit(row, { note });
  };
  return (
    <input
      ref={input}
      className="note-input"
      aria-label={`Note of ${row.id}`}
      defaultValue={row.note.replaceAll('\n', ' ')}
      maxLength={20_000}
      onClick={(e) => e.stopPropagation()}
      onBlur={() => end(true)}
      onKeyDown={(e) => {
        if (e.key === 'Enter') end(true);
        else if (e.key === 'Escape') end(false);
      }}
    />
  );
}

/** The whole note, several lines; kept when the field is left or with Ctrl+Enter. */
export function NoteField({ row }: { readonly row: VersionRow }) {
  const { edit } = useActions();
  const [text, setText] = useState(row.note);
  const id = useId();
  useEffect(() => setText(row.note), [row.note]);
  const keep = () => {
    if (text !== row.note) void edit(row, { note: text });
  };
  return (
    <div className="field">
      <label htmlFor={id}>Note</label>
      <textarea
        id={id}
        className="input"
        rows={3}
        value={text}
        maxLength={20_000}
        placeholder="What to remember about this version"
        onChange={(e) => setText(e.target.value)}
        onBlur={keep}
        onKeyDown={(e) => {
          if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) keep();
        }}
      />
    </div>
  );
}
