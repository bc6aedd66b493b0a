/**
 * All that a sandboxed page gets from the shell. Bundled into one CommonJS file: a sandboxed preload can load nothing else.
 * The screens get a message port to the engine and the address of a screen to show; the keys' page gets three functions.
 */
import { contextBridge, ipcRenderer } from 'electron';

/** What is used of the page's window; the rest of the DOM is no business of a preload. */
interface PageWindow {
  readonly location: { readonly protocol: string; readonly hostname: string; readonly origin: string; hash: string };
  postMessage(message: string, origin: string, ports?: readonly unknown[]): void;
  addEventListener(type: 'load', listener: () => void): void;
}
const page = globalThis as unknown as PageWindow;

if (page.location.hostname === 'cudamaster') {
  ipcRenderer.on('port', (event) => page.postMessage('cudamaster-port', page.location.origin, event.ports));
  ipcRenderer.on('engine-lost', () => page.postMessage('cudamaster-lost', page.location.origin));
  ipcRenderer.on('go', (_event, hash: unknown) => {
    if (typeof hash === 'string' && hash.startsWith('#/')) page.location.hash = hash;
  });
  // By then the page listens.
  page.addEventListener('load', () => void ipcRenderer.invoke('connect'));
}

if (page.location.hostname === 'shell')
  contextBridge.exposeInMainWorld('keys', {
    list: () => ipcRenderer.invoke('keys.list'),
    set: (name: string, value: string) => ipcRenderer.invoke('keys.set', name, value),
    remove: (name: string) => ipcRenderer.invoke('keys.remove', name),
  });
