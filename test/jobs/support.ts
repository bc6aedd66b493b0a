import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { allowedEnv } from '../../main/base/env.ts';
import { sha256Hex } from '../../main/base/hash.ts';
import type { BuildStep, Job, JobBundle, Limits, Step, ToolPaths } from '../../main/contract/index.ts';
import { FORMAT } from '../../main/contract/index.ts';

const first = (paths: string[]): string | null => paths.find((path) => existsSync(path)) ?? null;

/** Tools of the machine that runs the tests, found plainly: this area is tested without the toolchain's search. */
export function testTools(): ToolPaths {
  const nvccNamed = first(['/usr/local/cuda-13.0/bin/nvcc', '/usr/local/cuda/bin/nvcc', '/usr/bin/nvcc']);
  const nvcc = nvccNamed && realpathSync(nvccNamed);
  const cxxNamed = first(['/usr/bin/g++', '/usr/local/bin/g++']);
  const cxx = cxxNamed && realpathSync(cxxNamed);
  const version = (tool: string | null): string | null =>
    tool && (execFileSync(tool, ['--version'], { encoding: 'utf8' }).match(/release.*|g\+\+.*/)?.[0] ?? 'unknown');
  return {
    nvcc,
    cxx,
    ccbin: false,
    ncu: null,
    sanitizer: null,
    bwrap: first(['/usr/bin/bwrap', '/usr/local/bin/bwrap']),
    toolkit: nvcc && realpathSync(join(nvcc, '..', '..')),
    includeDirs: [],
    libDirs: [],
    arch: null,
    archs: nvcc ? ['sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90', 'sm_100', 'sm_120'] : [],
    env: allowedEnv(),
    machine: {
      host: hostname(),
      gpu: null,
      driver: null,
      toolkit: nvcc ? '13.0' : null,
      nvcc: version(nvcc),
      hostCompiler: version(cxx),
      ncu: null,
      containment: 'none',
    },
  };
}

export const tools = testTools();

/** A folder that the end of the test removes. */
export function folder(): { path: string; [Symbol.dispose](): void } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'cmt-')));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export const limits: Limits = { wallMs: 60_000, memoryMiB: 4096, outputBytes: 1 << 20 };

export const buildStep = (step: Partial<BuildStep> & Pick<BuildStep, 'id' | 'args'>): BuildStep => ({
  kind: 'build',
  needs: [],
  tool: 'cxx',
  inputs: [],
  outputs: [],
  untrusted: true,
  limits,
  ...step,
});

export function bundleOf(files: Record<string, string>, steps: Step[], more: Partial<Job> = {}): JobBundle {
  const contents = new Map<string, string>();
  const named: Record<string, string> = {};
  for (const [name, text] of Object.entries(files)) {
    named[name] = sha256Hex(text);
    contents.set(sha256Hex(text), text);
  }
  const job: Job = { version: FORMAT.job, label: 'test', arch: 'sm_90', files: named, steps, keep: [], ...more };
  return { job, contents };
}
