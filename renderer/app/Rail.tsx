import { useShell } from '../state/shell.ts';
import { Icon } from '../ui/icons.tsx';
import { hrefOf, type ScreenName } from './routes.ts';
import { screens } from './screens.tsx';
import { chordText } from './shortcuts.ts';

/** Screens without a place of their own belong to another one. */
const parents: Partial<Record<ScreenName, ScreenName>> = { compare: 'history', newtask: 'kernel' };

/** Screens at the left. */
export function Rail({ current }: { readonly current: ScreenName }) {
  const on = parents[current] ?? current;
  return (
    <nav className="rail" aria-label="Screens">
      {screens
        .filter((s) => s.rail)
        .map((s) => (
          <a
            key={s.name}
            className={`rail-item rail-${s.name}`}
            href={hrefOf(s.name)}
            aria-current={s.name === on ? 'page' : undefined}
            title={s.key ? `${s.title} (${chordText(s.key)})` : s.title}
          >
            <Icon name={s.icon} size={18} />
            <span>{s.title}</span>
          </a>
        ))}
      <button
        type="button"
        className="rail-item"
        title={`Find a command (${chordText('mod+k')})`}
        onClick={() => useShell.setState({ paletteOpen: true })}
      >
        <Icon name="search" size={18} />
        <span>Find</span>
      </button>
    </nav>
  );
}
