import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { architectureText, capabilities, hasFamily, instructionFamilies } from '../../main/agents/index.ts';
import { cuda } from '../harness/build.ts';

const ptxas = cuda === null ? null : join(cuda, 'bin/ptxas');

/** One instruction of each family, in PTX. `u` a generic address, `s` a shared one, `r` integers, `f` floats. */
const probes: Record<string, string> = {
  'tensor-f16':
    'ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r1}, [s]; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f0,f1,f2,f3},{r1,r1},{r1},{f0,f1,f2,f3};',
  'cp-async': 'cp.async.cg.shared.global [s], [u], 16; cp.async.wait_all;',
  bf16: 'fma.rn.bf16x2 r1,r1,r1,r1; mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {f0,f1,f2,f3},{r1,r1},{r1},{f0,f1,f2,f3}; mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {f0,f1,f2,f3},{r1,r1},{r1},{f0,f1,f2,f3};',
  redux: 'redux.sync.add.s32 r1, r1, 0xffffffff;',
  mbarrier: 'mbarrier.init.shared.b64 [s], 1;',
  'tensor-fp8':
    'mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {f0,f1,f2,f3},{r1,r1,r1,r1},{r1,r1},{f0,f1,f2,f3};',
  cluster: 'barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;',
  'bulk-copy': 'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [u], 16, [s];',
  'atomic-vector': 'atom.global.add.v4.f32 {f0,f1,f2,f3}, [u], {f0,f1,f2,f3};',
  'load-256': 'ld.global.v8.f32 {f0,f1,f2,f3,f4,f5,f6,f7}, [u];',
  'fma-f32x2': 'fma.rn.f32x2 d1, d1, d1, d1;',
  wgmma: 'wgmma.fence.sync.aligned;',
  tcgen05: 'tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32;',
};

const ptx = (arch: string, body: string): string => `.version 9.0
.target ${arch}
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b32 r1; .reg .b32 s; .reg .b64 u; .reg .b64 d1; .reg .f32 f<8>;
  .shared .align 128 .b8 buffer[256];
  ld.param.u64 u, [p]; cvta.to.global.u64 u, u; ld.global.b32 r1, [u]; ld.global.b64 d1, [u];
  mov.u32 s, buffer;
  ${[0, 1, 2, 3, 4, 5, 6, 7].map((i) => `ld.global.f32 f${i}, [u];`).join(' ')}
  ${body}
  st.global.b32 [u], r1; st.global.b64 [u], d1;
  ${[0, 1, 2, 3, 4, 5, 6, 7].map((i) => `st.global.f32 [u], f${i};`).join(' ')}
  ret;
}
`;

describe.skipIf(ptxas === null)('instruction families, as ptxas knows them', () => {
  let dir = '';
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'cm-ptx-'));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  async function assembles(arch: string, bodies: readonly string[]): Promise<{ ok: boolean; log: string }> {
    const file = join(dir, 'probe.ptx');
    await writeFile(file, ptx(arch, bodies.join('\n  ')));
    const { status, stderr } = spawnSync(ptxas as string, [`-arch=${arch}`, '-o', join(dir, 'probe.cubin'), file], {
      encoding: 'utf8',
    });
    return { ok: status === 0, log: stderr };
  }

  it.each(capabilities.map((c) => c.cc))(
    'compute capability %s has what is said, and lacks what is said',
    async (cc) => {
      const arch = `sm_${cc.replace('.', '')}`;
      const has = instructionFamilies.filter((family) => hasFamily(cc, family));
      const all = await assembles(
        arch,
        has.map((family) => probes[family.id] as string),
      );
      expect(all.log).toBe('');
      expect(all.ok).toBe(true);
      for (const family of instructionFamilies.filter((f) => !has.includes(f))) {
        const one = await assembles(arch, [probes[family.id] as string]);
        expect(one.ok, `${family.id} on ${arch}`).toBe(false);
        // Refused for the target, not for a mistake in the probe.
        expect(one.log, `${family.id} on ${arch}`).toMatch(/requires|not supported/);
      }
    },
  );

  it('what needs a target of its own assembles there: the probes are right', async () => {
    expect((await assembles('sm_90a', [probes.wgmma as string])).ok).toBe(true);
    expect((await assembles('sm_100a', [probes.tcgen05 as string])).ok).toBe(true);
  });
});

describe('what is told', () => {
  it('by capability or by target, both ways of writing it', () => {
    expect(architectureText('sm_90')).toEqual(architectureText('9.0'));
    expect(architectureText('12.0').limits).toContain('at most 24 blocks and 48 warps');
    expect(architectureText('7.5').has).not.toContain('cp.async');
    expect(architectureText('7.5').lacks).toContain('cp.async');
    expect(architectureText('10.3').limits).not.toMatch(/fp64/);
  });
  it('an unknown capability is said to be unknown', () => {
    for (const cc of ['13.0', '6.1', 'native', 'the GPU present'])
      expect(architectureText(cc)).toEqual({
        limits: '',
        has: '',
        lacks: `Nothing more is known here about compute capability ${cc}.`,
      });
  });
  it('every family has its probe', () => {
    expect(Object.keys(probes).sort()).toEqual(instructionFamilies.map((f) => f.id).sort());
  });
});
