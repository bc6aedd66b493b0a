import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Dtype, Task } from '../../main/contract/index.ts';
import {
  armCompileArgs,
  type CompileLine,
  judgeCompileArgs,
  runnerCompileArgs,
  shimCompileArgs,
  shimSource,
  type Variant,
  versionScript,
} from '../../main/jobs/session/shim.ts';

export const harness = join(import.meta.dirname, '../../kernels/harness');
const example = join(import.meta.dirname, 'example');

/** y[i] = a * x[i], s[0] = sum of x; every kind of scalar is passed. */
export const exampleTask: Pick<Task, 'wrapper'> = {
  wrapper: {
    name: { fp32: 'scale_sum', bf16: 'scale_sum_bf16' },
    params: [
      { role: 'in', name: 'x', elem: 'T', count: 'N', generator: { kind: 'uniform', lo: -1, hi: 1 } },
      { role: 'out', name: 'y', elem: 'T', count: 'N' },
      { role: 'out', name: 's', elem: 'float', count: '1' },
      { role: 'scalar', name: 'a', ctype: 'T', value: '3' },
      { role: 'scalar', name: 'n', ctype: 'int', value: 'N' },
      { role: 'scalar', name: 'm', ctype: 'long', value: 'N' },
    ],
  },
};

const toolkit = (): string | null =>
  ['/usr/local/cuda', ...globCuda()].find((dir) => existsSync(join(dir, 'bin/nvcc'))) ?? null;

function globCuda(): string[] {
  const names = existsSync('/usr/local') ? readdirSync('/usr/local') : [];
  return names.filter((name) => /^cuda-\d/.test(name)).map((name) => join('/usr/local', name));
}

export const cuda = toolkit();

/** Runs a compile line in a folder; throws with the compiler's words. */
export function compile(line: CompileLine, cwd: string): string {
  const tool = line.tool === 'cxx' ? (process.env.CXX ?? 'g++') : join(cuda ?? '', 'bin/nvcc');
  const args = line.args.map((arg) => arg.replaceAll('{arch}', 'sm_90').replaceAll('{toolkit}', cuda ?? ''));
  return execFileSync(tool, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function contentHash(): string {
  const hash = createHash('sha256');
  for (const dir of [harness, example, import.meta.dirname])
    for (const name of readdirSync(dir).sort())
      if (/\.(h|cu|cpp)$|^build\.ts$/.test(name)) hash.update(name).update(readFileSync(join(dir, name)));
  return hash
    .update(readFileSync(join(import.meta.dirname, '../../main/jobs/session/shim.ts')))
    .digest('hex')
    .slice(0, 16);
}

/** Makes a program once per content of its sources; parallel test files share it. */
function once(name: string, make: (dir: string) => void): string {
  const final = join(tmpdir(), `cudamaster-test-${name}-${contentHash()}`);
  if (existsSync(final)) return join(final, name);
  const dir = mkdtempSync(join(tmpdir(), 'cudamaster-build-'));
  make(dir);
  try {
    renameSync(dir, final);
  } catch {
    rmSync(dir, { recursive: true, force: true }); // another test file was faster
  }
  return join(final, name);
}

export const runnerProgram = (variant: Variant): string =>
  once(variant === 'gpu' ? 'runner-gpu' : 'runner-host', (dir) => {
    const output = join(dir, variant === 'gpu' ? 'runner-gpu' : 'runner-host');
    compile(runnerCompileArgs(variant, { source: join(harness, 'runner.cu'), output }), dir);
  });

export const judgeProgram = (): string =>
  once('judge', (dir) => {
    const source = join(harness, 'judge.cpp');
    // reference.h lies elsewhere here, and its own include must find the harness.
    const line = judgeCompileArgs({ task: 'example', source, output: join(dir, 'judge'), include: example });
    compile({ ...line, args: ['-I', harness, ...line.args] }, dir);
  });

export function buildShim(dir: string, dtype: Dtype = 'fp32'): string {
  writeFileSync(join(dir, 'shim.cpp'), shimSource(exampleTask, dtype));
  compile(shimCompileArgs({ source: 'shim.cpp', output: `shim-${dtype}.so` }), dir);
  return `shim-${dtype}.so`;
}

/** Compiles a version from source text; returns the library's name in `dir`. */
export function buildArm(dir: string, name: string, source: string, symbol: string, variant: Variant = 'host'): string {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, `${name}.cu`), source);
  writeFileSync(join(dir, `${name}.map`), versionScript(symbol));
  const files = { source: `${name}.cu`, versionScript: `${name}.map`, output: `${name}.so` };
  compile(armCompileArgs(variant, files), dir);
  return `${name}.so`;
}

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'cm-h-'));
