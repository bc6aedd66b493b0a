import { useLayoutEffect, useSyncExternalStore } from 'react';
import { useShell } from '../state/shell.ts';

const media = window.matchMedia('(prefers-color-scheme: dark)');

const subscribe = (listener: () => void): (() => void) => {
  media.addEventListener('change', listener);
  return () => media.removeEventListener('change', listener);
};

/** Whether the dark theme is in force. */
export function useDark(): boolean {
  const theme = useShell((s) => s.theme);
  const system = useSyncExternalStore(subscribe, () => media.matches);
  return theme === 'dark' || (theme === 'system' && system);
}

/** Tells the style sheet which theme is in force. Set before anything is painted, then kept. */
export function applyTheme(dark: boolean): void {
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}

/** In the layout phase: charts read the tokens in an effect of the same commit, and theirs would come first. */
export function useTheme(): void {
  const dark = useDark();
  useLayoutEffect(() => applyTheme(dark), [dark]);
}

/** Before the first rendering. */
export function applyStoredTheme(): void {
  const { theme } = useShell.getState();
  applyTheme(theme === 'dark' || (theme === 'system' && media.matches));
}
