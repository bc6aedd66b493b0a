import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EnvironmentFault } from '../../main/jobs/session/classify.ts';
import { type ReferenceTrial, tryReference } from '../../main/jobs/session/reference.ts';
import { Stopped } from '../../main/jobs/session/scope.ts';
import { judgeCompileArgs } from '../../main/jobs/session/shim.ts';
import { context, problem, type Scratch, scratch } from './support.ts';

/** The real judge with one reference that does something else at each size. */
const reference = `#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
namespace task {
struct Reference {
  explicit Reference(const cm::Problem& p) : n_(p.dim("N")), x_(p.in("x")) {
    if (n_ == 1) std::raise(SIGSEGV);
    if (n_ == 2) for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    if (n_ == 3) p.in("weights");
    if (n_ == 4) throw std::runtime_error("no such table");
    if (n_ == 5) std::exit(7);
  }
  cm::Ref at(int output, int64_t i) const {
    const double x = x_[i];
    if (n_ == 6) return {std::nan(""), 1.0, 1.0};
    if (n_ == 7 && output == 0) return {};
    if (n_ == 8) return {2 * x + 1e-12, std::nan(""), 1.0};
    if (n_ == 9) return {2 * x + 3, 1e9, 1.0};
    if (n_ == 10) { static std::atomic<int> calls{0}; return {x + ++calls, 1.0, 1.0}; }
    if (n_ == 11 && output == 1) return {};
    return {2 * x, std::fabs(x), 1.0};
  }
  int64_t n_;
  cm::View x_;
};
}
`;

let built: Scratch;
beforeAll(() => {
  built = scratch();
  const harness = join(import.meta.dirname, '../../kernels/harness');
  for (const name of readdirSync(harness).filter((n) => /\.(h|cpp)$/.test(n)))
    copyFileSync(join(harness, name), join(built.path, name));
  writeFileSync(join(built.path, 'reference.h'), reference);
  const { args } = judgeCompileArgs({ task: 'trial', output: 'judge' });
  execFileSync('g++', ['-O1', ...args.filter((arg) => arg !== '-O3')], { cwd: built.path });
}, 120_000);
afterAll(() => built[Symbol.dispose]());

/** At sizes N, with a second output where it is asked for. */
const tried = (
  sizes: readonly number[],
  extra: { outputs?: 2; callMs?: number; wallMs?: number; signal?: AbortSignal } = {},
) =>
  tryReference(
    {
      judge: 'judge',
      callMs: extra.callMs,
      problems: sizes.map((n) => {
        const one = problem(`verify/${n}`, n);
        if (extra.outputs !== 2) return one;
        return {
          ...one,
          buffers: [...one.buffers, { name: 'z', role: 'out' as const, elem: 'f32' as const, count: n }],
          limits: [...one.limits, { ...one.limits[0], buffer: 2 } as (typeof one.limits)[number]],
        };
      }),
    },
    context(built, {
      ...(extra.signal ? { signal: extra.signal } : {}),
      ...(extra.wallMs ? { limits: { wallMs: extra.wallMs, memoryMiB: 2048, outputBytes: 1 << 16 } } : {}),
    }),
  );
const fault = async (trial: Promise<ReferenceTrial>): Promise<string> => (await trial).fault ?? 'none';

describe('a reference that is called', { timeout: 60_000 }, () => {
  it('and answers as it should is told nothing about, and leaves nothing behind', async () => {
    const before = readdirSync(built.path).sort();
    expect(await tried([20, 100], { outputs: 2 })).toEqual({ fault: null, doubts: [] });
    expect(readdirSync(built.path).sort()).toEqual(before);
  });

  it('and crashes, leaves or throws is told by how and where', async () => {
    expect(await fault(tried([1]))).toBe('at N=1 it ended with SIGSEGV');
    expect(await fault(tried([5]))).toBe('at N=5 it exited with code 7');
    expect(await fault(tried([4]))).toBe('at N=4 it failed: no such table');
    expect(await fault(tried([3]))).toMatch(/^at N=3 it failed: .*weights/);
    expect(await fault(tried([20, 1]))).toBe('at N=1 it ended with SIGSEGV');
  });

  it('and does not come back is ended; a larger size may be too slow for this, and says nothing', async () => {
    expect(await fault(tried([2], { callMs: 1_500 }))).toMatch(/^at N=2 it gave no answer: /);
    expect(await tried([20, 2], { callMs: 4_000 })).toEqual({ fault: null, doubts: [] });
    expect(await fault(tried([2], { wallMs: 1_500 }))).toBe('it did not end within the time there is');
    expect(await tried([20, 2], { wallMs: 10_000 })).toEqual({ fault: null, doubts: [] });
  });

  it('and answers nothing that could tell right from wrong is told why', async () => {
    expect(await fault(tried([6, 6]))).toBe('every element of "y" is NaN: then nothing but NaN is right');
    // Of one small size it is no more than a doubt: the variance of one value is NaN.
    expect(await tried([6])).toMatchObject({ fault: null, doubts: [expect.stringMatching(/"y" is NaN/)] });
    expect(await tried([7])).toMatchObject({ fault: null, doubts: [expect.stringMatching(/zeros are within/)] });
    // Some size where NaN is right is none of our business.
    expect(await tried([6, 100])).toEqual({ fault: null, doubts: [] });
    expect(await fault(tried([7, 7]))).toMatch(/^zeros are within the limit in every element of "y", so a kernel/);
    expect(await fault(tried([9, 9]))).toMatch(/^zeros are within the limit in every element of "y"/);
    expect(await fault(tried([8]))).toMatch(/^at N=8 its own values of "y", .* miss its limit in 8 of 8 elements/);
    expect(await fault(tried([10]))).toMatch(
      /^at N=10 its own values of "y", .*equal questions must get equal answers/,
    );
    const half = await tried([11], { outputs: 2 });
    expect(half.fault).toBeNull();
    expect(half.doubts).toEqual([expect.stringMatching(/^zeros are within the limit in every element of "z"/)]);
  });

  it('is no fault of the reference when there is no judge, or when the user cancels', async () => {
    await expect(tryReference({ judge: 'nobody', problems: [problem('verify/0')] }, context(built))).rejects.toThrow(
      EnvironmentFault,
    );
    await expect(tried([2], { signal: AbortSignal.abort() })).rejects.toThrow(Stopped);
    expect(existsSync(join(built.path, 'judge'))).toBe(true);
  });
});
