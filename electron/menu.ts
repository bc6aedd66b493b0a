import type { MenuItemConstructorOptions } from 'electron';

export interface MenuActions {
  /** A recording or a kernel. */
  openFile(): void;
  exportWinner(): void;
  /** Address of a screen after `#`. */
  go(hash: string): void;
  keys(): void;
  dataFolder(): void;
  openLink(url: string): void;
  quit(): void;
}

/** Keys of the screens themselves (Ctrl+K, Alt+1 …) are the page's; those here are the window's. */
export function menuTemplate(
  actions: MenuActions,
  platform: NodeJS.Platform,
  packaged: boolean,
): MenuItemConstructorOptions[] {
  const mac = platform === 'darwin';
  const screen = (label: string, hash: string): MenuItemConstructorOptions => ({
    label,
    click: () => actions.go(hash),
  });
  const quit: MenuItemConstructorOptions = {
    label: mac ? 'Quit CUDAMaster' : 'Quit',
    accelerator: 'CmdOrCtrl+Q',
    click: () => actions.quit(),
  };
  return [
    ...(mac
      ? [
          {
            label: 'CUDAMaster',
            submenu: [{ role: 'about' }, { type: 'separator' }, quit],
          } as MenuItemConstructorOptions,
        ]
      : []),
    {
      label: 'File',
      submenu: [
        { label: 'Open Recording or Kernel…', accelerator: 'CmdOrCtrl+O', click: () => actions.openFile() },
        { label: 'Export Winner…', accelerator: 'CmdOrCtrl+Shift+E', click: () => actions.exportWinner() },
        { type: 'separator' },
        { label: 'Keys of Providers…', click: () => actions.keys() },
        { label: 'Show Data Folder', click: () => actions.dataFolder() },
        { type: 'separator' },
        ...(mac ? [{ role: 'close' } as MenuItemConstructorOptions] : [quit]),
      ],
    },
    { role: 'editMenu' },
    {
      label: 'Go',
      submenu: [
        screen('Home', '#/home'),
        screen('Kernels', '#/kernel'),
        screen('Runs', '#/run'),
        screen('History', '#/history'),
        screen('Compare', '#/compare'),
        screen('Settings', '#/settings'),
        { type: 'separator' },
        { ...screen('New Run', '#/run/new'), accelerator: 'CmdOrCtrl+N' },
        screen('A Kernel of Your Own', '#/newtask'),
      ],
    },
    {
      label: 'View',
      submenu: [
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        { role: 'togglefullscreen' },
        { type: 'separator' },
        { role: 'reload' },
        ...(packaged ? [] : [{ role: 'toggleDevTools' } as MenuItemConstructorOptions]),
      ],
    },
    { role: 'windowMenu' },
    {
      role: 'help',
      submenu: [
        {
          label: 'Nsight Compute Documentation',
          click: () => actions.openLink('https://docs.nvidia.com/nsight-compute/'),
        },
        { label: 'CUDA C++ Programming Guide', click: () => actions.openLink('https://docs.nvidia.com/cuda/') },
      ],
    },
  ];
}
