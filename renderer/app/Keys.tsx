import { Dialog } from '../ui/dialog.tsx';
import { useCommandLists } from './commands.ts';
import { chordText } from './shortcuts.ts';

const everywhere: readonly (readonly [string, string])[] = [
  ['↑ ↓ Page Home End', 'move in lists, tables and the timeline'],
  ['Enter', 'open what is chosen'],
  ['Space', 'add to or take from the choice, in tables'],
  ['← →', 'another tab; or move a border that has the focus'],
  ['Esc', 'close a dialog; leave the editor with Tab'],
  ['Ctrl+F', 'search in a source that has the focus'],
];

/** Keys of the commands that can be run now, and those that work everywhere. */
export function Keys({ onClose }: { readonly onClose: () => void }) {
  const commands = useCommandLists()
    .flat()
    .filter((c) => c.key !== undefined);
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <table className="plain-table">
        <caption className="visually-hidden">Keys and what they do</caption>
        <tbody>
          {commands.map((c) => (
            <tr key={c.id}>
              <td>
                <kbd>{chordText(c.key ?? '')}</kbd>
              </td>
              <td>{c.title}</td>
            </tr>
          ))}
          {everywhere.map(([keys, what]) => (
            <tr key={keys}>
              <td>
                <kbd>{keys}</kbd>
              </td>
              <td className="muted">{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
