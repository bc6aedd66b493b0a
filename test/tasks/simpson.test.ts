import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compile, harness, newFolder } from '../harness/build.ts';

const task = join(import.meta.dirname, '../../kernels/mskernelbench/simpson_int');

/** Prints sum and sum of squares bit by bit, and the error of chains, of both ways. */
const program = `
#include <cstdio>
#include <cstdlib>
#include "reference.h"
int main(int, char** argv) {
  cm::BufferSpec y;
  y.count = std::atoll(argv[1]);
  y.elem = argv[2][0] == 'b' ? cm::Storage::bf16 : cm::Storage::f32;
  if (argv[3][0] == 'w') y.gen.kind = cm::Kind::wide, y.gen.a = -20, y.gen.b = 20;
  else y.gen.kind = cm::Kind::uniform, y.gen.lo = 9, y.gen.hi = 10;
  const task::Samples samples{cm::View(y, 4711)};
  const cm::Total a = samples.separate(), b = samples.together();
  std::printf("%a %a %a %a %.17g %.17g\\n", a.sum, b.sum, a.squares, b.squares, a.chainError, b.chainError);
}
`;

it('one pass over the samples gives the sum, squares and chains of two', { timeout: 300_000 }, () => {
  const dir = newFolder();
  writeFileSync(join(dir, 'both.cpp'), program);
  const search = ['-I', harness, '-I', task];
  const args = ['-O2', '-std=c++17', '-ffp-contract=off', ...search, '-pthread', 'both.cpp', '-o', 'both'];
  compile({ tool: 'cxx', args, output: 'both' }, dir);
  // As few samples as fill all chains; odd and even numbers; chunks that end in one, two, three samples, and none.
  for (const [n, dtype, kind] of [
    [524288, 'f32', 'wide'],
    [524289, 'bf16', 'offset'],
    [524290, 'f32', 'offset'],
    [524291, 'f32', 'wide'],
    [786433, 'bf16', 'wide'],
    [1310719, 'f32', 'offset'],
  ] as const) {
    const text = execFileSync(join(dir, 'both'), [String(n), dtype, kind], { encoding: 'utf8' });
    const [sum, sum2, squares, squares2, chain, chain2] = text.trim().split(' ');
    expect([sum2, squares2], `${n} ${dtype}`).toEqual([sum, squares]);
    // The chains are the same; what they are compared with is a compensated sum of the same terms, which may differ in its last bit.
    expect(Number(chain) / Number(chain2), `${n} ${dtype}`).toBeCloseTo(1, 6);
  }
});
