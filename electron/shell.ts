import { join } from 'node:path';
import type * as Electron from 'electron';
import { z } from 'zod';
import { configDir, dataDir, ensureDir } from '../main/base/paths.ts';
import { ShellClient } from './client.ts';
import { Closing } from './closing.ts';
import { EngineProcess } from './engine-process.ts';
import { filesOf, isKernelFile, kernelExtensions, openRecording, recordingExtensions } from './files.ts';
import { guardAll, guardSession, isOurs, mayOpen } from './guard.ts';
import { answer } from './ipc.ts';
import { evaluateKernel, kernelQuestion, openKernel } from './kernel-file.ts';
import { Keys, keyNameSchema, protectionOf } from './keys.ts';
import { MainWindow } from './main-window.ts';
import { menuTemplate } from './menu.ts';
import { keysUrl, pageHandler, scheme, screensUrl } from './pages.ts';
import { placesOf } from './places.ts';
import { drivenHere, endOf, progressOf, RunWatch, taskBar } from './runs.ts';
import { pagePreferences } from './window.ts';
import { exportWinner, saveWinner } from './winner.ts';

/** What is used of Electron: given from outside, so that tests can stand in for it. */
export type ElectronApi = Pick<
  typeof Electron,
  | 'app'
  | 'BrowserWindow'
  | 'dialog'
  | 'ipcMain'
  | 'Menu'
  | 'MessageChannelMain'
  | 'Notification'
  | 'nativeImage'
  | 'powerMonitor'
  | 'protocol'
  | 'safeStorage'
  | 'screen'
  | 'session'
  | 'shell'
  | 'Tray'
  | 'utilityProcess'
>;

export interface ShellOptions {
  readonly argv: readonly string[];
  readonly folder: string;
  readonly resources: string;
}

/** Runs are looked at so often at most, ms. */
const lookMs = 1000;
const secondStartSchema = z.object({ files: z.array(z.string().max(4096)).max(100) });

/**
 * The desktop program. Call it before Electron is ready. null: another one of this user runs already and shows itself.
 * Throws AppFailure `env.not-writable`, `env.disk-full` when there is no place for settings.
 */
export function startShell(e: ElectronApi, options: ShellOptions): Shell | null {
  const { app } = e;
  app.setName('CUDAMaster');
  if (process.platform === 'win32') app.setAppUserModelId('dev.cudamaster.desktop');
  app.setPath('userData', ensureDir(join(configDir(), 'desktop')));
  const files = filesOf(options.argv, options.folder);
  if (!app.requestSingleInstanceLock({ files })) {
    app.exit(0);
    return null;
  }
  // Nothing of ours may run on a GPU that is being measured: not the window either.
  app.disableHardwareAcceleration();
  app.commandLine.appendSwitch('disable-gpu');
  app.enableSandbox();
  e.protocol.registerSchemesAsPrivileged([
    { scheme, privileges: { standard: true, secure: true, supportFetchAPI: true } },
  ]);
  guardAll(app, e.shell);
  return new Shell(e, options, files);
}

export class Shell {
  readonly #e: ElectronApi;
  readonly #places: ReturnType<typeof placesOf>;
  readonly #stateFile = join(configDir(), 'desktop', 'window.json');
  readonly #keys: Keys;
  readonly #watch = new RunWatch();
  readonly client = new ShellClient(() => this.#lookSoon());
  readonly engine: EngineProcess;
  readonly closing: Closing;
  /** Resolves when the window is there. */
  readonly ready: Promise<void>;
  #window: MainWindow | null = null;
  #keysWindow: Electron.BrowserWindow | null = null;
  #looking: ReturnType<typeof setTimeout> | undefined;
  #ended = false;
  #toOpen: string[];

  constructor(e: ElectronApi, options: ShellOptions, files: readonly string[]) {
    this.#e = e;
    this.#toOpen = [...files];
    const { app } = e;
    this.#places = placesOf({
      packaged: app.isPackaged,
      appPath: app.getAppPath(),
      resources: options.resources,
    });
    this.#keys = new Keys(e.safeStorage, join(configDir(), 'desktop', 'keys.json'));
    this.engine = new EngineProcess({
      root: this.#places.root,
      fork: () =>
        e.utilityProcess.fork(join(this.#places.shell, 'engine.js'), [], {
          serviceName: 'CUDAMaster engine',
          stdio: 'pipe',
        }),
      channel: () => new e.MessageChannelMain(),
      // A damaged file of keys must not keep the engine from starting: it is told where keys are shown.
      keys: () => this.#keys.values().catch(() => ({})),
      onUp: () => this.#engineUp(),
      onLost: (how) => this.#engineLost(how),
    });
    this.closing = new Closing({
      runs: () => this.#runsHere(),
      pause: (run) => this.client.call('runs.pause', { run }),
      ask: async (question) => (await this.#window?.ask('question', question)) ?? question.buttons.length - 1,
      toTray: () => this.#window?.toTray(),
      end: () => this.#end(),
    });
    this.#listen();
    this.ready = app.whenReady().then(() => this.#open());
  }

  #listen(): void {
    const { app } = this.#e;
    app.on('second-instance', (_event, _argv, _folder, data) => {
      this.show();
      const given = secondStartSchema.safeParse(data);
      if (given.success) for (const file of given.data.files) void this.openFile(file);
    });
    // macOS: a file opened with the program, perhaps before it is ready.
    app.on('open-file', (event, file) => {
      event.preventDefault();
      if (this.#window === null) this.#toOpen.push(file);
      else void this.openFile(file);
    });
    app.on('activate', () => this.show());
    app.on('window-all-closed', () => {
      // Hidden in the tray the window still exists; without it the end is on its way already.
    });
    app.on('before-quit', (event) => {
      if (this.#ended) return;
      event.preventDefault();
      void this.closing.asked();
    });
  }

  async #open(): Promise<void> {
    const { session, powerMonitor, Menu, app } = this.#e;
    const own = session.defaultSession;
    guardSession(own);
    own.protocol.handle(
      scheme,
      pageHandler({ screens: this.#places.renderer, shell: join(this.#places.shell, 'pages') }),
    );
    own.on('will-download', (event, item, contents) => this.#download(event, item, contents));
    // Its type says nothing of the event, by which the system is asked to wait.
    powerMonitor.on('shutdown', (...[event]: { preventDefault(): void }[]) => {
      event?.preventDefault();
      void this.closing.end();
    });
    this.#answers();
    Menu.setApplicationMenu(
      Menu.buildFromTemplate(
        menuTemplate(
          {
            openFile: () => void this.#chooseFile(),
            exportWinner: () => void this.#exportWinner(),
            go: (hash) => this.go(hash),
            keys: () => this.#showKeys(),
            dataFolder: () => void this.#e.shell.openPath(dataDir()),
            openLink: (url) => void (mayOpen(url) && this.#e.shell.openExternal(url)),
            quit: () => void this.closing.asked(),
          },
          process.platform,
          app.isPackaged,
        ),
      ),
    );
    await this.engine.start();
    this.#window = new MainWindow(this.#e, this.#places, this.#stateFile, {
      onClose: () => void this.closing.asked(),
      onSessionEnd: () => void this.closing.end(),
    });
    for (const file of this.#toOpen.splice(0)) await this.openFile(file);
  }

  #answers(): void {
    const { ipcMain, safeStorage } = this.#e;
    const none = z.tuple([]);
    answer(ipcMain, 'connect', screensUrl, none, () => {
      this.#window?.listening();
      this.#givePort();
    });
    answer(ipcMain, 'keys.list', keysUrl, none, async () => ({
      names: await this.#keys.names(),
      ...(await protectionOf(safeStorage)),
    }));
    const value = z.string().trim().min(1).max(4096);
    answer(ipcMain, 'keys.set', keysUrl, z.tuple([keyNameSchema, value]), async ([name, key]) => {
      await this.#keys.set(name, key);
      await this.engine.tellKeys();
    });
    answer(ipcMain, 'keys.remove', keysUrl, z.tuple([keyNameSchema]), async ([name]) => {
      await this.#keys.remove(name);
      await this.engine.tellKeys();
    });
  }

  #givePort(): void {
    this.#window?.givePort(() => this.engine.connect());
  }

  #engineUp(): void {
    this.client.attach(this.engine.connect());
    this.#givePort();
  }

  #engineLost({ again, detail }: { readonly again: boolean; readonly detail: string }): void {
    this.client.attach(null);
    this.#window?.engineLost();
    if (again) return;
    const question = {
      message: 'The engine ends again and again.',
      detail: `Runs that were going can be resumed: what they had finished is kept.\n\n${detail}`,
      buttons: ['Start it again', 'Quit'],
    };
    // Before there is a window there is nothing to go on with.
    const asked = this.#window?.ask('error', question) ?? Promise.resolve(1);
    void asked.then((choice) => (choice === 0 ? this.engine.startAgain() : this.closing.end()));
  }

  /** Every list of runs that changes is followed by one look, a second later at most. */
  #lookSoon(): void {
    this.#looking ??= setTimeout(() => {
      this.#looking = undefined;
      void this.#look();
    }, lookMs);
  }

  async #look(): Promise<void> {
    const rows = await this.client.call('runs.list', { limit: 50 });
    if (!rows.ok || this.#window === null || this.#ended) return;
    const progress: (number | null)[] = [];
    for (const row of drivenHere(rows.value)) {
      const snapshot = await this.client.call('runs.get', { run: row.id });
      progress.push(snapshot.ok ? progressOf(snapshot.value) : null);
    }
    this.#window.browserWindow.setProgressBar(taskBar(progress));
    for (const row of this.#watch.take(rows.value)) this.#notify(row.id, endOf(row));
  }

  #notify(run: string, text: { readonly title: string; readonly body: string } | null): void {
    const { Notification } = this.#e;
    if (text === null || this.#window?.browserWindow.isFocused() || !Notification.isSupported()) return;
    const notification = new Notification(text);
    notification.on('click', () => {
      this.show();
      this.go(`#/run/${encodeURIComponent(run)}`);
    });
    notification.show();
  }

  async #runsHere() {
    const rows = await this.client.call('runs.list', { limit: 200 });
    return rows.ok ? drivenHere(rows.value) : [];
  }

  show(): void {
    this.#window?.show();
  }

  go(hash: string): void {
    this.#window?.go(hash);
  }

  async openFile(file: string): Promise<void> {
    this.show();
    if (isKernelFile(file)) return this.#openKernel(file);
    const opened = await openRecording(this.client, file);
    if (opened.ok) this.go('#/run');
    else await this.#window?.tell(opened.error);
  }

  /** Opening runs nothing: what is to be done with it is asked. */
  async #openKernel(file: string): Promise<void> {
    const opened = await openKernel(this.client, file);
    if (!opened.ok) return this.#window?.tell(opened.error);
    const choice = (await this.#window?.ask('question', kernelQuestion(opened.value))) ?? 2;
    if (choice === 2) return;
    const begun = await evaluateKernel(this.client, opened.value, choice === 0 ? 'local' : 'bundle');
    if (begun.ok) this.go(`#/run/${encodeURIComponent(begun.value.run)}`);
    else await this.#window?.tell(begun.error);
  }

  async #chooseFile(): Promise<void> {
    if (this.#window === null) return;
    const { canceled, filePaths } = await this.#e.dialog.showOpenDialog(this.#window.browserWindow, {
      title: 'Open a recording or a kernel',
      properties: ['openFile'],
      filters: [
        { name: 'Recordings and kernels', extensions: [...recordingExtensions, ...kernelExtensions] },
        { name: 'Recordings', extensions: [...recordingExtensions] },
        { name: 'CUDA kernels', extensions: [...kernelExtensions] },
      ],
    });
    if (!canceled) for (const file of filePaths) await this.openFile(file);
  }

  /** The best version of the run that is shown, or of the newest run that has one, as a ZIP. */
  async #exportWinner(): Promise<void> {
    const window = this.#window;
    if (window === null) return;
    const made = await exportWinner(this.client, window.browserWindow.webContents.getURL());
    if (!made.ok) return window.tell(made.error);
    const { canceled, filePath } = await this.#e.dialog.showSaveDialog(window.browserWindow, {
      title: `Export ${made.value.version}`,
      defaultPath: join(this.#e.app.getPath('downloads'), made.value.name),
      filters: [{ name: 'ZIP archives', extensions: ['zip'] }],
    });
    if (canceled || !filePath) return;
    const saved = await saveWinner(filePath, made.value);
    if (!saved.ok) return window.tell(saved.error);
    this.#e.shell.showItemInFolder(filePath);
  }

  /** Only what our own page made is saved, where the user says. */
  #download(event: Electron.Event, item: Electron.DownloadItem, contents: Electron.WebContents): void {
    const { app } = this.#e;
    if (!isOurs(contents.getURL()) || !item.getURL().startsWith(`blob:${screensUrl}`)) event.preventDefault();
    else item.setSaveDialogOptions({ defaultPath: join(app.getPath('downloads'), item.getFilename()) });
  }

  #showKeys(): void {
    const open = this.#keysWindow;
    if (open !== null && !open.isDestroyed()) {
      open.focus();
      return;
    }
    const window = new this.#e.BrowserWindow({
      ...(this.#window === null ? {} : { parent: this.#window.browserWindow }),
      width: 560,
      height: 520,
      title: 'Keys of providers',
      autoHideMenuBar: true,
      webPreferences: pagePreferences(this.#places.shell),
    });
    this.#keysWindow = window;
    void window.loadURL(keysUrl);
  }

  async #end(): Promise<void> {
    await this.#window?.keepPlace();
    clearTimeout(this.#looking);
    await this.engine.stop();
    this.#ended = true;
    this.#window?.release();
    this.#e.app.quit();
  }
}
