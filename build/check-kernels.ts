/**
 * Compiles every origin, in both data types, and every library.cu for each GPU architecture that is supported, with the harness's own
 * options; no GPU is needed. Prints a table and what failed; exit code 1 if an origin or a library whose headers are here does not
 * compile. A library whose headers are missing is stated and skipped.
 * Usage: npm run check:kernels -- [--arch sm_80,sm_90] [--task ID,ID] [--only origins|libraries] [--jobs N] [--json FILE]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setResourceRoot } from '../main/base/paths.ts';
import { run } from '../main/base/spawn.ts';
import { type ToolPaths, unwrap } from '../main/contract/index.ts';
import { listTasks } from '../main/evaluate/task/index.ts';
import { resolveTools } from '../main/toolchain/index.ts';

const archs = ['sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90', 'sm_120'];
const root = join(import.meta.dirname, '..');
setResourceRoot(root);

type State = 'ok' | 'warns' | 'FAILS' | 'absent' | 'unknown';
interface Unit {
  readonly name: string;
  readonly kind: 'origin' | 'library';
  readonly source: string;
}
interface Found {
  readonly unit: Unit;
  readonly states: Record<string, State>;
  readonly words: string;
  readonly seconds: number;
}

const { values } = parseArgs({
  options: {
    arch: { type: 'string', default: archs.join(',') },
    task: { type: 'string' },
    only: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'string' },
  },
});
const wanted = values.arch.split(',');
const tasks = values.task?.split(',') ?? null;
const tools = unwrap(await resolveTools({ require: 'nvcc' }));
const known = wanted.filter((arch) => tools.archs.length === 0 || tools.archs.includes(arch));
const folder = mkdtempSync(join(tmpdir(), 'cm-check-'));

const units = listTasks(root).flatMap(({ id, loaded }): Unit[] => {
  if (tasks !== null && !tasks.includes(id)) return [];
  const { task, origin, library } = unwrap(loaded);
  const origins = task.dtypes.map((dtype): Unit => ({ name: `${id} ${dtype}`, kind: 'origin', source: origin[dtype] }));
  const libraries: Unit[] = library === null ? [] : [{ name: `${id} library`, kind: 'library', source: library }];
  return [...(values.only === 'libraries' ? [] : origins), ...(values.only === 'origins' ? [] : libraries)];
});

/** Compiles for several architectures in one call: the host part and the parsing are then done once per architecture less. */
async function compile(
  file: string,
  of: readonly string[],
  tools: ToolPaths,
): Promise<{ good: boolean; words: string }> {
  const targets = of.flatMap((arch) => ['-gencode', `arch=compute_${arch.slice(3)},code=${arch}`]);
  const host = tools.ccbin && tools.cxx !== null ? ['-ccbin', tools.cxx] : [];
  const search = tools.includeDirs.map((dir) => `-isystem=${dir}`);
  const argv = [
    tools.nvcc as string,
    ...host,
    '-O3',
    '-std=c++17',
    '-lineinfo',
    ...targets,
    ...search,
    '-Xcompiler=-fPIC',
    '-c',
    file,
    '-o',
    `${file}.o`,
  ];
  const exit = await run(argv, { cwd: folder, env: tools.env, wallMs: 900_000, memoryMiB: null, outputBytes: 1 << 20 });
  rmSync(`${file}.o`, { force: true });
  return { good: exit.exitCode === 0, words: `${exit.stdout}${exit.stderr}`.trim() };
}

const missingHeader = /fatal error: (\S+): No such file or directory/;

async function check(unit: Unit, index: number): Promise<Found> {
  const file = join(folder, `${index}.cu`);
  writeFileSync(file, unit.source);
  const began = performance.now();
  const states: Record<string, State> = Object.fromEntries(wanted.map((arch) => [arch, 'unknown']));
  const said: string[] = [];
  const together = await compile(file, known, tools);
  const header = missingHeader.exec(together.words)?.[1];
  if (together.good) for (const arch of known) states[arch] = together.words === '' ? 'ok' : 'warns';
  else if (unit.kind === 'library' && header !== undefined) for (const arch of known) states[arch] = 'absent';
  else
    for (const arch of known) {
      const alone = await compile(file, [arch], tools);
      states[arch] = alone.good ? (alone.words === '' ? 'ok' : 'warns') : 'FAILS';
      if (!alone.good) said.push(`${arch}: ${alone.words.split('\n').slice(0, 3).join(' | ')}`);
    }
  if (header !== undefined) said.push(`${header} is not here`);
  if (together.good && together.words !== '') said.push(together.words.split('\n').slice(0, 2).join(' | '));
  return { unit, states, words: said.join('\n').replaceAll(folder, ''), seconds: (performance.now() - began) / 1000 };
}

const found: Found[] = [];
let next = 0;
await Promise.all(
  Array.from({ length: Math.max(1, Number(values.jobs)) }, async () => {
    for (let at = next++; at < units.length; at = next++) {
      found[at] = await check(units[at] as Unit, at);
      if (process.stderr.isTTY) process.stderr.write(`\r${at + 1}/${units.length} `);
    }
  }),
);
rmSync(folder, { recursive: true, force: true });

console.log(`nvcc ${tools.machine.nvcc}, ${tools.machine.hostCompiler}\n`);
console.log(`| kernel | ${wanted.join(' | ')} | s |\n|---|${wanted.map(() => '---|').join('')}---|`);
for (const { unit, states, seconds } of found)
  console.log(`| ${unit.name} | ${wanted.map((arch) => states[arch]).join(' | ')} | ${seconds.toFixed(1)} |`);
const remarks = found.filter(({ words }) => words !== '');
if (remarks.length > 0) console.log(`\n${remarks.map(({ unit, words }) => `${unit.name}: ${words}`).join('\n')}`);
const count = (kind: Unit['kind'], state: State, arch: string): number =>
  found.filter(
    (f) => f.unit.kind === kind && (f.states[arch] === state || (state === 'ok' && f.states[arch] === 'warns')),
  ).length;
console.log('');
for (const arch of wanted)
  console.log(
    known.includes(arch)
      ? `${arch}: origins ${count('origin', 'ok', arch)} compile, ${count('origin', 'FAILS', arch)} do not; libraries ${count('library', 'ok', arch)} compile, ${count('library', 'FAILS', arch)} do not, ${count('library', 'absent', arch)} lack their headers here`
      : `${arch}: this nvcc does not know it (it makes ${tools.archs.join(', ')})`,
  );
if (values.json)
  writeFileSync(
    values.json,
    JSON.stringify(
      found.map(({ unit, ...rest }) => ({ name: unit.name, kind: unit.kind, ...rest })),
      null,
      1,
    ),
  );
const failed = found.some(({ states }) => Object.values(states).includes('FAILS'));
process.exitCode = failed || units.length === 0 ? 1 : 0;
