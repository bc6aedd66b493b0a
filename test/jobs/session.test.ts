import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Problem, SessionStep } from '../../main/contract/index.ts';
import { LocalExecutor } from '../../main/jobs/local.ts';
import { judgeCompileArgs, runnerCompileArgs, shimCompileArgs, shimSource } from '../../main/jobs/session/shim.ts';
import { buildStep, bundleOf, folder, limits, tools } from './support.ts';

const repository = join(import.meta.dirname, '../..');
const root = folder();
afterAll(() => root[Symbol.dispose]());

const param = (role: 'in' | 'out', name: string) =>
  role === 'in'
    ? ({ role, name, elem: 'T', count: 'M*N', generator: { kind: 'uniform', lo: -1, hi: 1 } } as const)
    : ({ role, name, elem: 'T', count: 'M*N' } as const);
const dim = (name: string) => ({ role: 'scalar', name, ctype: 'int', value: name }) as const;
const wrapper = { name: { fp32: 'f' }, params: [param('in', 'A'), param('out', 'B'), dim('M'), dim('N')] };
const problem: Problem = {
  id: 'verify/0',
  dims: { M: 37, N: 53 },
  dimOrder: ['M', 'N'],
  buffers: [
    { name: 'A', role: 'in', elem: 'f32', count: 37 * 53, generator: { kind: 'uniform', lo: -1, hi: 1 } },
    { name: 'B', role: 'out', elem: 'f32', count: 37 * 53 },
  ],
  args: [
    { kind: 'buf', index: 0 },
    { kind: 'buf', index: 1 },
    { kind: 'int', value: 37 },
    { kind: 'int', value: 53 },
  ],
  limits: [{ buffer: 1, c: 0, rms: 1, uOut: 0, uAcc: 2 ** -24 }],
};

/** Candidates that know where they run: one honest, the others go for the machine instead of the matrix. */
const candidates = String.raw`
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>
extern "C" void honest(const float* a, float* b, int m, int n) {
  for (int i = 0; i < m; ++i) for (int j = 0; j < n; ++j) b[j * m + i] = a[i * n + j];
}
// Replaces the judge by a program that would say yes to everything.
extern "C" void bribes(const float*, float*, int, int) {
  std::ofstream("judge") << "#!/bin/sh\n";
  std::rename("judge", "old-judge");
  std::remove("judge");
}
// Writes what it can read of the machine into its output, where a failed comparison would print it.
extern "C" void tells(const float* a, float* b, int m, int n) {
  std::ifstream secret("/etc/passwd"), reference("reference.h"), judge("judge");
  if (secret || reference || judge || access("judge", X_OK) == 0) for (int i = 0; i < m * n; ++i) b[i] = 42;
  else honest(a, b, m, n);
}
`;

const verify = (symbol: string): SessionStep => ({
  kind: 'session',
  id: `verify-${symbol}`,
  needs: [],
  limits,
  plan: {
    mode: 'verify',
    runner: 'runner',
    judge: 'judge',
    shim: 'shim.so',
    arm: { id: 'C', lib: 'candidates.so', symbol },
    problems: [problem],
    seeds: 2,
  },
});

function job() {
  const harness = join(repository, 'kernels/harness');
  const files: Record<string, string> = {};
  const sources = readdirSync(harness).filter((name) => /\.(h|cu|cpp)$/.test(name));
  for (const name of sources) files[name] = readFileSync(join(harness, name), 'utf8');
  files['reference.h'] = readFileSync(join(repository, 'kernels/mskernelbench/matrix_transpose/reference.h'), 'utf8');
  files['shim.cpp'] = shimSource({ wrapper }, 'fp32');
  files['candidates.cpp'] = candidates;
  const headers = sources.filter((name) => name.endsWith('.h'));
  const trusted = (id: string, line: { tool: 'nvcc' | 'cxx'; args: string[]; output: string }, inputs: string[]) =>
    buildStep({ id, tool: line.tool, args: line.args, inputs, outputs: [line.output], untrusted: false });
  return bundleOf(files, [
    trusted('runner', runnerCompileArgs('host'), ['runner.cu', ...headers]),
    trusted('judge', judgeCompileArgs({ task: 'matrix_transpose' }), ['judge.cpp', 'reference.h', ...headers]),
    trusted('shim', shimCompileArgs(), ['shim.cpp']),
    buildStep({
      id: 'candidates',
      args: ['-O2', '-std=c++17', '-shared', '-fPIC', 'candidates.cpp', '-o', 'candidates.so'],
      inputs: ['candidates.cpp'],
      outputs: ['candidates.so'],
    }),
    verify('honest'),
    verify('bribes'),
    verify('tells'),
  ]);
}

describe.each([false, true])(
  'real sessions (runner on the host, judge, broker) in the sandbox, containAll %s',
  (containAll) => {
    it('passes the honest one and gives the others nothing', async () => {
      const executor = new LocalExecutor(tools, { buildCacheDir: join(root.path, 'cache'), containAll });
      const outcome = await executor.execute(job(), { rootSeed: 'ab', position: 'p' });
      if (outcome.kind !== 'done') throw new Error('parked');
      const { steps, machine } = outcome.result;
      expect(steps.map((step) => [step.id, step.status, step.reason?.message])).toEqual(
        steps.map((step) => [step.id, 'ok', undefined]),
      );
      expect(machine.containment).toBe('bubblewrap');
      const checks = (id: string) => {
        const { session } = steps.find((step) => step.id === id) ?? {};
        if (session?.mode !== 'verify') throw new Error('no session');
        expect(session.incidents).toEqual([]);
        return session.checks.map((check) => check.outputs[0]);
      };
      expect(checks('verify-honest').every((output) => output?.bad === 0 && output.compared === 37 * 53)).toBe(true);
      // The judge is still there and still says no.
      expect(checks('verify-bribes').every((output) => output?.poisonLeft === 37 * 53)).toBe(true);
      expect(checks('verify-tells').every((output) => output?.bad === 0)).toBe(true);
    });
  },
);
