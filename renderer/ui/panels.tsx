import { type KeyboardEvent, type PointerEvent, type ReactNode, useId, useRef, useState } from 'react';
import { remember, remembered } from '../state/shell.ts';

/** A titled area. `actions` stand at the right of its bar; `grow` takes the space that is left. */
export function Panel({
  title,
  actions,
  grow = false,
  flush = false,
  children,
}: {
  readonly title: ReactNode;
  readonly actions?: ReactNode;
  readonly grow?: boolean;
  /** No padding: for tables, code and charts that fill it. */
  readonly flush?: boolean;
  readonly children: ReactNode;
}) {
  const id = useId();
  return (
    <section className={`panel${grow ? ' panel-grow' : ''}`} aria-labelledby={id}>
      <header className="panel-bar">
        <h2 id={id}>{title}</h2>
        {actions && <div className="panel-actions">{actions}</div>}
      </header>
      <div className={flush ? 'panel-body panel-flush' : 'panel-body'}>{children}</div>
    </section>
  );
}

interface SplitterProps {
  /** Key under which the size is remembered. */
  readonly name: string;
  readonly direction?: 'row' | 'column';
  /** Size of the first part, pixels. */
  readonly initial: number;
  readonly min?: number;
  readonly max?: number;
  readonly label: string;
  readonly first: ReactNode;
  readonly second: ReactNode;
}

/** Two parts with a movable border: by pointer, or by arrow keys when focused (Home: least, End: most). */
export function Splitter({
  name,
  direction = 'row',
  initial,
  min = 160,
  max = 900,
  label,
  first,
  second,
}: SplitterProps) {
  const stored = Number(remembered(`split.${name}`));
  const [size, setSize] = useState(stored >= min && stored <= max ? stored : initial);
  const start = useRef<{ at: number; size: number } | null>(null);
  const id = useId();
  const clamp = (x: number) => Math.round(Math.min(max, Math.max(min, x)));
  const at = (e: PointerEvent) => (direction === 'row' ? e.clientX : e.clientY);
  const keep = (x: number) => {
    setSize(clamp(x));
    remember(`split.${name}`, String(clamp(x)));
  };
  const onKey = (e: KeyboardEvent) => {
    const step = e.shiftKey ? 64 : 16;
    const [less, more] = direction === 'row' ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown'];
    const to =
      e.key === less
        ? size - step
        : e.key === more
          ? size + step
          : e.key === 'Home'
            ? min
            : e.key === 'End'
              ? max
              : null;
    if (to === null) return;
    e.preventDefault();
    keep(to);
  };
  return (
    <div className={`split split-${direction}`}>
      <div className="split-first" id={id} style={direction === 'row' ? { width: size } : { height: size }}>
        {first}
      </div>
      <div
        className="split-bar"
        role="separator"
        tabIndex={0}
        aria-label={label}
        aria-controls={id}
        aria-orientation={direction === 'row' ? 'vertical' : 'horizontal'}
        aria-valuenow={size}
        aria-valuemin={min}
        aria-valuemax={max}
        onKeyDown={onKey}
        onDoubleClick={() => keep(initial)}
        onPointerDown={(e) => {
          e.currentTarget.setPointerCapture(e.pointerId);
          start.current = { at: at(e), size };
        }}
        onPointerMove={(e) => {
          if (start.current) setSize(clamp(start.current.size + at(e) - start.current.at));
        }}
        onPointerUp={() => {
          start.current = null;
          keep(size);
        }}
      />
      <div className="split-second">{second}</div>
    </div>
  );
}

export interface Tab {
  readonly id: string;
  readonly label: ReactNode;
  /** A number beside the label. */
  readonly count?: number;
  readonly disabled?: boolean;
}

/** Tabs with arrow keys; `children` is the panel of the chosen one. */
export function Tabs({
  label,
  tabs,
  value,
  onChange,
  actions,
  children,
}: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly value: string;
  readonly onChange: (id: string) => void;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  const base = useId();
  const refs = useRef(new Map<string, HTMLButtonElement>());
  const enabled = tabs.filter((t) => !t.disabled);
  const onKey = (e: KeyboardEvent) => {
    const index = enabled.findIndex((t) => t.id === value);
    const to =
      e.key === 'ArrowRight'
        ? index + 1
        : e.key === 'ArrowLeft'
          ? index - 1
          : e.key === 'Home'
            ? 0
            : e.key === 'End'
              ? enabled.length - 1
              : null;
    if (to === null) return;
    e.preventDefault();
    const next = enabled[(to + enabled.length) % enabled.length];
    if (next === undefined) return;
    onChange(next.id);
    refs.current.get(next.id)?.focus();
  };
  return (
    <div className="tabs">
      <div className="tab-bar">
        <div role="tablist" aria-label={label} className="tab-list">
          {tabs.map((t) => (
            <button
              key={t.id}
              ref={(el) => {
                if (el) refs.current.set(t.id, el);
                else refs.current.delete(t.id);
              }}
              type="button"
              role="tab"
              id={`${base}-${t.id}`}
              aria-selected={t.id === value}
              aria-controls={`${base}-panel`}
              tabIndex={t.id === value ? 0 : -1}
              disabled={t.disabled}
              className="tab"
              onClick={() => onChange(t.id)}
              onKeyDown={onKey}
            >
              {t.label}
              {t.count !== undefined && <span className="count">{t.count}</span>}
            </button>
          ))}
        </div>
        {actions && <div className="panel-actions">{actions}</div>}
      </div>
      <div
        role="tabpanel"
        id={`${base}-panel`}
        aria-labelledby={`${base}-${value}`}
        className="tab-panel"
        tabIndex={-1}
      >
        {children}
      </div>
    </div>
  );
}
