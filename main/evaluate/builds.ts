import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resourceRoot } from '../base/paths.ts';
import type { BuildStep } from '../contract/index.ts';
import { defaults } from './defaults.ts';

/** Programs and libraries of a job, relative to scratch. */
export const made = {
  runner: 'runner',
  judge: 'judge',
  shim: 'shim.so',
  origin: 'origin.so',
  best: 'best.so',
  candidate: 'candidate.so',
} as const;

/** Ids of the build steps. */
export const buildIds = {
  runner: 'build-runner',
  judge: 'build-judge',
  shim: 'build-shim',
  origin: 'build-origin',
  best: 'build-best',
  candidate: 'build-candidate',
} as const;

/** Sources of the harness by file name: real files under the resource root. */
export function harnessFiles(): ReadonlyMap<string, string> {
  const dir = join(resourceRoot(), 'kernels/harness');
  const names = readdirSync(dir).filter((name) => /\.(h|cu|cpp)$/.test(name));
  return new Map(names.sort().map((name) => [name, readFileSync(join(dir, name), 'utf8')]));
}

const has = (args: readonly string[], pattern: RegExp): boolean => args.some((arg) => pattern.test(arg));

/**
 * nvcc arguments of one version: a shared library that exports the wrapper only. The version's own arguments come first; ours
 * fill in what it leaves open, since nvcc refuses an option given twice.
 */
export function libraryArgs(source: string, map: string, output: string, own: readonly string[]): string[] {
  return [
    ...own,
    ...(has(own, /^-?-O\d$/) ? [] : ['-O3']),
    ...(has(own, /^-?-std=/) ? [] : ['-std=c++17']),
    ...(has(own, /^-?-(lineinfo|generate-line-info)$/) ? [] : ['-lineinfo']),
    ...(has(own, /^-Xptxas=-v$/) ? [] : ['-Xptxas=-v']),
    '-arch={arch}',
    '-shared',
    '-cudart=shared',
    '-Xcompiler=-fPIC',
    `-Xlinker=--version-script=${map}`,
    '-o',
    output,
    source,
  ];
}

/** A build step of a version (origin, best, candidate). */
export function libraryStep(
  id: string,
  files: { readonly source: string; readonly map: string; readonly output: string },
  own: readonly string[],
  untrusted: boolean,
): BuildStep {
  return {
    kind: 'build',
    id,
    needs: [],
    tool: 'nvcc',
    args: libraryArgs(files.source, files.map, files.output, own),
    inputs: [files.source, files.map],
    outputs: [files.output],
    untrusted,
    limits: defaults.limits.build,
  };
}

/** Runner, judge and shim: trusted, without candidate code. `headers`: names of the harness's headers. */
export function harnessSteps(headers: readonly string[]): BuildStep[] {
  const step = (id: string, tool: BuildStep['tool'], args: string[], inputs: string[], output: string): BuildStep => ({
    kind: 'build',
    id,
    needs: [],
    tool,
    args: [...args, '-o', output],
    inputs,
    outputs: [output],
    untrusted: false,
    limits: defaults.limits.build,
  });
  return [
    step(
      buildIds.runner,
      'nvcc',
      ['-O2', '-std=c++17', '-arch={arch}', '-cudart=shared', '-Xcompiler=-pthread', 'runner.cu', '-ldl'],
      ['runner.cu', ...headers],
      made.runner,
    ),
    step(
      buildIds.judge,
      'cxx',
      ['-O2', '-std=c++17', '-pthread', '-ffp-contract=off', 'judge.cpp'],
      ['judge.cpp', 'reference.h', ...headers],
      made.judge,
    ),
    step(
      buildIds.shim,
      'nvcc',
      ['-O2', '-std=c++17', '-shared', '-Xcompiler=-fPIC', 'shim.cpp'],
      ['shim.cpp', ...headers],
      made.shim,
    ),
  ];
}
