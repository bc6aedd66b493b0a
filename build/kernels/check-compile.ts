/** Compiles one kernel for several architectures, and remembers what came of it. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomic } from '../../main/base/files.ts';
import { run } from '../../main/base/spawn.ts';
import type { ToolPaths } from '../../main/contract/index.ts';
import { armCompileArgs, versionScript } from '../../main/jobs/session/shim.ts';
import type { Found, State, Unit } from './check-report.ts';

/** Where compilers run and what they see. */
export interface Setting {
  readonly tools: ToolPaths;
  /** Scratch; an arm's files are made and removed there. */
  readonly folder: string;
  /** Further folders of headers. */
  readonly includes: readonly string[];
  /** Versions of the vendors' headers that are seen. */
  readonly headers: readonly string[];
  /** true: nothing is compiled; what is not known from earlier calls stays open. */
  readonly keptAlone: boolean;
}

const results = z.record(z.string(), z.object({ state: z.enum(['ok', 'warns', 'FAILS']), words: z.string() }));
type Result = z.infer<typeof results>[string];

/** What earlier calls found, by everything that decides it: source, options, compilers, headers. Absent headers are looked for anew. */
export class Kept {
  private readonly file: string | null;
  private readonly known: Record<string, Result>;

  /** `file`: read if it is there, written after every kernel; null: nothing is kept. Throws if it holds something else. */
  constructor(file: string | null) {
    this.file = file;
    this.known = file !== null && existsSync(file) ? results.parse(JSON.parse(readFileSync(file, 'utf8'))) : {};
  }

  get(key: string): Result | undefined {
    return this.known[key];
  }

  async add(entries: Readonly<Record<string, Result>>): Promise<void> {
    Object.assign(this.known, entries);
    if (this.file !== null) await writeFileAtomic(this.file, JSON.stringify(this.known, null, 1));
  }
}

/**
 * Arguments of nvcc: as an arm is built but for ptxas's table; both wrappers of a library at once. Vendors' libraries are not
 * linked: that their headers know every name is what is checked.
 */
function argumentsFor(name: string, archs: readonly string[], { tools, includes }: Setting): string[] {
  const targets = archs.flatMap((arch) => ['-gencode', `arch=compute_${arch.slice(3)},code=${arch}`]);
  const files = { source: `${name}.cu`, versionScript: `${name}.map`, output: `${name}.so` };
  const host = tools.ccbin && tools.cxx !== null ? ['-ccbin', tools.cxx] : [];
  const search = [...tools.includeDirs, ...includes].map((dir) => `-isystem=${dir}`);
  return armCompileArgs('gpu', files, [...host, ...search]).args.flatMap((arg) =>
    arg === '-arch={arch}' ? targets : arg === '-Xptxas=-v' ? [] : [arg.replaceAll('{toolkit}', tools.toolkit ?? '')],
  );
}

/** What decides the result for one architecture. */
function keyOf(unit: Unit, arch: string, setting: Setting): string {
  const { machine } = setting.tools;
  const parts = [
    unit.source,
    ...unit.symbols,
    ...argumentsFor('kernel', [arch], { ...setting, includes: [] }),
    ...setting.headers,
    machine.nvcc,
    machine.hostCompiler,
  ];
  return `${unit.name} ${arch} ${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)}`;
}

async function compile(
  name: string,
  archs: readonly string[],
  setting: Setting,
): Promise<{ good: boolean; words: string }> {
  const { folder, tools } = setting;
  const exit = await run([tools.nvcc as string, ...argumentsFor(name, archs, setting)], {
    cwd: folder,
    env: tools.env,
    wallMs: 900_000,
    memoryMiB: null,
    outputBytes: 1 << 20,
  });
  rmSync(join(folder, `${name}.so`), { force: true });
  return { good: exit.exitCode === 0, words: `${exit.stdout}${exit.stderr}`.trim().replaceAll(folder, '') };
}

const missingHeader = /fatal error: (\S+): No such file or directory/;
const first = (words: string, lines: number): string => words.split('\n').slice(0, lines).join(' | ');

/** One kernel for all architectures in one call of nvcc; one by one where that fails. `archs` are those that nvcc knows. */
export async function check(
  unit: Unit,
  name: string,
  archs: readonly string[],
  kept: Kept,
  setting: Setting,
): Promise<Found> {
  const began = performance.now();
  const open = archs.filter((arch) => kept.get(keyOf(unit, arch, setting)) === undefined);
  let absent: string | undefined;
  if (open.length > 0 && !setting.keptAlone) {
    writeFileSync(join(setting.folder, `${name}.cu`), unit.source);
    writeFileSync(join(setting.folder, `${name}.map`), versionScript(...unit.symbols));
    const together = await compile(name, open, setting);
    absent = unit.kind === 'library' ? missingHeader.exec(together.words)?.[1] : undefined;
    const made: Record<string, Result> = {};
    if (absent === undefined)
      for (const arch of open) {
        const { good, words } = together.good || open.length === 1 ? together : await compile(name, [arch], setting);
        const state = good ? (words === '' ? 'ok' : 'warns') : 'FAILS';
        made[keyOf(unit, arch, setting)] = { state, words: first(words, good ? 2 : 3) };
      }
    await kept.add(made);
  }
  const found = archs.map((arch) => [arch, kept.get(keyOf(unit, arch, setting))] as const);
  const states = Object.fromEntries(
    found.map(([arch, result]): [string, State] => [arch, result?.state ?? (setting.keptAlone ? 'open' : 'absent')]),
  );
  const said = new Set(
    found.flatMap(([, result]) => (result === undefined || result.words === '' ? [] : [result.words])),
  );
  if (absent !== undefined) said.add(`${absent} is not here`);
  return { unit, states, words: [...said].join('\n'), seconds: (performance.now() - began) / 1000 };
}
