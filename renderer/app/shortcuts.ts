import { allCommands, commandNow } from './commands.ts';

const mac = navigator.platform.startsWith('Mac');

/** "mod+shift+p" of a keyboard event. */
export function chordOf(e: {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
}): string {
  const mod = mac ? e.metaKey : e.ctrlKey;
  const parts = [mod && 'mod', e.altKey && 'alt', e.shiftKey && 'shift', e.key.toLowerCase()];
  return parts.filter(Boolean).join('+');
}

/** "Ctrl+Shift+P" or "⇧⌘P" for people. */
export function chordText(chord: string): string {
  const names: Record<string, string> = mac
    ? { mod: '⌘', shift: '⇧', alt: '⌥' }
    : { mod: 'Ctrl', shift: 'Shift', alt: 'Alt' };
  const parts = chord
    .replace('shift+?', '?')
    .split('+')
    .map((p) => names[p] ?? (p.length === 1 ? p.toUpperCase() : p));
  return parts.join(mac ? '' : '+');
}

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Runs the command whose key was pressed. Keys without Ctrl, Cmd or Alt are left to text fields. */
export function listenForShortcuts(): () => void {
  const onKey = (e: KeyboardEvent): void => {
    if (e.defaultPrevented || e.isComposing) return;
    const chord = chordOf(e);
    const palette = chord === 'mod+k' || chord === 'mod+shift+p';
    const command = palette ? commandNow('palette') : allCommands().findLast((c) => c.key === chord && !c.disabled);
    if (command === undefined) return;
    if (typing(e.target) && !/^(mod|alt)\+/.test(chord)) return;
    if (!palette && document.querySelector('dialog[open]')) return;
    e.preventDefault();
    command.run();
  };
  window.addEventListener('keydown', onKey);
  return () => window.removeEventListener('keydown', onKey);
}
