import { randomBytes } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import envPaths from 'env-paths';
import { AppFailure } from '../contract/index.ts';
import { fileFault, systemCode } from './fault.ts';
import { pidExists, startTimeOf } from './proc.ts';

let root: string | null = null;

/** Set once by each front door: the folder that holds prompts/, kernels/ and so on as real files. */
export function setResourceRoot(dir: string): void {
  root = resolve(dir);
}

/** Where prompts, kernels and harness sources lie. Throws when no front door has set it: that is a bug, not a user's fault. */
export function resourceRoot(): string {
  if (root === null) throw new Error('resourceRoot() was asked for before setResourceRoot()');
  return root;
}

type Kind = 'data' | 'cache' | 'config';

function kindPath(kind: Kind): string {
  const home = process.env.CUDAMASTER_HOME;
  return home ? join(resolve(home), kind) : envPaths('cudamaster', { suffix: '' })[kind];
}

const kindDir = (kind: Kind): string => ensureDir(kindPath(kind));

/**
 * Parent by parent: Node's own recursive mkdir never returns where a parent can neither be made nor be found (`/proc/x/y`).
 */
function makeFolders(dir: string): void {
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (fault) {
    const code = systemCode(fault);
    if (code === 'EEXIST' && statSync(dir).isDirectory()) return;
    const parent = dirname(dir);
    if (code !== 'ENOENT' || parent === dir || existsSync(parent)) throw fault;
    makeFolders(parent);
    makeFolders(dir);
  }
}

/** Makes a folder (0700) and proves that it can be written. Throws AppFailure `env.not-writable` or `env.disk-full` naming it. */
export function ensureDir(dir: string): string {
  try {
    makeFolders(resolve(dir));
    accessSync(dir, constants.W_OK | constants.X_OK);
    return dir;
  } catch (fault) {
    // On a read-only file system Node's recursive mkdir answers ENOENT.
    const code = systemCode(fault) === 'ENOENT' ? Object.assign(new Error(String(fault)), { code: 'EROFS' }) : fault;
    const failure = fileFault(code, dir, 'Making the folder');
    if (failure.error.code !== 'env.not-writable') throw failure;
    throw new AppFailure({ ...failure.error, message: `The folder ${dir} cannot be written.` });
  }
}

/** History, logs, kept contents. $CUDAMASTER_HOME/data, else the platform's data folder. Created on demand. */
export const dataDir = (): string => kindDir('data');
/** The user's own tasks, one folder each. Not created: reading what is there must not need the right to write. */
export const ownTasksDir = (): string => join(kindPath('data'), 'tasks');
/** Compiled harness parts and proofs; may be deleted at any time. $CUDAMASTER_HOME/cache, else the platform's. */
export const cacheDir = (): string => kindDir('cache');
/** Settings. $CUDAMASTER_HOME/config, else the platform's. */
export const configDir = (): string => kindDir('config');

/** A Unix socket path holds 107 bytes; this much is left for names inside a scratch folder. */
const socketPathMax = 107;
const roomInside = 44;

/** Mount options decide whether what we build can be started; a noexec /tmp is common on hardened servers. */
function forbidsExec(dir: string): boolean {
  let table: string;
  try {
    table = readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return false;
  }
  let best = '';
  let noexec = false;
  for (const line of table.split('\n')) {
    const fields = line.split(' ');
    const at = (fields[4] ?? '').replace(/\\040/g, ' ');
    const covers = at !== '' && (dir === at || at === '/' || dir.startsWith(`${at}/`));
    if (!covers || at.length < best.length) continue;
    best = at;
    noexec = (fields[5] ?? '').split(',').includes('noexec');
  }
  return noexec;
}

function whyUnusable(dir: string): string | null {
  if (!isAbsolute(dir)) return 'not an absolute path';
  try {
    mkdirSync(dir, { recursive: true });
    const real = realpathSync(dir);
    const probe = join(real, `.cm-${process.pid}-${randomBytes(4).toString('hex')}`);
    writeFileSync(probe, 'x', { flag: 'wx' });
    rmSync(probe);
    if (forbidsExec(real)) return 'mounted noexec: programs built there cannot start';
  } catch (fault) {
    return fault instanceof Error ? fault.message : String(fault);
  }
  return null;
}

let tempBase: string | null = null;

/** The checked temporary folder (writable, executable, short). Throws `env.not-writable` with every folder tried. */
export function tempDir(): string {
  if (tempBase !== null) return tempBase;
  const tried: string[] = [];
  const candidates = [process.env.CUDAMASTER_TMP, tmpdir(), '/tmp', '/var/tmp', '/dev/shm'];
  if (process.platform === 'win32') candidates.splice(2);
  for (const dir of [...candidates, () => join(cacheDir(), 'tmp')]) {
    const path = typeof dir === 'function' ? dir() : dir;
    if (!path) continue;
    // The name made below adds 27 bytes at most.
    const tooLong = process.platform !== 'win32' && Buffer.byteLength(path) + 28 + roomInside > socketPathMax;
    const why = tooLong ? 'path too long for Unix sockets' : whyUnusable(path);
    if (why === null) {
      tempBase = realpathSync(path);
      return tempBase;
    }
    tried.push(`${path}: ${why}`);
  }
  throw new AppFailure({
    code: 'env.not-writable',
    message: 'No temporary folder is usable.',
    remedy: 'Set CUDAMASTER_TMP to a short, writable folder on a disk mounted without noexec.',
    detail: tried.join('\n'),
  });
}

let ownTemp: string | null = null;

/**
 * A folder of ours alone (0700) below the checked temporary folder, for TMPDIR of tools: in a shared /tmp their fixed names, such as
 * ncu's lock file, may belong to another user.
 */
export function privateTempDir(): string {
  // Cleaners of /tmp remove it under a program that runs for days.
  if (ownTemp !== null) return ensureDir(ownTemp);
  const uid = process.getuid?.() ?? 0;
  const wanted = join(tempDir(), `cudamaster-${uid}`);
  try {
    mkdirSync(wanted, { mode: 0o700 });
  } catch {
    // There already: looked at below.
  }
  try {
    const found = lstatSync(wanted);
    const ours =
      found.isDirectory() && (process.platform === 'win32' || (found.uid === uid && (found.mode & 0o077) === 0));
    // Somebody else may have made that name, as a folder or a link, before us.
    ownTemp = ours ? wanted : mkdtempSync(join(tempDir(), 'cudamaster-'));
    return ownTemp;
  } catch (fault) {
    throw fileFault(fault, wanted, 'Making the folder');
  }
}

const ownTag = (): string =>
  `${process.pid.toString(36)}.${startTimeOf(process.pid)?.replace(/[^0-9a-z]/gi, '_') ?? '0'}`;

/**
 * A new, empty, private (0700) folder with a short path, so that a socket in it fits 107 bytes.
 * Its name carries pid and start time of this process: sweepScratch() of a later one removes it if we crash.
 */
export function scratchDir(): string {
  const base = tempDir();
  for (let attempt = 0; attempt < 100; attempt++) {
    const dir = join(base, `cm-${process.pid.toString(36)}-${randomBytes(5).toString('hex')}`);
    try {
      mkdirSync(dir, { mode: 0o700 });
      writeFileSync(`${dir}.own`, ownTag());
      return dir;
    } catch (fault) {
      if ((fault as { code?: string }).code !== 'EEXIST') throw fileFault(fault, dir, 'Making the folder');
    }
  }
  throw new AppFailure({ code: 'internal', message: `No free folder name under ${base}.` });
}

/** Removes a scratch folder with all it holds. Never throws: a leftover is swept later. */
export function removeScratch(dir: string): void {
  try {
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
    rmSync(`${dir}.own`, { force: true });
  } catch {
    // Files of a candidate may have odd modes; sweepScratch tries again.
  }
}

/** Removes scratch folders whose process is gone (crash, kill -9). Gives back how many. */
export function sweepScratch(): number {
  const base = tempDir();
  let swept = 0;
  for (const name of readdirSync(base)) {
    if (!/^cm-[0-9a-z]+-[0-9a-f]{10}\.own$/.test(name)) continue;
    const mark = join(base, name);
    try {
      const [pid36 = '', start] = readFileSync(mark, 'utf8').split('.');
      const pid = Number.parseInt(pid36, 36);
      const now = startTimeOf(pid)?.replace(/[^0-9a-z]/gi, '_') ?? null;
      if (now === start || (now === null && pidExists(pid))) continue; // no start times on Windows: then the number decides
      removeScratch(mark.slice(0, -'.own'.length));
      swept++;
    } catch {
      // Another user's folder, or swept by someone else at the same moment.
    }
  }
  return swept;
}
