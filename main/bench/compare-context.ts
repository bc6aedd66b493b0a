import type { Bottleneck, Dtype, SizeSet } from '../contract/index.ts';
import type { ComparedProfile, ComparedReport } from './compare.ts';

/** One thing that figures depend on, in both benches. */
export interface Difference {
  readonly what: string;
  readonly a: readonly string[];
  readonly b: readonly string[];
  /** false also where one of them does not say. */
  readonly same: boolean;
}

const unknown = 'unknown';
type Machine = ComparedReport['machines'][number]['machine'];

/** Values over all machines of a bench, those of most cells first, without repetition. */
function ofMachines({ machines }: ComparedReport, value: (m: Machine) => string | null | undefined): string[] {
  return [...new Set(machines.map(({ machine }) => value(machine) ?? unknown))];
}

/** UUIDs with the cells that were measured on each. */
function uuids({ machines }: ComparedReport): string[] {
  const cells = new Map<string, number>();
  for (const { machine, cells: n } of machines) {
    const uuid = machine.gpu?.uuid ?? unknown;
    cells.set(uuid, (cells.get(uuid) ?? 0) + n);
  }
  return [...cells].map(([uuid, n]) => `${uuid} (${n} cells)`);
}

const range = (pair: readonly [number, number] | undefined): string[] => {
  if (pair === undefined) return [unknown];
  return [pair[0] === pair[1] ? `${pair[0]} MHz` : `${pair[0]} to ${pair[1]} MHz`];
};

const facts: readonly (readonly [string, (r: ComparedReport) => string[]])[] = [
  ['bench', (r) => [r.bench]],
  ['begun', (r) => [r.createdAt]],
  ['program', (r) => [r.programVersion]],
  ['GPU', (r) => ofMachines(r, (m) => m.gpu && `${m.gpu.name}, sm_${m.gpu.cc.replace('.', '')}`)],
  ['GPU UUID', uuids],
  ['driver', (r) => ofMachines(r, (m) => m.driver)],
  ['CUDA toolkit', (r) => ofMachines(r, (m) => m.toolkit)],
  ['nvcc', (r) => ofMachines(r, (m) => m.nvcc)],
  ['host compiler', (r) => ofMachines(r, (m) => m.hostCompiler)],
  ['ncu', (r) => ofMachines(r, (m) => m.ncu)],
  ['containment', (r) => ofMachines(r, (m) => m.containment)],
  ['SM clock while timing', (r) => range(r.clocks?.sm)],
  ['memory clock', (r) => range(r.clocks?.memory)],
  ['sizes', (r) => r.config.stages.map((s) => (s === 'profile' ? `profile (${r.config.profileSizes})` : s))],
  ['built for', (r) => [r.config.arch]],
  ['libraries', (r) => [r.config.library ? 'measured' : 'left out']],
  ['candidates', (r) => [r.config.candidates]],
  ['run on', (r) => [r.config.variant === 'host' ? 'the CPU: times mean nothing' : 'GPU']],
  ['cells measured', (r) => [`${r.cells.measured} of ${r.cells.all}`]],
  ['outdated cells', (r) => (r.outdated.length === 0 ? ['none'] : [...r.outdated])],
];

/** Everything that is known of where and how both were measured. UUIDs count as the same when they are, whatever the cells. */
export function environment(a: ComparedReport, b: ComparedReport): Difference[] {
  return facts.map(([what, of]): Difference => {
    const [left, right] = [of(a), of(b)];
    const known = [...left, ...right].every((text) => !text.startsWith(unknown)) && left.length > 0 && right.length > 0;
    const set = (texts: readonly string[]): string =>
      texts
        .map((text) => text.replace(/ \(\d+ cells\)$/, ''))
        .sort()
        .join('\n');
    return { what, a: left, b: right, same: known && set(left) === set(right) };
  });
}

/** A profile whose class is another one in B. */
export interface ClassChange {
  readonly task: string;
  readonly dtype: Dtype;
  readonly version: 'origin' | 'candidate';
  readonly sizes: SizeSet;
  readonly a: { readonly bottleneck: Bottleneck | null; readonly launchBound: boolean; readonly why: string };
  readonly b: ClassChange['a'];
}

export interface ProfileChanges {
  /** Profiles in both; how many are in one alone. */
  readonly common: number;
  readonly onlyA: number;
  readonly onlyB: number;
  readonly changed: readonly ClassChange[];
}

/** Profiles of the same task, data type, version and size set whose bottleneck, or whether they are launch bound, differs. */
export function classChanges(a: ComparedReport, b: ComparedReport): ProfileChanges {
  const key = (p: ComparedProfile): string => `${p.task} ${p.dtype} ${p.version} ${p.sizes}`;
  const right = new Map(b.profiles.map((p) => [key(p), p]));
  const both = a.profiles.flatMap((p) => {
    const match = right.get(key(p));
    return match ? [[p, match] as const] : [];
  });
  const of = ({ bottleneck, launchBound, why }: ComparedProfile): ClassChange['a'] => ({
    bottleneck,
    launchBound,
    why,
  });
  return {
    common: both.length,
    onlyA: a.profiles.length - both.length,
    onlyB: b.profiles.length - both.length,
    changed: both
      .filter(([p, q]) => p.bottleneck !== q.bottleneck || p.launchBound !== q.launchBound)
      .map(([p, q]) => ({ task: p.task, dtype: p.dtype, version: p.version, sizes: p.sizes, a: of(p), b: of(q) })),
  };
}
