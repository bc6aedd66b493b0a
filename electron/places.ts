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
 * In a clone everything lies in the repository; in an installed program the archive holds shell and screens, and the folder
 * `cudamaster` beside it what must be real files.
 */
export function placesOf(app: {
  readonly packaged: boolean;
  readonly appPath: string;
  readonly resources: string;
}): Places {
  return {
    root: app.packaged ? join(app.resources, 'cudamaster') : app.appPath,
    renderer: join(app.appPath, 'dist', 'renderer'),
    shell: join(app.appPath, 'dist', 'electron'),
  };
}
