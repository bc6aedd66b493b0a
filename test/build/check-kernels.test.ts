import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Kept } from '../../build/kernels/check-compile.ts';
import { type Found, reportText, summary, vendorHeaders } from '../../build/kernels/check-report.ts';

const folder = (): string => mkdtempSync(join(tmpdir(), 'cm-check-test-'));

const found: Found[] = [
  {
    unit: { name: 'a fp32', kind: 'origin', title: '' },
    states: { sm_80: 'ok', sm_90: 'warns' },
    words: 'a.cu(3): warning #177-D',
    seconds: 1,
  },
  {
    unit: { name: 'a library', kind: 'library', title: 'cuDNN' },
    states: { sm_80: 'absent', sm_90: 'absent' },
    words: 'cudnn.h is not here',
    seconds: 1,
  },
  {
    unit: { name: 'b library', kind: 'library', title: 'CUB' },
    states: { sm_80: 'FAILS', sm_90: 'ok' },
    words: 'sm_80: b.cu(1): error',
    seconds: 1,
  },
];

it('counts what compiles, what does not, and what lacks its headers, per architecture', () => {
  const [first, second, third] = summary(found, ['sm_80', 'sm_90', 'sm_130'], ['sm_80', 'sm_90']);
  expect(first).toEqual({
    arch: 'sm_80',
    known: true,
    origins: { ok: 1, failed: 0, absent: 0, open: 0 },
    libraries: { ok: 0, failed: 1, absent: 1, open: 0 },
  });
  expect(second?.libraries).toEqual({ ok: 1, failed: 0, absent: 1, open: 0 });
  expect(third?.known).toBe(false);
});

const report = (units: number): string =>
  reportText({
    command: 'npm run check:kernels -- --jobs 1',
    date: '2026-11-29',
    nvcc: '13.0.88',
    compiler: 'g++ 12.2.0',
    headers: ['cuBLAS 13.1.1'],
    found,
    counts: summary(found, ['sm_80', 'sm_90'], ['sm_80', 'sm_90']),
    units,
  });

it('the report says command, versions, counts, what was skipped and why, and what the compiler said', () => {
  const text = report(3);
  for (const part of [
    '`npm run check:kernels -- --jobs 1` on 2026-11-29: nvcc 13.0.88, g++ 12.2.0',
    'All 3 kernels are listed.',
    'cuBLAS 13.1.1',
    '| sm_80 | 1 | 0 | 0 | 0 | 1 | 1 | 0 |',
    '| b | CUB | FAILS | ok |',
    'a (cudnn.h)',
    'sm_80: b.cu(1): error',
    'warning #177-D',
  ])
    expect(text).toContain(part);
});

it('what was not checked yet is counted apart', () => {
  const [count] = summary([{ ...(found[0] as Found), states: { sm_80: 'open' } }], ['sm_80'], ['sm_80']);
  expect(count?.origins).toEqual({ ok: 0, failed: 0, absent: 0, open: 1 });
});

it('a check that was stopped says so', () => {
  expect(report(131)).toContain('**Stopped early: 3 of 131 are here.**');
});

it('versions of libraries come from their own headers, wherever they lie', () => {
  const [one, two] = [folder(), folder()];
  writeFileSync(
    join(two, 'cudnn_version.h'),
    '#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 24\n#define CUDNN_PATCHLEVEL 0\n',
  );
  writeFileSync(join(one, 'cufft.h'), '#define CUFFT_VER_MAJOR 12\n');
  mkdirSync(join(two, 'cccl/cuda'), { recursive: true });
  writeFileSync(join(two, 'cccl/cuda/__cccl_config'), '');
  expect(vendorHeaders([one, two])).toEqual(['cuDNN 9.24.0', 'cuFFT', 'CCCL (CUB, Thrust)']);
});

it('what was found is kept for the next call; a file of something else is refused', async () => {
  const file = join(folder(), 'kept.json');
  await new Kept(file).add({ 'a sm_80 00': { state: 'ok', words: '' } });
  const again = new Kept(file);
  expect(again.get('a sm_80 00')).toEqual({ state: 'ok', words: '' });
  expect(again.get('a sm_80 01')).toBeUndefined();
  await again.add({ 'b sm_80 00': { state: 'FAILS', words: 'error' } });
  expect(Object.keys(JSON.parse(readFileSync(file, 'utf8')))).toEqual(['a sm_80 00', 'b sm_80 00']);
  writeFileSync(file, '{"a":{"state":"fine"}}');
  expect(() => new Kept(file)).toThrow();
});
