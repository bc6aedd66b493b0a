import { join } from 'node:path';

/** Where everything lies. */
export interface Places {
  /** Folder of prompts, kernels, recordings: real files, never inside an archive. */
  readonly root: string;
  /** The screens. */
  readonly renderer: string;
  /** Files of the shell itself: engine, preload, its own pages and icons. */
  readonly shell: string;
}

/**
 * In a clone the shell is a folder of its own, dist/electron, and the rest lies in the repository; in an installed program the archive holds
 * shell and screens, and the folder `cudamaster` beside it what must be real files.
 */
export function placesOf(app: {
  readonly packaged: boolean;
  readonly appPath: string;
  readonly resources: string;
}): Places {
  const { packaged, appPath, resources } = app;
  const top = packaged ? appPath : join(appPath, '..', '..');
  return {
    root: packaged ? join(resources, 'cudamaster') : top,
    renderer: join(top, 'dist', 'renderer'),
    shell: join(top, 'dist', 'electron'),
  };
}
