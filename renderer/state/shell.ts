import { create } from 'zustand';
import type { AppError } from '../../main/contract/result.ts';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: 'info' | 'good' | 'bad';
  readonly detail?: string;
  /** Takes the action back; offered for as long as the toast stands. */
  readonly undo?: () => void;
}

interface Shell {
  readonly theme: Theme;
  readonly connection: 'connecting' | 'connected' | 'lost';
  readonly paletteOpen: boolean;
  readonly keysOpen: boolean;
  readonly toasts: readonly Toast[];
  readonly notices: readonly AppError[];
  setTheme(theme: Theme): void;
  dismiss(id: number): void;
  dismissNotice(index: number): void;
}

/** Settings of this window only; storage may be forbidden, then they last as long as the window. */
export function remembered(key: string): string | null {
  try {
    return window.localStorage.getItem(`cudamaster.${key}`);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string): void {
  try {
    window.localStorage.setItem(`cudamaster.${key}`, value);
  } catch {
    // Not remembered.
  }
}

const stored = remembered('theme');

export const useShell = create<Shell>((set) => ({
  theme: (themes as readonly string[]).includes(stored ?? '') ? (stored as Theme) : 'system',
  connection: 'connecting',
  paletteOpen: false,
  keysOpen: false,
  toasts: [],
  notices: [],
  setTheme: (theme) => {
    remember('theme', theme);
    set({ theme });
  },
  dismiss: (id) => set((s) => ({ toasts: s.toasts.filter((t) => t.id !== id) })),
  dismissNotice: (index) => set((s) => ({ notices: s.notices.filter((_, i) => i !== index) })),
}));

let nextToast = 1;
/** Shows a short message for a while; with `undo` for longer. */
export function toast(text: string, options: Partial<Omit<Toast, 'id' | 'text'>> = {}): void {
  const id = nextToast++;
  const shown: Toast = { id, text, tone: options.tone ?? 'info', detail: options.detail, undo: options.undo };
  useShell.setState((s) => ({ toasts: [...s.toasts.slice(-3), shown] }));
  const ms = options.undo || shown.tone === 'bad' ? 12_000 : 5000;
  setTimeout(() => useShell.getState().dismiss(id), ms);
}

/** A failed call: what happened, and what can be done. */
export const toastError = (error: AppError): void => toast(error.message, { tone: 'bad', detail: error.remedy });

export const notice = (error: AppError): void =>
  useShell.setState((s) =>
    s.notices.some((n) => n.code === error.code && n.message === error.message)
      ? s
      : { notices: [...s.notices, error] },
  );
