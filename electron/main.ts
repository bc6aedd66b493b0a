/** Electron's entry: hands Electron to the shell. Nothing else imports the module `electron`, so that tests can stand in for it. */
import {
  app,
  BrowserWindow,
  dialog,
  ipcMain,
  Menu,
  MessageChannelMain,
  Notification,
  nativeImage,
  powerMonitor,
  protocol,
  safeStorage,
  screen,
  session,
  shell,
  Tray,
  utilityProcess,
} from 'electron';
import { toAppError } from '../main/base/fault.ts';
import { exitCodeOf } from '../main/contract/index.ts';
import { startShell } from './shell.ts';

const electron = {
  app,
  BrowserWindow,
  dialog,
  ipcMain,
  Menu,
  MessageChannelMain,
  Notification,
  nativeImage,
  get powerMonitor() {
    // It may be touched only when the program is ready.
    return powerMonitor;
  },
  protocol,
  safeStorage,
  get screen() {
    return screen;
  },
  session,
  shell,
  Tray,
  utilityProcess,
};

try {
  startShell(electron, { argv: process.argv, folder: process.cwd(), resources: process.resourcesPath });
} catch (fault) {
  const error = toAppError(fault);
  dialog.showErrorBox('CUDAMaster cannot start', [error.message, error.remedy].filter(Boolean).join('\n\n'));
  app.exit(exitCodeOf(error.code));
}
