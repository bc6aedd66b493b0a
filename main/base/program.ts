import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { execaSync } from 'execa';

/** Found program, or why not in the words of the system (ENOENT, EACCES). */
export type Found = { readonly path: string; readonly fault: null } | { readonly path: null; readonly fault: string };

function executable(path: string): 'yes' | 'ENOENT' | 'EACCES' {
  try {
    if (!statSync(path).isFile()) return 'EACCES';
    accessSync(path, constants.X_OK);
    return 'yes';
  } catch (fault) {
    return (fault as { code?: string }).code === 'ENOENT' ? 'ENOENT' : 'EACCES';
  }
}

/**
 * Looks a program up as execvp would, but in the PATH given, never in our own. A name with a slash is taken relative to `cwd`.
 * Doing this before the spawn tells "not there" apart from "ended with 127".
 */
export function findProgram(name: string, path: string | undefined, cwd: string): Found {
  const windows = process.platform === 'win32';
  const endings = windows ? ['', '.exe', '.com', '.cmd', '.bat'] : [''];
  const hasSlash = name.includes('/') || (windows && name.includes('\\'));
  const folders = hasSlash || isAbsolute(name) ? [null] : (path ?? '').split(delimiter).filter((dir) => dir !== '');
  let fault: 'ENOENT' | 'EACCES' = 'ENOENT';
  for (const folder of folders) {
    for (const ending of endings) {
      const candidate = folder === null ? resolve(cwd, name + ending) : join(resolve(cwd, folder), name + ending);
      const verdict = executable(candidate);
      if (verdict === 'yes') return { path: candidate, fault: null };
      if (verdict === 'EACCES') fault = 'EACCES';
    }
  }
  return { path: null, fault: `${fault}: ${fault === 'EACCES' ? 'not executable' : 'no such program'}: ${name}` };
}

let setpriv: string | null | undefined;

/**
 * argv prefix that makes the kernel kill the program when our process dies by any cause (PR_SET_PDEATHSIG by util-linux's setpriv);
 * empty where that tool is missing. It binds the program itself, not what it starts: bubblewrap's --die-with-parent covers a whole sandbox.
 */
export function deathSignalPrefix(): readonly string[] {
  if (setpriv === undefined) {
    setpriv = null;
    if (process.platform === 'linux') {
      const { path } = findProgram('setpriv', '/usr/bin:/bin:/usr/sbin:/sbin', '/');
      const proof =
        path &&
        execaSync(path, ['--pdeathsig', 'KILL', '--', path, '--version'], { reject: false, env: {}, extendEnv: false });
      if (path && proof && proof.exitCode === 0) setpriv = path;
    }
  }
  return setpriv === null ? [] : [setpriv, '--pdeathsig', 'KILL', '--'];
}
