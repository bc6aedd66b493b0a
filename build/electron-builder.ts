import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Configuration } from 'electron-builder';
import { root } from './bundle.ts';

const { version, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  devDependencies: Record<string, string>;
};

/** What is closed in the program itself, whatever is in its environment or on its command line. */
export const fuses = {
  runAsNode: false,
  enableNodeOptionsEnvironmentVariable: false,
  enableNodeCliInspectArguments: false,
  enableCookieEncryption: true,
  enableEmbeddedAsarIntegrityValidation: true,
  onlyLoadAppFromAsar: true,
  grantFileProtocolExtraPrivileges: false,
} as const;

export interface PackageOptions {
  /** Folders made by build/package.ts: what goes into the archive, and what lies beside it as real files. */
  readonly app: string;
  readonly resources: string;
  /** Scripts for deb, made of electron-builder's own and ours. */
  readonly scripts: string;
  readonly out: string;
  /** Folder of an unpacked Electron; absent: electron-builder fetches the one of package.json. */
  readonly electronDist?: string;
  /** Address of a folder with packages and channel files, for an updater; absent: none is written. The program itself never asks. */
  readonly updateUrl?: string;
  /** Playwright drives a packaged program only through the inspector. Never for users. */
  readonly testBuild?: boolean;
}

/** electron-builder's configuration. `build/` holds our scripts, so its own resources are in build/resources. */
export function packageConfig(o: PackageOptions): Configuration {
  return {
    appId: 'dev.cudamaster.desktop',
    productName: 'CUDAMaster',
    copyright: `CUDAMaster ${version}`,
    electronVersion: devDependencies.electron as string,
    directories: { app: o.app, output: o.out, buildResources: join(root, 'build/resources') },
    // No package is rebuilt, and none is looked for: everything is bundled, the database's native part is Node-API.
    beforeBuild: async () => false,
    nodeGypRebuild: false,
    files: ['**/*'],
    asar: true,
    // Native code can be loaded from real files only.
    asarUnpack: ['**/*.node'],
    extraResources: [{ from: o.resources, to: 'cudamaster' }],
    electronFuses: { ...fuses, enableNodeCliInspectArguments: o.testBuild === true },
    electronLanguages: ['en-US'],
    ...(o.electronDist === undefined ? {} : { electronDist: o.electronDist }),
    fileAssociations: [
      {
        ext: 'cudamaster',
        name: 'CUDAMaster recording',
        description: 'A recorded run of CUDAMaster',
        mimeType: 'application/x-cudamaster',
        role: 'Viewer',
      },
    ],
    publish: o.updateUrl === undefined ? null : [{ provider: 'generic', url: o.updateUrl, channel: 'latest' }],
    linux: {
      target: ['AppImage', 'deb'],
      // `cudamaster` is the command line.
      executableName: 'cudamaster-desktop',
      // Ties running windows to the entry in the menu, by the name in the staged package.json.
      syncDesktopName: true,
      category: 'Development',
      synopsis: 'Makes CUDA kernels faster, and proves it',
      maintainer: 'CUDAMaster',
      vendor: 'CUDAMaster',
      icon: join(root, 'build/resources/icons'),
    },
    deb: { afterInstall: join(o.scripts, 'after-install.tpl'), afterRemove: join(o.scripts, 'after-remove.tpl') },
    win: { target: ['nsis'], executableName: 'CUDAMaster', icon: join(root, 'build/resources/icon.ico') },
    nsis: {
      oneClick: false,
      perMachine: false,
      allowToChangeInstallationDirectory: true,
      include: join(root, 'build/resources/installer.nsh'),
    },
    // A Mac has no CUDA: it shows, asks models, and leaves GPU work to bundles elsewhere.
    mac: {
      target: ['dmg'],
      category: 'public.app-category.developer-tools',
      icon: join(root, 'build/resources/icon.icns'),
    },
  };
}
