import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compile, harness, newFolder } from './build.ts';
import { roundToBf16 } from './model.ts';

const program = `
#include <cstdio>
#include <cstring>
#include "generators.h"
int main(int, char** argv) {
  FILE* in = std::fopen(argv[1], "rb");
  FILE* out = std::fopen(argv[2], "wb");
  double v;
  while (std::fread(&v, sizeof v, 1, in) == 1) {
    const uint32_t raw[2] = {cm::encode(cm::Storage::f32, v), cm::encode(cm::Storage::bf16, v)};
    std::fwrite(raw, sizeof raw, 1, out);
  }
  return std::fclose(out);
}
`;

/** Fractions at which rounding to 23 or 7 bits turns: nothing, all, ties of even and odd numbers, and one bit to either side of them. */
const fractions = [0n, 1n, (1n << 52n) - 1n, ...[23n, 7n].flatMap((bits) => ties(52n - bits))];

function ties(dropped: bigint): bigint[] {
  const half = 1n << (dropped - 1n);
  const kept = [0n, 1n, 2n, 3n].map((k) => k << dropped);
  const last = (1n << 52n) - (1n << dropped);
  return [...kept, last].flatMap((k) => [k + half - 1n, k + half, k + half + 1n]);
}

it('rounds to fp32 and bf16 as the model does: every exponent, ties and their neighbours, both signs', () => {
  const bits: bigint[] = [];
  for (let exponent = 0n; exponent < 2047n; exponent++)
    for (const sign of [0n, 1n])
      for (const fraction of fractions) bits.push((sign << 63n) | (exponent << 52n) | fraction);
  const input = Buffer.from(BigUint64Array.from(bits).buffer);
  const dir = newFolder();
  writeFileSync(join(dir, 'round.cpp'), program);
  writeFileSync(join(dir, 'in'), input);
  const args = ['-O3', '-std=c++17', '-ffp-contract=off', '-I', harness, 'round.cpp', '-o', 'round'];
  compile({ tool: 'cxx', args, output: 'round' }, dir);
  execFileSync(join(dir, 'round'), ['in', 'out'], { cwd: dir });
  const made = readFileSync(join(dir, 'out'));
  expect(made.length).toBe(input.length);
  const view = Buffer.alloc(4);
  const floatOf = (raw: number): number => {
    view.writeUInt32LE(raw);
    return view.readFloatLE();
  };
  const wrong: string[] = [];
  for (let i = 0; i < bits.length; i++) {
    const v = input.readDoubleLE(8 * i);
    const f32 = floatOf(made.readUInt32LE(8 * i));
    const bf16 = floatOf((made.readUInt32LE(8 * i + 4) << 16) >>> 0);
    if (!Object.is(f32, Math.fround(v))) wrong.push(`${v} to fp32: ${f32}`);
    if (!Object.is(bf16, roundToBf16(v))) wrong.push(`${v} to bf16: ${bf16}`);
  }
  expect(bits.length).toBeGreaterThan(100_000);
  expect(wrong.slice(0, 5)).toEqual([]);
});
