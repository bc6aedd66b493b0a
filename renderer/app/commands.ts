/**
 * Commands of the palette and their keys. Screens add theirs while they are shown (`useCommands`).
 */
import { useEffect, useSyncExternalStore } from 'react';

export interface Command {
  readonly id: string;
  readonly title: string;
  /** Group in the palette: the screen's name. */
  readonly group: string;
  /** "mod+k", "g r" is not supported: one chord. `mod` is Ctrl, or Cmd on a Mac. */
  readonly key?: string;
  /** Further words it is found by. */
  readonly words?: string;
  readonly disabled?: boolean;
  run(): void;
}

let lists: readonly (readonly Command[])[] = [];
const listeners = new Set<() => void>();
const tell = (): void => {
  for (const l of listeners) l();
};

/** Adds commands until the function given back is called. */
export function addCommands(commands: readonly Command[]): () => void {
  lists = [...lists, commands];
  tell();
  return () => {
    lists = lists.filter((l) => l !== commands);
    tell();
  };
}

/** Adds commands while the component stands. `commands` must be memoised. */
export function useCommands(commands: readonly Command[]): void {
  useEffect(() => addCommands(commands), [commands]);
}

export const useCommandLists = (): readonly (readonly Command[])[] =>
  useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => listeners.delete(l);
    },
    () => lists,
  );

export const commandNow = (id: string): Command | undefined => lists.flat().findLast((c) => c.id === id);
export const allCommands = (): readonly Command[] => lists.flat();
