import { describe, expect, it } from 'vitest';
import type { Check } from '../../main/contract/index.ts';
import { discover } from '../../main/toolchain/discover.ts';
import { doctor } from '../../main/toolchain/doctor.ts';
import { resolveTools } from '../../main/toolchain/resolve.ts';
import { type Described, describedMachine, readDescribed } from './described.ts';

const resolved = async (
  machine: ReturnType<typeof describedMachine>,
  settings = {},
  require: 'nvcc' | 'gpu' = 'gpu',
) => {
  const result = await resolveTools({ machine, settings, require });
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}\n${result.error.detail}`);
  return result.value;
};
const line = (checks: readonly Check[], id: string): Check => {
  const found = checks.find((check) => check.id === id);
  if (!found) throw new Error(`no check ${id}`);
  return found;
};
/** The described machine without some files. */
const without = (is: Described, pattern: RegExp): Described => ({
  ...is,
  files: Object.fromEntries(Object.entries(is.files).filter(([path]) => !pattern.test(path))),
});

describe('Debian split layout', () => {
  it('follows the wrapper, needs no folder shape, and takes an older g++ by -ccbin', async () => {
    const machine = describedMachine(readDescribed('debian-split'));
    const tools = await resolved(machine);
    expect(tools).toMatchObject({
      nvcc: '/usr/lib/nvidia-cuda-toolkit/bin/nvcc',
      cxx: '/usr/bin/g++-11',
      ccbin: true,
      arch: 'sm_86',
      includeDirs: [],
      libDirs: [],
      bwrap: '/usr/bin/bwrap',
      machine: {
        toolkit: '11.8',
        nvcc: '11.8.89',
        hostCompiler: 'g++ 11.3.0',
        driver: '535.183.01',
        containment: 'bubblewrap',
      },
    });
    expect(tools.env.CUDA_VISIBLE_DEVICES).toBe('GPU-11111111-2222-3333-4444-555555555555');
    expect(machine.asked.flat()).not.toContain('-allow-unsupported-compiler');
  });

  it('remembers the proof: the second time nothing is compiled', async () => {
    const machine = describedMachine(readDescribed('debian-split'));
    await resolved(machine);
    machine.asked.length = 0;
    await resolved(machine);
    expect(machine.asked.some((argv) => argv.includes('-shared'))).toBe(false);
  });

  it('names both versions and the package when no older g++ is there', async () => {
    const machine = describedMachine(without(readDescribed('debian-split'), /g\+\+-11$/));
    const result = await resolveTools({ machine });
    expect(result).toMatchObject({ ok: false, error: { code: 'env.host-compiler' } });
    if (result.ok) return;
    expect(result.error.message).toMatch(/11\.8.*up to 11.*12\.2\.0/);
    expect(result.error.remedy).toContain('g++-11');
  });

  it('says who may profile', async () => {
    const report = await doctor({ machine: describedMachine(readDescribed('debian-split')) });
    expect(line(report.checks, 'counters')).toMatchObject({ status: 'error', found: 'denied' });
    expect(line(report.checks, 'counters').remedy).toContain('NVreg_RestrictProfilingToAdminUsers=0');
    expect(line(report.checks, 'driver').found).toContain('driver supports up to CUDA 12.2');
    expect(line(report.checks, 'cupti').status).toBe('ok');
    expect(line(report.checks, 'libraries').found).toContain('present: cuBLAS');
    expect(report).toMatchObject({ canCompile: true, canRun: true, canProfile: false });
  });
});

describe('conda', () => {
  it('resolves the link, finds headers under targets, sends work to a MIG slice', async () => {
    const tools = await resolved(describedMachine(readDescribed('conda-mig')));
    const prefix = '/home/u/miniconda3/envs/cuda';
    expect(tools.nvcc).toBe(`${prefix}/nvvm-wrap/bin/nvcc`);
    expect(tools.includeDirs).toContain(`${prefix}/targets/x86_64-linux/include`);
    expect(tools.machine.gpu).toMatchObject({ uuid: 'MIG-5c9b1a7e-0000-5555-8888-000000000001', cc: '8.0' });
    expect(tools.env.CUDA_VISIBLE_DEVICES).toBe('MIG-5c9b1a7e-0000-5555-8888-000000000001');
    // conda's lib folder carries its own libstdc++: on the library path it would break the system's programs
    expect(tools.env.LD_LIBRARY_PATH?.split(':')).toEqual([`${prefix}/targets/x86_64-linux/lib`]);
  });

  it('names a runtime-only folder and why bubblewrap fails', async () => {
    const machine = describedMachine(readDescribed('conda-mig'));
    const report = await doctor({ machine });
    const rejected = report.checks.filter((check) => check.id.startsWith('toolkit.rejected'));
    expect(rejected).toHaveLength(1);
    expect(rejected[0]).toMatchObject({ cause: 'runtime only, cannot compile' });
    expect(rejected[0]?.found).toContain('/envs/torch');
    expect(line(report.checks, 'sandbox')).toMatchObject({
      status: 'warning',
      cause: 'bwrap: setting up uid map: Permission denied',
    });
    expect(line(report.checks, 'sandbox').remedy).toContain('AppArmor');
    expect((await resolved(machine)).machine.containment).toBe('none');
  });

  it('says so when there is nothing but the runtime', async () => {
    const machine = describedMachine(without(readDescribed('conda-mig'), /envs\/cuda\//));
    const result = await resolveTools({ machine });
    expect(result).toMatchObject({ ok: false, error: { code: 'env.toolkit-missing' } });
    if (!result.ok) expect(result.error.message).toContain('runtime');
  });
});

describe('WSL2', () => {
  it('finds nvidia-smi and the real ncu, and keeps the driver library reachable', async () => {
    const machine = describedMachine(readDescribed('wsl2'));
    const tools = await resolved(machine);
    expect(tools.ncu).toBe('/usr/local/cuda-12.4/nsight-compute-2024.1.1/ncu');
    expect(tools.arch).toBe('sm_89');
    expect(tools.env.LD_LIBRARY_PATH?.split(':')[0]).toBe('/usr/lib/wsl/lib');
    const report = await doctor({ machine });
    expect(line(report.checks, 'counters')).toMatchObject({ status: 'warning', found: 'unknown' });
    expect(line(report.checks, 'counters').cause).toContain('Windows governs');
    expect(line(report.checks, 'ncu').cause).toContain('nsight-compute directory is not found');
    expect(report.canProfile).toBe(true);
  });

  it('says that profiling is off when no ncu works', async () => {
    const report = await doctor({ machine: describedMachine(without(readDescribed('wsl2'), /nsight-compute-/)) });
    expect(line(report.checks, 'ncu')).toMatchObject({ status: 'error' });
    expect(line(report.checks, 'ncu').found).toContain('profiling is off');
    expect(report).toMatchObject({ canRun: true, canProfile: false });
  });
});

describe('several toolkits', () => {
  it('takes the newest that the driver carries, not the newest there is', async () => {
    const machine = describedMachine(readDescribed('several-toolkits'));
    const found = await discover({ machine });
    expect(found.toolkits.found.map((toolkit) => toolkit.release)).toEqual(['13.0', '12.8', '12.4', '11.8', '11.0']);
    const tools = await resolved(machine);
    expect(tools).toMatchObject({
      nvcc: '/usr/local/cuda-12.8/bin/nvcc',
      arch: 'sm_89',
      sanitizer: '/usr/local/cuda-12.8/bin/compute-sanitizer',
      ncu: '/opt/nvidia/nsight-compute/2025.2.1/ncu',
    });
  });

  it('lets the user pin nvcc, ncu and GPU', async () => {
    const machine = describedMachine(readDescribed('several-toolkits'));
    const tools = await resolved(machine, {
      nvcc: '/usr/local/cuda-11.8/bin/nvcc',
      ncu: '/opt/nvidia/nsight-compute/2024.1.0/ncu',
      gpuUuid: 'GPU-1111',
    });
    expect(tools).toMatchObject({
      nvcc: '/usr/local/cuda-11.8/bin/nvcc',
      ncu: '/opt/nvidia/nsight-compute/2024.1.0/ncu',
      arch: 'sm_86',
      machine: { gpu: { name: 'NVIDIA GeForce RTX 3060' } },
    });
    const missing = await resolveTools({ machine, settings: { gpuUuid: 'GPU-9999' } });
    expect(missing).toMatchObject({ ok: false, error: { code: 'env.gpu-missing' } });
  });

  it('refuses a pinned toolkit that the driver does not carry, before any compile for it', async () => {
    const machine = describedMachine(readDescribed('several-toolkits'));
    const result = await resolveTools({ machine, settings: { nvcc: '/usr/local/cuda-13.0/bin/nvcc' } });
    expect(result).toMatchObject({ ok: false, error: { code: 'env.driver-too-old' } });
    if (result.ok) return;
    expect(result.error.message).toBe('Driver 550.90.07 runs CUDA up to 12.x, this toolkit is 13.0.');
    expect(result.error.remedy).toMatch(/580.*12\.x/);
  });

  it('names GPU, toolkit and the first toolkit that knows the GPU', async () => {
    const machine = describedMachine(readDescribed('several-toolkits'));
    const result = await resolveTools({
      machine,
      settings: { nvcc: '/usr/local/cuda-11.0/bin/nvcc', gpuUuid: 'GPU-0000' },
    });
    // sm_89 runs sm_80 code, so 11.0 serves the 4090 with the older code …
    expect(result).toMatchObject({ ok: true, value: { arch: 'sm_80' } });
    // … but nothing of 12.4 runs on a Blackwell card.
    const blackwell = readDescribed('several-toolkits');
    const commands = blackwell.commands.map((c) => ({
      ...c,
      out: c.out?.replaceAll(', 8.9,', ', 12.0,').replaceAll('4090', '5090'),
    }));
    const refused = await resolveTools({
      machine: describedMachine({ ...blackwell, commands }),
      settings: { nvcc: '/usr/local/cuda-12.4/bin/nvcc', gpuUuid: 'GPU-0000' },
    });
    expect(refused).toMatchObject({ ok: false, error: { code: 'env.arch-unsupported' } });
    if (refused.ok) return;
    expect(refused.error.message).toContain('RTX 5090 (sm_120)');
    expect(refused.error.remedy).toContain('CUDA 12.8');
  });

  it('obeys CUDA_VISIBLE_DEVICES', async () => {
    const is = readDescribed('several-toolkits');
    const second = await resolved(describedMachine({ ...is, env: { ...is.env, CUDA_VISIBLE_DEVICES: '1' } }));
    expect(second.machine.gpu?.name).toBe('NVIDIA GeForce RTX 3060');
    const hidden = await resolveTools({
      machine: describedMachine({ ...is, env: { ...is.env, CUDA_VISIBLE_DEVICES: '' } }),
      require: 'gpu',
    });
    expect(hidden).toMatchObject({ ok: false, error: { code: 'env.gpu-missing' } });
    const compileOnly = await resolved(
      describedMachine({ ...is, env: { ...is.env, CUDA_VISIBLE_DEVICES: '' } }),
      {},
      'nvcc',
    );
    expect(compileOnly).toMatchObject({ nvcc: '/usr/local/cuda-13.0/bin/nvcc', arch: null });
  });

  it('goes to the next toolkit when the best one cannot compile', async () => {
    const is = readDescribed('several-toolkits');
    const commands = is.commands.map((c) =>
      c.run === '/usr/local/cuda-12.8/bin/nvcc ' && c.with
        ? { ...c, makes: [], exit: 1, err: 'fatal error: cuda_runtime.h: No such file or directory\n' }
        : c,
    );
    const machine = describedMachine({ ...is, commands });
    expect((await resolved(machine)).nvcc).toBe('/usr/local/cuda-12.4/bin/nvcc');
    const report = await doctor({ machine });
    expect(line(report.checks, 'compile')).toMatchObject({ status: 'warning' });
    expect(line(report.checks, 'compile').cause).toContain('12.8.93 failed');
  });
});

describe('Windows', () => {
  it('finds cl.exe by vswhere and names it to nvcc', async () => {
    const tools = await resolved(describedMachine(readDescribed('windows')));
    expect(tools.nvcc).toBe('C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.4\\bin\\nvcc.exe');
    expect(tools.cxx).toMatch(/cl\.exe$/);
    expect(tools).toMatchObject({ ccbin: true, arch: 'sm_89', bwrap: null });
    expect(tools.ncu).toMatch(/ncu\.bat$/);
  });

  it('names the component to install when there is no MSVC', async () => {
    const result = await resolveTools({ machine: describedMachine(without(readDescribed('windows'), /vswhere/)) });
    expect(result).toMatchObject({
      ok: false,
      error: { code: 'env.host-compiler', message: 'Visual Studio C++ build tools were not found.' },
    });
  });
});

it('a bare machine gives one clear error that says where was looked', async () => {
  const bare: Described = {
    about: '',
    platform: 'linux',
    home: '/home/u',
    env: { PATH: '/usr/bin' },
    files: { '/usr/bin/true': { exec: true } },
    commands: [],
  };
  const result = await resolveTools({ machine: describedMachine(bare) });
  expect(result).toMatchObject({ ok: false, error: { code: 'env.toolkit-missing' } });
  if (!result.ok) expect(result.error.detail).toContain('/usr/local/cuda');
  const anything = await resolveTools({ machine: describedMachine(bare), require: 'none' });
  expect(anything).toMatchObject({ ok: true, value: { nvcc: null, cxx: null, ncu: null, arch: null } });
  const report = await doctor({ machine: describedMachine(bare) });
  expect(report).toMatchObject({ canCompile: false, canRun: false, canProfile: false });
});
