import { join } from 'node:path';
import type { BrowserWindow, BrowserWindowConstructorOptions, WebPreferences } from 'electron';
import { type Area, firstSize, keepWindowState, readWindowState } from './window-state.ts';

/** What every page of the program may: nothing of Node, its own process in the sandbox, a preload of a few lines. */
export const pagePreferences = (shell: string): WebPreferences => ({
  preload: join(shell, 'preload.cjs'),
  contextIsolation: true,
  sandbox: true,
  nodeIntegration: false,
  nodeIntegrationInWorker: false,
  nodeIntegrationInSubFrames: false,
  webviewTag: false,
  webSecurity: true,
  allowRunningInsecureContent: false,
  navigateOnDragDrop: false,
  spellcheck: false,
});

/** Options of the main window; `state` is where it was last. */
export function windowOptions(
  shell: string,
  stateFile: string,
  screens: readonly Area[],
): BrowserWindowConstructorOptions {
  const state = readWindowState(stateFile, screens);
  return {
    ...(state === null ? firstSize : { x: state.x, y: state.y, width: state.width, height: state.height }),
    minWidth: 800,
    minHeight: 600,
    show: false,
    title: 'CUDAMaster',
    icon: join(shell, 'icons', '256x256.png'),
    webPreferences: pagePreferences(shell),
  };
}

/** Keeps place and size a moment after they have changed. Gives back what to do when the window goes. */
export function rememberWindow(window: BrowserWindow, file: string, delayMs = 500): () => Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keep = async (): Promise<void> => {
    clearTimeout(timer);
    if (window.isDestroyed()) return;
    // The place before maximizing: that is where it goes back to.
    await keepWindowState(file, { ...window.getNormalBounds(), maximized: window.isMaximized() }).catch(() => {
      // A full or read-only disk: the window opens in the middle next time.
    });
  };
  const soon = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void keep(), delayMs);
  };
  window.on('resize', soon);
  window.on('move', soon);
  window.on('maximize', soon);
  window.on('unmaximize', soon);
  return keep;
}
