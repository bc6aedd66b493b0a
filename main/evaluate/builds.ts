import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resourceRoot } from '../base/paths.ts';
import type { BuildStep } from '../contract/index.ts';
import {
  type ArmFiles,
  armCompileArgs,
  type CompileLine,
  judgeCompileArgs,
  runnerCompileArgs,
  shimCompileArgs,
  type Variant,
} from '../jobs/session/shim.ts';
import { defaults } from './defaults.ts';

/** Programs and libraries of a job, relative to scratch. */
export const made = {
  runner: 'runner',
  judge: 'judge',
  shim: 'shim.so',
  origin: 'origin.so',
  best: 'best.so',
  candidate: 'candidate.so',
  library: 'library.so',
} as const;

/** Ids of the build steps. */
export const buildIds = {
  runner: 'build-runner',
  judge: 'build-judge',
  shim: 'build-shim',
  origin: 'build-origin',
  best: 'build-best',
  candidate: 'build-candidate',
  library: 'build-library',
} as const;

/** Sources of the harness by file name: real files under the resource root. */
export function harnessFiles(): ReadonlyMap<string, string> {
  const dir = join(resourceRoot(), 'kernels/harness');
  const names = readdirSync(dir).filter((name) => /\.(h|cu|cpp)$/.test(name));
  return new Map(names.sort().map((name) => [name, readFileSync(join(dir, name), 'utf8')]));
}

function buildStep(id: string, line: CompileLine, inputs: readonly string[], untrusted: boolean): BuildStep {
  return {
    kind: 'build',
    id,
    needs: [],
    tool: line.tool,
    args: line.args,
    inputs: [...inputs],
    outputs: [line.output],
    untrusted,
    limits: defaults.limits.build,
  };
}

/** A build step of a version (origin, best, candidate): a shared library that exports the wrapper only. */
export const libraryStep = (
  id: string,
  variant: Variant,
  files: ArmFiles,
  own: readonly string[],
  untrusted: boolean,
): BuildStep => buildStep(id, armCompileArgs(variant, files, own), [files.source, files.versionScript], untrusted);

/** A reference that forgets to answer would be compared with whatever lies in the registers: in a user's that is an error. */
function judgeLine(task: string, own: boolean): CompileLine {
  const line = judgeCompileArgs({ task, output: made.judge });
  return own ? { ...line, args: ['-Werror=return-type', ...line.args] } : line;
}

/**
 * Runner, judge and shim: trusted, without candidate code. `headers`: names of the harness's headers. `own`: the reference in the judge is
 * the user's.
 */
export const harnessSteps = (task: string, variant: Variant, headers: readonly string[], own = false): BuildStep[] => [
  buildStep(buildIds.runner, runnerCompileArgs(variant), ['runner.cu', ...headers], false),
  buildStep(buildIds.judge, judgeLine(task, own), ['judge.cpp', 'reference.h', ...headers], own),
  buildStep(buildIds.shim, shimCompileArgs(), ['shim.cpp'], false),
];
