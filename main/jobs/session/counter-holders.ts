import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Reason } from './classify.ts';

/** A program that usually holds the GPU performance counters. Its name is one of ours below: nothing the process says of itself. */
export interface CounterHolder {
  readonly name: string;
  readonly pid: number;
  /** Login name, else "user 1001"; null: not visible. */
  readonly user: string | null;
  readonly dcgm: boolean;
}

/** By the name that the kernel keeps (15 characters). */
const usual: ReadonlyMap<string, { readonly name: string; readonly dcgm: boolean }> = new Map(
  [
    ...['nv-hostengine', 'dcgm-exporter', 'dcgmi'].map((name) => ({ name, dcgm: true })),
    ...['dcgmproftester11', 'dcgmproftester12', 'dcgmproftester13'].map((name) => ({ name, dcgm: true })),
    ...['ncu', 'ncu-ui', 'nv-nsight-cu-cli', 'nsys', 'nsys-ui', 'nsys-launcher', 'nvprof', 'nvvp'].map((name) => ({
      name,
      dcgm: false,
    })),
  ].map((program) => [program.name.slice(0, 15), program] as const),
);

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

function userOf(folder: string, passwd: string): string | null {
  const uid = statSync(folder, { throwIfNoEntry: false })?.uid;
  if (uid === undefined) return null;
  const line = passwd.split('\n').find((each) => each.split(':')[2] === String(uid));
  return line?.split(':')[0] || `user ${uid}`;
}

/**
 * Programs on this machine that are likely to hold the counters: of each its usual name, number and user, as far as they are visible, and
 * nothing else. An ncu of ours that is still there counts like any other. Empty where there is no /proc.
 */
export function counterHolders(proc = '/proc'): CounterHolder[] {
  let names: string[];
  try {
    names = readdirSync(proc).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  const passwd = read('/etc/passwd');
  return names.flatMap((name) => {
    const pid = Number(name);
    const program = usual.get(read(join(proc, name, 'comm')).trimEnd());
    return program === undefined ? [] : [{ ...program, pid, user: userOf(join(proc, name), passwd) }];
  });
}

/** "nv-hostengine (process 123, root)". */
export const holderText = ({ name, pid, user }: CounterHolder): string =>
  `${name} (process ${pid}${user === null ? '' : `, ${user}`})`;

const SHOWN = 4;
export const holdersText = (holders: readonly CounterHolder[]): string =>
  [
    ...holders.slice(0, SHOWN).map(holderText),
    ...(holders.length > SHOWN ? [`${holders.length - SHOWN} more`] : []),
  ].join(', ');

/** Whether DCGM's command is installed. */
export const hasDcgmi = (path: string): boolean =>
  [...path.split(delimiter), '/usr/bin', '/usr/local/bin'].some((dir) => dir !== '' && existsSync(join(dir, 'dcgmi')));

/**
 * The fault with what can be done about it here. Who holds the counters stands in the remedy, which is for people: the message also goes to
 * models, and they need nobody's process numbers.
 */
export function busyReason(reason: Reason, holders: readonly CounterHolder[], dcgmi: boolean): Reason {
  const others = holders.filter(({ dcgm }) => !dcgm);
  const who =
    holders.length > 0
      ? `Likely held by ${holdersText(holders)}.`
      : 'No usual holder (nv-hostengine, dcgm-exporter, ncu, nsys) is visible from here: it may run in another container, on the host, or as a user whose processes are hidden.';
  const cures = [
    ...(dcgmi || others.length < holders.length
      ? ['"dcgmi profile --pause" makes DCGM free the counters, "dcgmi profile --resume" ends that.']
      : []),
    ...(others.length > 0 ? ['End the other profiler, or wait for it.'] : []),
  ];
  return { ...reason, remedy: [who, ...cures, 'Then profile again; timing works meanwhile.'].join(' ') };
}
