import { baseOf, joinOn, type Machine, pathFolders, unique } from './machine.ts';
import { inFolders, numbered } from './search.ts';

/** A C++ compiler that nvcc may use. */
export interface HostCompiler {
  readonly path: string;
  /** "12.2.0"; for MSVC "19.40.33811" */
  readonly version: string;
  readonly major: number;
  readonly family: 'gcc' | 'clang' | 'msvc';
  readonly stamp: string;
}

/**
 * C++ compilers of the machine, the default one first (the g++ that PATH gives, which nvcc takes by itself), then g++-N newest first,
 * conda's cross-named one, clang last. On Windows: cl.exe found by vswhere, since it is on no PATH outside a developer prompt.
 */
export async function findHostCompilers(machine: Machine): Promise<HostCompiler[]> {
  if (machine.platform === 'win32') return findMsvc(machine);
  const folders = unique([
    ...pathFolders(machine, machine.env.PATH),
    '/usr/local/bin',
    '/usr/bin',
    '/opt/homebrew/bin',
  ]);
  const paths: string[] = [];
  for (const name of ['CUDAHOSTCXX', 'NVCC_CCBIN']) {
    const value = machine.env[name];
    if (value && (await machine.isExecutable(value))) paths.push(value);
  }
  paths.push(...(await inFolders(machine, folders, 'g++', 'PATH')).map((place) => place.path));
  for (const folder of folders) paths.push(...(await numbered(machine, folder, /^g\+\+-\d+$/)));
  for (const folder of folders)
    paths.push(...(await numbered(machine, folder, /-(conda|linux)-linux-gnu-g\+\+$|^x86_64-conda.*g\+\+$/)));
  paths.push(...(await inFolders(machine, folders, 'clang++', 'PATH')).map((place) => place.path));
  const out: HostCompiler[] = [];
  const seen = new Set<string>();
  for (const path of paths) {
    const real = (await machine.realPath(path)) ?? path;
    if (seen.has(real)) continue;
    seen.add(real);
    const compiler = await examine(machine, path);
    if (compiler) out.push(compiler);
  }
  return out;
}

async function examine(machine: Machine, path: string): Promise<HostCompiler | null> {
  const stamp = (await machine.stamp(path)) ?? '';
  const key = `cxx 1 ${path} ${stamp}`;
  const known = (await machine.recall(key)) as HostCompiler | undefined;
  if (known?.version) return known;
  const answer = await machine.run([path, '-dumpfullversion', '-dumpversion']);
  const version = answer.stdout.trim();
  if (answer.exitCode !== 0 || !/^\d+(\.\d+)*$/.test(version)) return null;
  const family = baseOf(path).includes('clang') ? 'clang' : 'gcc';
  const compiler: HostCompiler = { path, version, major: Number.parseInt(version, 10), family, stamp };
  await machine.remember(key, compiler);
  return compiler;
}

async function findMsvc(machine: Machine): Promise<HostCompiler[]> {
  const x86 = machine.env['ProgramFiles(x86)'] ?? 'C:\\Program Files (x86)';
  const vswhere = joinOn(machine, x86, 'Microsoft Visual Studio', 'Installer', 'vswhere.exe');
  if (!(await machine.isExecutable(vswhere))) return [];
  const component = 'Microsoft.VisualStudio.Component.VC.Tools.x86.x64';
  const answer = await machine.run([
    vswhere,
    '-products',
    '*',
    '-requires',
    component,
    '-sort',
    '-utf8',
    '-property',
    'installationPath',
  ]);
  const out: HostCompiler[] = [];
  for (const install of answer.stdout.split(/\r?\n/).filter((line) => line.trim() !== '')) {
    for (const dir of await numbered(machine, joinOn(machine, install.trim(), 'VC', 'Tools', 'MSVC'), /^\d/)) {
      const path = joinOn(machine, dir, 'bin', 'Hostx64', 'x64', 'cl.exe');
      if (!(await machine.isExecutable(path))) continue;
      const version = baseOf(dir);
      out.push({
        path,
        version,
        major: Number.parseInt(version, 10),
        family: 'msvc',
        stamp: (await machine.stamp(path)) ?? '',
      });
    }
  }
  return out;
}

/**
 * Compilers in the order to try with an nvcc that accepts GCC up to `maxGcc`: the default one as long as it may fit, then the newest that does.
 * `ccbin` = must be named to nvcc.
 */
export function compilersToTry(
  compilers: readonly HostCompiler[],
  maxGcc: number | null,
): { compiler: HostCompiler; ccbin: boolean }[] {
  const fits = (c: HostCompiler): boolean => c.family !== 'gcc' || maxGcc === null || c.major <= maxGcc;
  const [first, ...others] = compilers;
  if (first === undefined) return [];
  const byAge = others.filter((c) => c.family === first.family || c.family === 'gcc').sort((a, b) => b.major - a.major);
  const clang = others.filter((c) => c.family === 'clang' && first.family !== 'clang');
  const firstIsDefault = first.family === 'gcc' && baseOf(first.path) === 'g++';
  return [
    { compiler: first, ccbin: !firstIsDefault },
    ...[...byAge, ...clang].map((compiler) => ({ compiler, ccbin: true })),
  ].filter(({ compiler }) => fits(compiler));
}
