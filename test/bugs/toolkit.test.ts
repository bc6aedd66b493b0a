/** Reports about finding the toolkit and about driver, toolkit and GPU that do not fit: described machines, and fake tools as real processes. */
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { VerifyPlan } from '../../main/contract/index.ts';
import { exitCodeOf } from '../../main/contract/index.ts';
import { discover } from '../../main/toolchain/discover.ts';
import { doctor } from '../../main/toolchain/doctor.ts';
import { driverFits } from '../../main/toolchain/fit.ts';
import { thisMachine } from '../../main/toolchain/machine.ts';
import { findNcus } from '../../main/toolchain/ncu.ts';
import { resolveTools } from '../../main/toolchain/resolve.ts';
import { context, fakes, problem, programs, scratch, session } from '../session/support.ts';
import { type Described, describedMachine, readDescribed } from '../toolchain/described.ts';
import { askedToDebug, fakeCompiler, optimizeWith, tempFolder, tool } from './engine.ts';

const without = (is: Described, pattern: RegExp): Described => ({
  ...is,
  files: Object.fromEntries(Object.entries(is.files).filter(([path]) => !pattern.test(path))),
});
const refused = async (is: Described, settings = {}, require: 'gpu' | 'nvcc' = 'nvcc') => {
  const result = await resolveTools({ machine: describedMachine(is), settings, require });
  if (result.ok) throw new Error('it was not refused');
  return { ...result.error, exit: exitCodeOf(result.error.code) };
};
const used = async (is: Described, settings = {}, require: 'gpu' | 'nvcc' = 'gpu') => {
  const machine = describedMachine(is);
  const result = await resolveTools({ machine, settings, require });
  if (!result.ok) throw new Error(result.error.message);
  return { tools: result.value, asked: machine.asked };
};

/** A fake nvcc of release 12.0 as a real program; `compile` is what it does with a source. */
const fakeNvcc = (bin: string, compile = 'while [ "$1" != -o ]; do shift; done; : > "$2"'): string =>
  tool(
    bin,
    'nvcc',
    `case "$1" in
--version) echo 'Cuda compilation tools, release 12.0, V12.0.140'; exit 0 ;;
--list-gpu-code) printf 'sm_80\\nsm_86\\nsm_90\\n'; exit 0 ;;
--dryrun) echo "#$ TOP=${bin}/.." >&2; exit 0 ;;
esac
${compile}`,
  );

/** Looks at this machine with tools of our own first, remembering nothing of the user's. */
async function withHome<T>(work: () => Promise<T>): Promise<T> {
  const before = process.env.CUDAMASTER_HOME;
  process.env.CUDAMASTER_HOME = tempFolder();
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env.CUDAMASTER_HOME;
    else process.env.CUDAMASTER_HOME = before;
  }
}
const env = (bin: string) => ({ PATH: `${bin}:/usr/bin:/bin`, HOME: bin });

describe('finding the toolkit and its helpers', () => {
  it('B01: MSVC is found by vswhere and named to nvcc; without it the component to install is named', async () => {
    const { tools, asked } = await used(readDescribed('windows'));
    expect(tools).toMatchObject({ ccbin: true, cxx: expect.stringMatching(/\\Hostx64\\x64\\cl\.exe$/) });
    expect(asked.find((argv) => argv.includes('-shared'))).toEqual(expect.arrayContaining(['-ccbin', tools.cxx]));
    const error = await refused(without(readDescribed('windows'), /vswhere/));
    expect([error.code, error.exit, error.message]).toEqual([
      'env.host-compiler',
      3,
      'Visual Studio C++ build tools were not found.',
    ]);
    expect(error.remedy).toContain('Desktop development with C++');
  });

  it('B02: an nvcc that ends with 2 and no word: command, exit code and the usual cause are told', () =>
    withHome(async () => {
      const bin = tempFolder();
      const nvcc = fakeNvcc(bin, 'exit 2');
      const result = await resolveTools({ machine: thisMachine(env(bin)), settings: { nvcc } });
      if (result.ok) throw new Error('not refused');
      expect(result.error.message).toBe('nvcc ended with exit code 2 and no output.');
      expect(result.error.remedy).toMatch(/TMPDIR.*TMP and TEMP/);
      expect(result.error.detail).toContain(nvcc);
    }));

  it('B03: an older g++-N is taken by -ccbin; else both versions and the package are named; the check is never overridden', async () => {
    const { tools, asked } = await used(readDescribed('debian-split'));
    expect(tools).toMatchObject({ cxx: '/usr/bin/g++-11', ccbin: true });
    const error = await refused(without(readDescribed('debian-split'), /g\+\+-11$/));
    expect([error.code, error.exit]).toEqual(['env.host-compiler', 3]);
    expect(`${error.message} ${error.remedy}`).toMatch(/11\.8.*12\.2\.0.*apt install g\+\+-11/s);
    expect(asked.flat()).not.toContain('-allow-unsupported-compiler');
  });

  it("B05: Debian's split toolkit is proven by a compile, whatever its folders look like", async () => {
    const { tools } = await used(readDescribed('debian-split'));
    expect(tools).toMatchObject({ nvcc: '/usr/lib/nvidia-cuda-toolkit/bin/nvcc', includeDirs: [], libDirs: [] });
    const report = await doctor({ machine: describedMachine(readDescribed('debian-split')) });
    expect(report.canCompile).toBe(true);
    expect(report.checks.find((c) => c.id === 'compile')?.status).toBe('ok');
  });

  it('B06: a link is resolved before nvcc is called by it; runtime-only folders are listed as such', () =>
    withHome(async () => {
      const real = join(tempFolder(), 'targets', 'bin');
      // As conda's: it finds its headers beside the name it was called by.
      const nvcc = fakeNvcc(
        real,
        `case "$0" in ${real}/*) while [ "$1" != -o ]; do shift; done; : > "$2" ;; *) echo 'fatal error: cuda_runtime.h: No such file or directory' >&2; exit 1 ;; esac`,
      );
      const bin = tempFolder();
      mkdirSync(bin, { recursive: true });
      symlinkSync(nvcc, join(bin, 'nvcc'));
      const found = await discover({ machine: thisMachine(env(bin)), settings: { nvcc: join(bin, 'nvcc') } });
      expect([found.choice.toolkit?.nvcc, found.proof?.ok]).toEqual([nvcc, true]);
      const conda = await doctor({ machine: describedMachine(readDescribed('conda-mig')) });
      expect(conda.checks.filter((c) => c.cause === 'runtime only, cannot compile')).toHaveLength(1);
      const error = await refused(without(readDescribed('conda-mig'), /envs\/cuda\//));
      expect([error.code, error.exit]).toEqual(['env.toolkit-missing', 3]);
      expect(error.message).toMatch(/runtime.*cannot compile/);
    }));

  it('B07: every nvcc is listed with its own version, the newest that fits is chosen, one can be pinned', async () => {
    const machine = describedMachine(readDescribed('several-toolkits'));
    const report = await doctor({ machine });
    const listed = report.checks.filter((c) => /^toolkit\.\d+$/.test(c.id)).map((c) => c.title);
    expect(listed).toEqual(['13.0', '12.8', '12.4', '11.8', '11.0'].map((v) => `CUDA toolkit ${v}`));
    expect(report.chosen.toolkit).toContain('CUDA 12.8');
    // The figure of nvidia-smi is never called a toolkit.
    expect(report.checks.find((c) => c.id === 'driver')?.found).toContain('driver supports up to CUDA 12.4');
    const pinned = await used(readDescribed('several-toolkits'), { nvcc: '/usr/local/cuda-12.4/bin/nvcc' });
    expect(pinned.tools.machine.toolkit).toBe('12.4');
  });

  it('B08: started from an icon: the PATH of the login shell is read, and where was looked is said', async () => {
    const base = readDescribed('debian-split');
    const move = (text: string) =>
      text
        .replaceAll('/usr/bin/nvcc', '/home/u/tools/bin/nvcc')
        .replaceAll('/usr/lib/nvidia-cuda-toolkit', '/home/u/tools/lib');
    const moved = JSON.parse(move(JSON.stringify(base))) as Described;
    const gui: Described = {
      ...moved,
      env: { PATH: '/usr/bin:/bin', SHELL: '/bin/zsh' },
      files: { ...moved.files, '/bin/zsh': { exec: true } },
      commands: [
        ...moved.commands,
        { run: '/bin/zsh -l -i -c env', out: 'Welcome!\nPATH=/home/u/tools/bin:/usr/bin\n' },
      ],
    };
    const { tools } = await used(gui, {}, 'nvcc');
    expect(tools.nvcc).toBe('/home/u/tools/lib/bin/nvcc');
    const error = await refused({ ...gui, commands: gui.commands.filter((c) => !c.run.startsWith('/bin/zsh')) });
    expect(error.code).toBe('env.toolkit-missing');
    expect(error.detail).toMatch(/looked in: PATH, \/usr\/local\/cuda.*PATH of the login shell/);
  });

  it('B09: a wrapper that fails is passed over for the newest real ncu; with none profiling is off and the rest works', () =>
    withHome(async () => {
      const bin = tempFolder();
      const root = tempFolder();
      const wrapper = tool(
        bin,
        'ncu',
        "echo 'ERROR : nsight-compute directory is not found under /x/../ or /opt/nvidia.' >&2; exit 1",
      );
      const version = (v: string) => tool(join(root, `nsight-compute-${v}`), 'ncu', `echo "Version ${v}.0 (build 1)"`);
      const [old, recent] = [version('2023.1.0'), version('2024.10.0')];
      const found = await findNcus(thisMachine(env(bin)), [{ root } as Parameters<typeof findNcus>[1][number]]);
      expect(found.found.map((n) => n.path).filter((p) => p.startsWith(root))).toEqual([recent, old]);
      expect(found.broken.map((b) => b.path)).toContain(wrapper);
      const report = await doctor({ machine: describedMachine(without(readDescribed('wsl2'), /nsight-compute-/)) });
      expect(report).toMatchObject({ canCompile: true, canRun: true, canProfile: false });
      expect(report.checks.find((c) => c.id === 'ncu')?.found).toContain(
        'compiling and measuring work, profiling is off',
      );
    }));

  it('B11: an nvidia-smi that does not know compute_cap: a small device query answers instead', () =>
    withHome(async () => {
      const bin = tempFolder();
      tool(
        bin,
        'nvidia-smi',
        `case "$*" in
*compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2 ;;
*mig.mode*) echo 'Field "mig.mode.current" is not a valid field to query.'; exit 2 ;;
*) echo '0, GPU-12345678-0000-0000-0000-000000000000, Fake GPU, 525.80, 8192' ;;
esac`,
      );
      const query = tool(
        bin,
        'answers',
        `echo 'supports 12.0'\necho 'gpu 0 8.6 8192 12345678-0000-0000-0000-000000000000 Fake GPU'`,
      );
      const nvcc = fakeNvcc(bin, `while [ "$1" != -o ]; do shift; done; cp '${query}' "$2"`);
      const found = await discover({ machine: thisMachine(env(bin)), settings: { nvcc } });
      expect([found.gpu.gpus[0]?.cc, found.choice.arch]).toEqual(['8.6', 'sm_86']);
    }));
});

describe('driver, toolkit and GPU that do not fit', () => {
  it('B12: compared before the first compile; driver, what it runs, and both remedies are named', async () => {
    const machine = describedMachine(readDescribed('several-toolkits'));
    const result = await resolveTools({ machine, settings: { nvcc: '/usr/local/cuda-13.0/bin/nvcc' } });
    if (result.ok) throw new Error('not refused');
    expect([result.error.code, exitCodeOf(result.error.code)]).toEqual(['env.driver-too-old', 3]);
    expect(result.error.message).toBe('Driver 550.90.07 runs CUDA up to 12.x, this toolkit is 13.0.');
    expect(result.error.remedy).toMatch(/Update the driver to 580.*CUDA 12\.x toolkit/);
    for (const [driver, release, fits] of [
      ['550.1', '13.0', 'no'],
      ['580.1', '13.2', 'yes'],
      ['460.1', '11.3', 'yes'],
      ['449.9', '11.3', 'no'],
      ['525.1', '12.9', 'yes'],
    ] as const)
      expect(driverFits(driver, null, release, 'linux'), `${driver} ${release}`).toBe(fits);
  });

  const plan: VerifyPlan = {
    mode: 'verify',
    ...programs,
    arm: { id: 'C', lib: 'candidate.so', symbol: 'f_optimized' },
    problems: [problem('verify/0')],
    seeds: 2,
  };
  const met = async (cuda: string) => {
    using at = scratch();
    fakes(at, { on: { 'call C': { do: 'reply', reply: { cuda } } } });
    const { status, reason, result } = await session(plan, context(at));
    return { status, code: reason?.code, message: reason?.message ?? '', incidents: result.incidents };
  };

  it.each([
    ['cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version', 'env.driver-too-old'],
    [
      'cudaErrorUnsupportedPtxVersion: the provided PTX was compiled with an unsupported toolchain.',
      'env.arch-unsupported',
    ],
  ])('B12: met while running, "%s" is the machine, not the candidate', async (text, code) => {
    const { status, code: seen, message, incidents } = await met(text);
    expect([status, seen, incidents]).toEqual(['environment', code, []]);
    expect(message).toContain(text);
  });

  it('B13: no kernel image: built for the GPU that runs it; never counted as a wrong kernel', async () => {
    const text = 'cudaErrorNoKernelImageForDevice: no kernel image is available for execution on the device';
    const { status, code, incidents } = await met(text);
    expect([status, code, incidents]).toEqual(['environment', 'env.arch-unsupported', []]);
    // "native" is resolved to the architecture of the GPU that was found, on each machine anew.
    for (const [name, arch] of [
      ['debian-split', 'sm_86'],
      ['wsl2', 'sm_89'],
    ] as const)
      expect((await used(readDescribed(name))).tools.arch).toBe(arch);
  });

  /** A run on an RTX 4090 whose toolkit was told of an H200 before: nvcc makes sm_90 at first. `nvcc`: shell lines for the candidate's builds. */
  const swapped = async (gpuArch: string, nvcc = ':') => {
    const bin = tempFolder();
    const log = join(bin, 'argv');
    const runner = { arch: gpuArch, on: { hello: { do: 'reply', reply: { gpu: rtx4090, pid: 1 } } } };
    const ran = await optimizeWith({
      nvcc: fakeCompiler(bin, 'nvcc', `echo "$*" >> '${log}'\n${nvcc}`, { runner, judge }),
      cxx: fakeCompiler(bin, 'g++', '', { runner, judge }),
      peers: { runner, judge },
      arch: 'sm_90',
      archs: ['sm_89', 'sm_90'],
    });
    const archs = [...readFileSync(log, 'utf8').matchAll(/-arch=(sm_\w+)/g)].map((m) => m[1]);
    return { ran, archs };
  };
  const right = { bad: 0, nonFinite: 0, worst: 0, rms: 0, maxUlp: 0, rmsUlp: 0, allZero: false, poisonLeft: 0 };
  const comparison = { output: 'loss', compared: 1, ...right, first: [], lastBad: null, stride: null };
  const judge = { on: { all: { do: 'reply', reply: { comparison } } } };
  const rtx4090 = {
    name: 'NVIDIA GeForce RTX 4090',
    uuid: 'GPU-0',
    cc: '8.9',
    ...Object.fromEntries(
      ['sms', 'l2Bytes', 'memoryBytes', 'smClockMHz', 'memClockMHz', 'maxThreadsPerSm', 'regsPerSm', 'sharedPerSm']
        .concat(['sharedPerBlockOptin', 'driver', 'runtime'])
        .map((name) => [name, 1]),
    ),
  };
  /** The run stopped for the machine's sake: the candidate was not judged, no model was told of a fault in it. */
  const blameless = ({ report, exitCode, events, ...ran }: Awaited<ReturnType<typeof swapped>>['ran']) => {
    expect([report.status, report.error?.code, exitCode]).toEqual(['failed', 'env.arch-unsupported', 3]);
    expect(events.map((e) => e.type)).toContain('source');
    expect(events.map((e) => e.type)).not.toContain('evaluated');
    expect(askedToDebug({ report, exitCode, events, ...ran })).toEqual([]);
    expect(report.error?.remedy).toBeTruthy();
  };

  it('B13: met in a run, everything is built once more for the GPU that runs it, and the run goes on', async () => {
    const { ran, archs } = await swapped('sm_89');
    expect([ran.report.status, ran.exitCode, askedToDebug(ran)]).toEqual(['done', 0, []]);
    expect(ran.report.summary.rounds.map((r) => r.accepted)).toEqual([true]);
    expect(archs).toEqual(['sm_90', 'sm_89']);
  });

  it('B13: a GPU that refuses what was built for it, too: once is enough, and the message says what was tried', async () => {
    const { ran, archs } = await swapped('sm_77');
    blameless(ran);
    expect(archs).toEqual(['sm_90', 'sm_89']);
    expect(ran.report.error?.message).toMatch(/no kernel image is available.*built once more, for sm_89/s);
  });

  it('B13: a toolkit that cannot build for it: the fault of the environment, with both causes', async () => {
    const fatal = "nvcc fatal   : Unsupported gpu architecture 'compute_89'";
    const { ran } = await swapped('sm_89', `case "$*" in *sm_89*) echo "${fatal}" >&2; exit 1 ;; esac`);
    blameless(ran);
    expect(ran.report.error?.message).toMatch(/no kernel image is available.*for sm_89, failed too.*compute_89/s);
  });

  it('B14: GPU, toolkit and the first toolkit that knows it are named; a swapped GPU is seen', async () => {
    const is = readDescribed('several-toolkits');
    const swapped = (cc: string, name: string): Described => ({
      ...is,
      commands: is.commands.map((c) => ({
        ...c,
        out: c.out?.replaceAll(', 8.9,', `, ${cc},`).replaceAll('4090', name),
      })),
    });
    const settings = { nvcc: '/usr/local/cuda-12.4/bin/nvcc', gpuUuid: 'GPU-0000' };
    expect((await used(is, settings)).tools.arch).toBe('sm_89');
    const tooNew = await refused(swapped('12.0', '5070'), settings, 'gpu');
    expect([tooNew.code, tooNew.exit]).toEqual(['env.arch-unsupported', 3]);
    expect(`${tooNew.message} ${tooNew.remedy}`).toMatch(
      /CUDA 12\.4 cannot make code for .*5070 \(sm_120\).*CUDA 12\.8/,
    );
    const dropped = await refused(swapped('3.5', 'K40'), settings, 'gpu');
    expect(dropped.remedy).toContain('older than CUDA 12.0, which dropped sm_35');
  });
});
