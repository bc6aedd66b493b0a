import { join } from 'node:path';
import type * as Electron from 'electron';
import type { AppError } from '../main/contract/index.ts';
import type { Question } from './closing.ts';
import { screensUrl } from './pages.ts';
import type { Places } from './places.ts';
import type { ElectronApi } from './shell.ts';
import { rememberWindow, windowOptions } from './window.ts';
import { readWindowState } from './window-state.ts';

export interface MainWindowHooks {
  /** The user closes it; it stays until `release`. */
  readonly onClose: () => void;
  /** The system's session ends: there is no time for questions. */
  readonly onSessionEnd: () => void;
}

/** The window with the screens, its place in the tray, and the questions that are asked before it. */
export class MainWindow {
  readonly #e: ElectronApi;
  readonly #places: Places;
  readonly #window: Electron.BrowserWindow;
  readonly #keep: () => Promise<void>;
  readonly #hooks: MainWindowHooks;
  #tray: Electron.Tray | null = null;
  #released = false;
  /** The page waits for a port to the engine. */
  #listening = false;

  constructor(e: ElectronApi, places: Places, stateFile: string, hooks: MainWindowHooks) {
    this.#e = e;
    this.#places = places;
    this.#hooks = hooks;
    const areas = e.screen.getAllDisplays().map((display) => display.workArea);
    const window = new e.BrowserWindow(windowOptions(places.shell, stateFile, areas));
    this.#window = window;
    if (readWindowState(stateFile, areas)?.maximized) window.maximize();
    this.#keep = rememberWindow(window, stateFile);
    window.once('ready-to-show', () => window.show());
    window.on('close', (event) => {
      if (this.#released) return;
      event.preventDefault();
      hooks.onClose();
    });
    window.on('session-end', hooks.onSessionEnd);
    window.webContents.on('did-start-navigation', ({ isMainFrame, isSameDocument }) => {
      if (isMainFrame && !isSameDocument) this.#listening = false;
    });
    window.webContents.on('render-process-gone', (_event, { reason }) => void this.#pageGone(reason));
    void window.loadURL(screensUrl);
  }

  get browserWindow(): Electron.BrowserWindow {
    return this.#window;
  }

  /** The page has loaded and waits for a port. */
  listening(): void {
    this.#listening = true;
  }

  /** Hands a port to the page, if one waits. `connect` makes it; null: there is no engine. */
  givePort(connect: () => Electron.MessagePortMain | null): void {
    const port = this.#listening ? connect() : null;
    if (port) this.#window.webContents.postMessage('port', null, [port]);
  }

  engineLost(): void {
    this.#window.webContents.send('engine-lost');
    this.#window.setProgressBar(-1);
  }

  /** Shows a screen: "#/run/ID". */
  go(hash: string): void {
    this.#window.webContents.send('go', hash);
  }

  /** Brings it to the front, from the tray as well. */
  show(): void {
    if (this.#window.isMinimized()) this.#window.restore();
    this.#window.show();
    this.#window.focus();
  }

  toTray(): void {
    const { Tray, Menu, nativeImage } = this.#e;
    this.#window.hide();
    if (this.#tray !== null) return;
    this.#tray = new Tray(nativeImage.createFromPath(join(this.#places.shell, 'icons', '32x32.png')));
    this.#tray.setToolTip('CUDAMaster');
    this.#tray.on('click', () => this.show());
    this.#tray.setContextMenu(
      Menu.buildFromTemplate([
        { label: 'Show CUDAMaster', click: () => this.show() },
        { label: 'Quit', click: () => this.#hooks.onClose() },
      ]),
    );
  }

  /** Index of the button pressed; closing the question is the last one. */
  async ask(type: 'question' | 'error', { message, detail, buttons }: Question): Promise<number> {
    const { dialog } = this.#e;
    const cancelId = buttons.length - 1;
    const options = { type, message, detail, buttons: [...buttons], defaultId: 0, cancelId, noLink: true };
    const { response } = this.#window.isVisible()
      ? await dialog.showMessageBox(this.#window, options)
      : await dialog.showMessageBox(options);
    return response;
  }

  async tell(error: AppError): Promise<void> {
    const detail = [error.remedy, error.detail].filter(Boolean).join('\n\n');
    await this.ask('error', { message: error.message, detail, buttons: ['OK'] });
  }

  async #pageGone(reason: string): Promise<void> {
    if (reason === 'clean-exit' || this.#released) return;
    const choice = await this.ask('error', {
      message: 'The screens ended unexpectedly.',
      detail: `Reason: ${reason}. Runs go on in the engine.`,
      buttons: ['Show them again', 'Quit'],
    });
    if (choice === 0) this.#window.webContents.reload();
    else this.#hooks.onClose();
  }

  keepPlace(): Promise<void> {
    return this.#keep();
  }

  /** From now on it may be closed. */
  release(): void {
    this.#released = true;
    this.#tray?.destroy();
  }
}
