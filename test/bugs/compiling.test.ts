/** Reports about compiling, met inside a run: what the user is told, what stays in the history, and that no model hears of it as a fault of its code. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { askedToDebug, endOf, fakeCompiler, optimizeWith, tempFolder } from './engine.ts';

/** A run whose candidate meets `script` in nvcc: it stops, is kept, and goes on with a sound compiler without asking the model again. */
async function stopsAndGoesOn(script: string, code: string): Promise<string> {
  const bin = tempFolder();
  const ran = await optimizeWith({ nvcc: fakeCompiler(bin, 'nvcc', script) });
  expect([ran.report.status, ran.report.error?.code, ran.exitCode]).toEqual(['failed', code, 3]);
  expect(ran.report.error?.remedy).toBeTruthy();
  expect(endOf(ran)).toMatchObject({ status: 'failed', error: { code } });
  expect(ran.events.map((e) => e.type)).toContain('source');
  expect(ran.events.map((e) => e.type)).not.toContain('evaluated');
  expect(askedToDebug(ran)).toEqual([]);
  const asked = ran.prompts.length;
  const after = await ran.resume();
  expect([after.report.status, after.exitCode, after.prompts.length]).toEqual(['done', 0, asked]);
  expect(after.report.summary.rounds[0]?.accepted).toBe(true);
  return `${ran.report.error?.message}\n${ran.report.error?.detail ?? ''}`;
}

const says = (text: string, exit = 1): string => `echo "${text}" >&2; exit ${exit}`;

describe('nvcc fails for reasons of the machine', () => {
  it("B01: cl.exe not in PATH stops the run as the host compiler's fault", async () => {
    const told = await stopsAndGoesOn(
      says("nvcc fatal   : Cannot find compiler 'cl.exe' in PATH"),
      'env.host-compiler',
    );
    expect(told).toContain("Cannot find compiler 'cl.exe' in PATH");
  });

  it('B02: exit code 2 without a word names command, code and likely cause, never an empty error', async () => {
    const told = await stopsAndGoesOn('exit 2', 'env.toolkit-broken');
    expect(told).toMatch(/exit code 2 and printed nothing: .*nvcc/);
  });

  it('B02: TMP, TEMP and TMPDIR are a folder of ours for every compiler', async () => {
    const bin = tempFolder();
    const seen = join(bin, 'seen');
    const nvcc = fakeCompiler(
      bin,
      'nvcc',
      `[ -w "$TMP" ] && [ -w "$TEMP" ] && [ -w "$TMPDIR" ] && echo "$TMP" >> '${seen}'`,
    );
    expect((await optimizeWith({ nvcc })).exitCode).toBe(0);
    expect(existsSync(seen) && readFileSync(seen, 'utf8').trim()).toMatch(/\/\.tmp$/);
  });

  it('B03: a host compiler that is too new names both, and the override flag is never added', async () => {
    const bin = tempFolder();
    const log = join(bin, 'argv');
    const text =
      '/usr/local/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 12 are not supported!';
    const told = await stopsAndGoesOn(`echo "$*" >> '${log}'; ${says(text)}`, 'env.host-compiler');
    expect(told).toContain('gcc versions later than 12 are not supported');
    expect(readFileSync(log, 'utf8')).not.toContain('allow-unsupported-compiler');
  });

  it('B05: a libdevice that is looked for in the wrong folder is the toolkit, not the code', async () => {
    const told = await stopsAndGoesOn(
      says('error in open: /usr/bin/../nvvm/libdevice/libdevice.10.bc'),
      'env.toolkit-broken',
    );
    expect(told).toContain('libdevice.10.bc');
  });

  it('B06: headers that are missing are the toolkit, not the code', async () => {
    const text = '<command-line>: fatal error: cuda_runtime.h: No such file or directory';
    expect(await stopsAndGoesOn(says(text), 'env.toolkit-broken')).toContain('cuda_runtime.h');
  });

  it("B07: B14: an architecture that this nvcc does not know is the toolkit's limit", async () => {
    const told = await stopsAndGoesOn(
      says("nvcc fatal   : Unsupported gpu architecture 'compute_120'"),
      'env.arch-unsupported',
    );
    expect(told).toContain("Unsupported gpu architecture 'compute_120'");
  });
});

describe('B16: a compiler that is killed or crashes', () => {
  it.each([
    ["nvcc error   : 'cudafe++' died due to signal 9 (Kill signal)", 1],
    ["nvcc error   : 'ptxas' died due to signal 11 (Invalid memory reference)", 139],
    ['Killed', 137],
  ])(
    'B16: %s: tried once more alone, then the model hears "too heavy to compile" and no code error',
    async (text, exit) => {
      const bin = tempFolder();
      const tries = join(bin, 'tries');
      const ran = await optimizeWith({
        nvcc: fakeCompiler(bin, 'nvcc', `echo x >> '${tries}'; ${says(text, exit)}`),
      });
      const evaluated = ran.events.filter((e) => e.type === 'evaluated');
      expect(evaluated[0]?.type === 'evaluated' && evaluated[0].evaluation.reason).toMatch(
        /^too heavy to compile: .*(died|killed|crashed)/,
      );
      for (const prompt of askedToDebug(ran)) {
        expect(prompt).toContain('too heavy to compile');
        expect(prompt.split('# What went wrong')[1]).not.toMatch(/\.cu[(:]\d/);
      }
      // Each attempt at it is made twice: once beside other builds, once with nothing beside it.
      const attempts = evaluated.length;
      expect(readFileSync(tries, 'utf8').trim().split('\n')).toHaveLength(2 * attempts);
      expect(ran.exitCode).toBe(0);
    },
  );
});
