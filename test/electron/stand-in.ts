/**
 * Stands in for the module `electron`, whose binary is not everywhere: it records what the shell asks of it and lets a test act as user,
 * page and system. The engine behind it is the real one, in a process of its own.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import type { ElectronApi } from '../../electron/shell.ts';
import type { HostMessage } from '../../main/contract/index.ts';
import { TestClient } from '../host/client.ts';
import type { Wire } from './engine-child.ts';

const root = join(import.meta.dirname, '../..');

/** One end of a line; the other is the next one, or in another process. */
export class StandInPort extends EventEmitter {
  peer: StandInPort | null = null;
  /** Where messages go when the other end was handed to a process. */
  relay: ((data: unknown) => void) | null = null;
  closed = false;
  #early: unknown[] | null = [];

  start(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const data of early) this.emit('message', { data, ports: [] });
  }
  deliver(data: unknown): void {
    if (this.#early) this.#early.push(data);
    else this.emit('message', { data, ports: [] });
  }
  postMessage(data: unknown): void {
    const { peer } = this;
    if (this.closed || peer === null) return;
    if (peer.relay) peer.relay(data);
    else queueMicrotask(() => peer.deliver(data));
  }
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.emit('close');
    this.peer?.close();
  }
}

class StandInChannel {
  readonly port1 = new StandInPort();
  readonly port2 = new StandInPort();
  constructor() {
    this.port1.peer = this.port2;
    this.port2.peer = this.port1;
  }
}

/** A utility process: a Node process that runs the engine's source. */
export class StandInProcess extends EventEmitter {
  readonly child: ChildProcess;
  readonly stdout: ChildProcess['stdout'];
  readonly stderr: ChildProcess['stderr'];
  /** Resolves when the engine has been loaded. */
  readonly loaded: Promise<void>;
  #ports: StandInPort[] = [];

  constructor(engine: string, env: NodeJS.ProcessEnv) {
    super();
    this.child = fork(join(import.meta.dirname, 'engine-child.ts'), {
      env: { ...env, ENGINE: engine },
      silent: true,
      serialization: 'advanced',
    });
    this.stdout = this.child.stdout;
    this.stderr = this.child.stderr;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.loaded = promise;
    this.child.on('message', (wire: Wire) => {
      if (wire.kind !== 'port') return;
      if (wire.id < 0) resolve();
      else this.#ports[wire.id]?.peer?.deliver(wire.data);
    });
    this.child.on('exit', (code) => {
      for (const port of this.#ports) port.close();
      this.emit('exit', code ?? 137);
    });
  }

  postMessage(data: unknown, ports: readonly StandInPort[] = []): void {
    const ids = ports.map((port) => {
      const id = this.#ports.push(port) - 1;
      port.relay = (message) => this.#send({ kind: 'port', id, data: message });
      port.on('close', () => this.#send({ kind: 'closed', id }));
      return id;
    });
    this.#send({ kind: 'parent', data, ports: ids });
  }
  #send(wire: Wire): void {
    // A program that has just died refuses the write before its end is told; Electron drops such a message.
    if (this.child.connected) this.child.send(wire, () => undefined);
  }
  kill(): boolean {
    return this.child.kill('SIGKILL');
  }
}

export class StandInContents extends EventEmitter {
  url = '';
  readonly sent: { readonly channel: string; readonly args: readonly unknown[] }[] = [];
  readonly ports: StandInPort[] = [];
  readonly mainFrame = { url: '' };
  reloads = 0;
  openHandler: (details: { url: string }) => { action: string } = () => ({ action: 'allow' });

  getURL(): string {
    return this.url;
  }
  send(channel: string, ...args: unknown[]): void {
    this.sent.push({ channel, args });
  }
  postMessage(channel: string, data: unknown, ports: StandInPort[]): void {
    this.sent.push({ channel, args: [data] });
    this.ports.push(...ports);
  }
  setWindowOpenHandler(handler: StandInContents['openHandler']): void {
    this.openHandler = handler;
  }
  reload(): void {
    this.reloads += 1;
  }
  /** What a page that wants to go elsewhere meets: true = it is kept where it is. */
  refuses(event: string, details: object): boolean {
    let prevented = false;
    this.emit(event, { ...details, preventDefault: () => (prevented = true) });
    return prevented;
  }
}

export class StandInWindow extends EventEmitter {
  readonly webContents = new StandInContents();
  readonly options: Record<string, unknown>;
  readonly calls: string[] = [];
  progress: number[] = [];
  visible = false;
  focused = false;
  bounds = { x: 10, y: 20, width: 1200, height: 800 };
  maximized = false;

  constructor(options: Record<string, unknown>, made: (window: StandInWindow) => void) {
    super();
    this.options = options;
    made(this);
  }
  async loadURL(url: string): Promise<void> {
    this.webContents.url = url;
    this.webContents.mainFrame.url = url;
  }
  show(): void {
    this.calls.push('show');
    this.visible = true;
  }
  hide(): void {
    this.calls.push('hide');
    this.visible = false;
  }
  focus(): void {
    this.calls.push('focus');
  }
  restore(): void {
    this.calls.push('restore');
  }
  maximize(): void {
    this.maximized = true;
  }
  isMinimized(): boolean {
    return false;
  }
  isVisible(): boolean {
    return this.visible;
  }
  isFocused(): boolean {
    return this.focused;
  }
  isDestroyed(): boolean {
    return false;
  }
  isMaximized(): boolean {
    return this.maximized;
  }
  getNormalBounds() {
    return this.bounds;
  }
  setProgressBar(value: number): void {
    this.progress.push(value);
  }
  /** The user closes it: true = it stays. */
  close(): boolean {
    let prevented = false;
    this.emit('close', { preventDefault: () => (prevented = true) });
    return prevented;
  }
}

type Handler = (event: unknown, ...args: unknown[]) => Promise<unknown>;

export interface StandIn {
  readonly api: ElectronApi;
  readonly app: EventEmitter & { readonly calls: unknown[][]; quits: number };
  readonly windows: StandInWindow[];
  readonly engines: StandInProcess[];
  readonly handlers: Map<string, Handler>;
  readonly notifications: { readonly text: { title: string; body: string }; readonly click: () => void }[];
  readonly opened: string[];
  readonly trays: EventEmitter[];
  readonly asked: { message: string; detail: string; buttons: string[] }[];
  /** Buttons that the user presses, in order. */
  readonly answers: number[];
  readonly session: EventEmitter & { readonly set: Record<string, (...args: never[]) => unknown> };
  menu: { label?: string; role?: string; submenu?: { label?: string; click?: () => void }[] }[];
  /** Files chosen in the next file dialog. */
  chosen: string[];
  /** Where the next file is saved; null: the dialog is closed. What the dialogs were asked is in `saving`. */
  saveTo: string | null;
  readonly saving: { title: string; defaultPath: string }[];
  pageHandler: ((request: Request) => Promise<Response>) | null;
  /** What the page's preload does when the page has loaded; then speaks to the engine as a screen does. */
  loadPage(): Promise<TestClient>;
  invoke(channel: string, ...args: unknown[]): Promise<unknown>;
  /** Ends what is still going. */
  dispose(): void;
}

export interface StandInOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly first?: boolean;
  readonly storage?: { readonly backend: string; readonly available: boolean };
  readonly engine?: string;
}

export function standIn(options: StandInOptions): StandIn {
  const windows: StandInWindow[] = [];
  const engines: StandInProcess[] = [];
  const handlers = new Map<string, Handler>();
  const app = Object.assign(new EventEmitter(), { calls: [] as unknown[][], quits: 0 });
  const note =
    (name: string) =>
    (...args: unknown[]): void => {
      app.calls.push([name, ...args]);
    };
  const session = Object.assign(new EventEmitter(), {
    set: {} as Record<string, (...args: never[]) => unknown>,
  });
  const setter =
    (name: string) =>
    (handler: (...args: never[]) => unknown): void => {
      session.set[name] = handler;
    };
  const storage = options.storage ?? { backend: 'gnome_libsecret', available: true };
  const self: StandIn = {
    app,
    windows,
    engines,
    handlers,
    session,
    notifications: [],
    opened: [],
    trays: [],
    asked: [],
    answers: [],
    menu: [],
    chosen: [],
    saveTo: null,
    saving: [],
    pageHandler: null,
    loadPage: async () => {
      const window = windows[0] as StandInWindow;
      await self.invoke('connect');
      const port = window.webContents.ports.at(-1) as StandInPort;
      const client = new TestClient((message) => port.postMessage(message));
      port.on('message', ({ data }: { data: HostMessage }) => client.take(data));
      port.start();
      return client;
    },
    invoke: (channel, ...args) => {
      const { webContents } = windows.at(-1) as StandInWindow;
      const event = { senderFrame: webContents.mainFrame, sender: webContents };
      return (handlers.get(channel) as Handler)(event, ...args);
    },
    dispose: () => {
      for (const engine of engines) engine.kill();
    },
    api: null as unknown as ElectronApi,
  };
  const api = {
    app: Object.assign(app, {
      isPackaged: false,
      setName: note('setName'),
      setAppUserModelId: note('setAppUserModelId'),
      setPath: note('setPath'),
      disableHardwareAcceleration: note('disableHardwareAcceleration'),
      commandLine: { appendSwitch: note('appendSwitch') },
      enableSandbox: note('enableSandbox'),
      exit: note('exit'),
      requestSingleInstanceLock: (data: unknown) => {
        note('requestSingleInstanceLock')(data);
        return options.first ?? true;
      },
      getAppPath: () => join(root, 'dist/electron'),
      getPath: (name: string) => `/home/user/${name}`,
      whenReady: async () => {},
      quit: () => {
        let prevented = false;
        app.emit('before-quit', { preventDefault: () => (prevented = true) });
        if (!prevented) app.quits += 1;
      },
    }),
    BrowserWindow: class extends StandInWindow {
      constructor(given: Record<string, unknown>) {
        super(given, (window) => windows.push(window));
        app.emit('web-contents-created', {}, this.webContents);
      }
    },
    dialog: {
      showMessageBox: async (...args: unknown[]) => {
        self.asked.push(args.at(-1) as (typeof self.asked)[number]);
        return { response: self.answers.shift() ?? (args.at(-1) as { cancelId: number }).cancelId };
      },
      showSaveDialog: async (...args: unknown[]) => {
        self.saving.push(args.at(-1) as (typeof self.saving)[number]);
        return { canceled: self.saveTo === null, filePath: self.saveTo ?? '' };
      },
      showOpenDialog: async () => ({ canceled: self.chosen.length === 0, filePaths: self.chosen }),
    },
    ipcMain: { handle: (channel: string, handler: Handler) => handlers.set(channel, handler) },
    Menu: {
      buildFromTemplate: (template: unknown) => template,
      setApplicationMenu: (menu: StandIn['menu']) => {
        self.menu = menu;
      },
    },
    MessageChannelMain: StandInChannel,
    Notification: class extends EventEmitter {
      static isSupported = () => true;
      readonly text: { title: string; body: string };
      constructor(text: { title: string; body: string }) {
        super();
        this.text = text;
      }
      show(): void {
        self.notifications.push({ text: this.text, click: () => this.emit('click') });
      }
    },
    nativeImage: { createFromPath: (path: string) => path },
    powerMonitor: new EventEmitter(),
    protocol: { registerSchemesAsPrivileged: note('registerSchemesAsPrivileged') },
    safeStorage: {
      isAsyncEncryptionAvailable: async () => storage.available,
      getSelectedStorageBackend: () => storage.backend,
      encryptStringAsync: async (text: string) => Buffer.from([...Buffer.from(text)].map((b) => b ^ 0x5a)),
      decryptStringAsync: async (bytes: Buffer) => ({
        result: Buffer.from([...bytes].map((b) => b ^ 0x5a)).toString(),
        shouldReEncrypt: false,
      }),
    },
    screen: { getAllDisplays: () => [{ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }] },
    session: {
      defaultSession: Object.assign(session, {
        setPermissionRequestHandler: setter('request'),
        setPermissionCheckHandler: setter('check'),
        setDevicePermissionHandler: setter('device'),
        protocol: {
          handle: (_scheme: string, handler: StandIn['pageHandler']) => {
            self.pageHandler = handler;
          },
        },
      }),
    },
    shell: {
      openExternal: async (url: string) => void self.opened.push(url),
      openPath: async (path: string) => void self.opened.push(path),
      showItemInFolder: (path: string) => void self.opened.push(path),
    },
    Tray: class extends EventEmitter {
      constructor() {
        super();
        self.trays.push(this);
      }
      setToolTip(): void {}
      setContextMenu(): void {}
      destroy(): void {}
    },
    utilityProcess: {
      fork: (file: string, args: string[], given: object) => {
        note('fork')(file, args, given);
        const engine = new StandInProcess(options.engine ?? join(root, 'electron/engine.ts'), options.env);
        engines.push(engine);
        return engine;
      },
    },
  };
  return Object.assign(self, { api: api as unknown as ElectronApi });
}
