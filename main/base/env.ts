import { AppFailure } from '../contract/index.ts';
import { privateTempDir } from './paths.ts';
import { holdsSecret, isSecretName } from './redact.ts';

/** Names that a child may get from our environment without being asked for. */
const always = [
  'PATH',
  'HOME',
  'USER',
  // Windows programs, nvcc and MSVC among them, do not start without these.
  'SystemRoot',
  'SYSTEMROOT',
  'SystemDrive',
  'ComSpec',
  'PATHEXT',
  'USERPROFILE',
  'LOCALAPPDATA',
  'APPDATA',
  'ProgramFiles',
  'ProgramFiles(x86)',
  'ProgramData',
  'NUMBER_OF_PROCESSORS',
  'PROCESSOR_ARCHITECTURE',
];

const fallbackPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The whole environment of a child: PATH, HOME, a fixed locale, temporary folders that we own and checked (nvcc exits 2 without a
 * word when they are unset; ncu's lock file in a shared /tmp may belong to someone else), the names asked for, and `extra`.
 * Names and values that look like keys are left out even when asked for; in `extra` they are a bug and throw.
 * `tmp`: the folder for TMPDIR, TMP and TEMP; default the checked one of this machine.
 */
export function allowedEnv(
  names: readonly string[] = [],
  extra: Readonly<Record<string, string>> = {},
  source: Readonly<Record<string, string | undefined>> = process.env,
  tmp: string = extra.TMPDIR ?? privateTempDir(),
): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name of [...always, 'CUDA_VISIBLE_DEVICES', ...names]) {
    const value = source[name];
    if (value === undefined || isSecretName(name) || holdsSecret(value)) continue;
    out[name] = value;
  }
  if (process.platform !== 'win32' && !out.PATH) out.PATH = fallbackPath;
  out.LANG = 'C.UTF-8';
  out.LC_ALL = 'C.UTF-8'; // tool messages are parsed: they must not be translated
  out.TMPDIR = tmp;
  out.TMP = tmp;
  out.TEMP = tmp;
  for (const [name, value] of Object.entries(extra)) {
    if (isSecretName(name) || holdsSecret(value))
      throw new AppFailure({ code: 'internal', message: `A child process was about to get a secret (${name}).` });
    out[name] = value;
  }
  return out;
}
