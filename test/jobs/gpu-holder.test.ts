import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { gpuHolders } from '../../main/jobs/gpu-holder.ts';
import { withGpuLock } from '../../main/jobs/gpu-lock.ts';

it('tells who holds a GPU while it is held, alone or shared, and nobody afterwards', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cm-holder-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  expect(gpuHolders(dir)).toEqual([]);
  for (const shared of [false, true]) {
    const seen = await withGpuLock('GPU-1', async () => gpuHolders(dir), { dir, shared });
    expect(seen).toEqual([{ uuid: 'GPU-1', pid: process.pid }]);
    // The file stays, and names its last holder: that is no lock.
    expect(gpuHolders(dir)).toEqual([]);
  }
  writeFileSync(join(dir, 'something.txt'), '1');
  const both = await withGpuLock('MIG-2', () => withGpuLock('GPU-1', async () => gpuHolders(dir), { dir }), { dir });
  expect(both.map((h) => h.uuid).sort()).toEqual(['GPU-1', 'MIG-2']);
});
