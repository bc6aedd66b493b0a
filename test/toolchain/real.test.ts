import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { removeScratch, run, scratchDir } from '../../main/base/index.ts';
import { discover } from '../../main/toolchain/discover.ts';
import { doctor } from '../../main/toolchain/doctor.ts';
import { thisMachine } from '../../main/toolchain/machine.ts';
import { findNcus } from '../../main/toolchain/ncu.ts';
import { resolveTools } from '../../main/toolchain/resolve.ts';

let dir: string;
let bin: string;
const homeBefore = process.env.CUDAMASTER_HOME;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'cm-tc-'));
  process.env.CUDAMASTER_HOME = join(dir, 'home');
});
afterAll(() => {
  if (homeBefore === undefined) delete process.env.CUDAMASTER_HOME;
  else process.env.CUDAMASTER_HOME = homeBefore;
  rmSync(dir, { recursive: true, force: true });
});
let count = 0;
beforeEach(() => {
  bin = join(dir, `bin${count++}`);
  mkdirSync(bin, { recursive: true });
});

/** A fake tool: a real executable script, run as a real process. */
function tool(name: string, text: string, at = bin): string {
  mkdirSync(at, { recursive: true });
  const path = join(at, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
}

const env = () => ({ PATH: `${bin}:/usr/bin:/bin`, HOME: dir });

/** Answers questions as nvcc 12.0 does; `compile` is what happens when it is given a source. */
const fakeNvcc = (compile: string): string =>
  tool(
    'nvcc',
    `case "$1" in
--version) echo 'Cuda compilation tools, release 12.0, V12.0.140'; exit 0 ;;
--list-gpu-code) printf 'sm_80\\nsm_86\\nsm_90\\n'; exit 0 ;;
--dryrun) echo "#$ TOP=${bin}/.." >&2; exit 0 ;;
esac
${compile}`,
  );

const smi = (rows: string, head = ''): string => tool('nvidia-smi', `${head}\necho '${rows}'`);
const oneGpu = '0, GPU-12345678-0000-0000-0000-000000000000, Fake GPU, 8.6, 535.10, 8192, [N/A]';

describe('fake tools as real programs', () => {
  it('answers the GNU version error with an older g++ by -ccbin, never with the override flag', async () => {
    tool('g++', 'echo 14.1.0');
    tool('g++-11', 'echo 11.4.0');
    const log = join(bin, 'asked');
    const nvcc = fakeNvcc(`echo "$*" >> ${log}
case "$*" in
*g++-11*) while [ "$1" != -o ]; do shift; done; : > "$2"; exit 0 ;;
*) echo 'host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later than 12 are not supported!' >&2; exit 1 ;;
esac`);
    smi(oneGpu);
    const result = await resolveTools({ machine: thisMachine(env()), settings: { nvcc } });
    expect(result).toMatchObject({ ok: true, value: { nvcc, ccbin: true, cxx: join(bin, 'g++-11'), arch: 'sm_86' } });
    const asked = await run(['cat', log], { cwd: '/', env: env(), wallMs: 5000, memoryMiB: null, outputBytes: 10_000 });
    expect(asked.stdout).not.toContain('allow-unsupported');
    expect(asked.stdout).toContain('-arch=sm_86');
  });

  it('never shows an empty error: nvcc that exits 2 without a word', async () => {
    const nvcc = fakeNvcc('exit 2');
    const result = await resolveTools({ machine: thisMachine(env()), settings: { nvcc } });
    expect(result).toMatchObject({ ok: false, error: { code: 'env.toolkit-broken' } });
    if (result.ok) return;
    expect(result.error.message).toContain('exit code 2 and no output');
    expect(result.error.remedy).toContain('TMPDIR');
    expect(result.error.detail).toContain(`${nvcc} `);
  });

  it('gives every tool a temporary folder that exists and can be written', async () => {
    const nvcc = fakeNvcc(`for d in "$TMPDIR" "$TMP" "$TEMP"; do [ -w "$d" ] || exit 2; done
[ -z "$OPENAI_API_KEY" ] || exit 3
while [ "$1" != -o ]; do shift; done; : > "$2"`);
    const result = await resolveTools({
      machine: thisMachine({ ...env(), TMPDIR: '/no/such/folder', OPENAI_API_KEY: 'sk-not-for-children-00' }),
      settings: { nvcc },
    });
    expect(result.ok).toBe(true);
    if (!result.ok) return;
    expect(JSON.stringify(result.value.env)).not.toContain('not-for-children');
    expect(lstatSync(result.value.env.TMPDIR ?? '').mode & 0o077).toBe(0);
  });

  it('proves an nvcc again after it changed', async () => {
    const one = fakeNvcc('while [ "$1" != -o ]; do shift; done; : > "$2"');
    expect((await discover({ machine: thisMachine(env()), settings: { nvcc: one } })).proof).toMatchObject({
      ok: true,
      fromMemory: false,
    });
    expect((await discover({ machine: thisMachine(env()), settings: { nvcc: one } })).proof).toMatchObject({
      ok: true,
      fromMemory: true,
    });
    fakeNvcc('echo "catastrophic error" >&2; exit 1');
    expect((await discover({ machine: thisMachine(env()), settings: { nvcc: one } })).proof).toMatchObject({
      ok: false,
    });
  });

  it('tells a killed compiler from a broken one', async () => {
    const nvcc = fakeNvcc('kill -9 $$');
    expect(await resolveTools({ machine: thisMachine(env()), settings: { nvcc } })).toMatchObject({
      ok: false,
      error: { code: 'env.killed' },
    });
  });

  it('does without compute_cap: an old nvidia-smi, answered by a device query', async () => {
    tool(
      'nvidia-smi',
      `case "$*" in
*compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2 ;;
*mig.mode*) echo 'Field "mig.mode.current" is not a valid field to query.'; exit 2 ;;
*--query-gpu=index,uuid,name,driver_version,memory.total*) echo '0, GPU-12345678-0000-0000-0000-000000000000, Fake GPU, 450.80, 8192' ;;
*) exit 9 ;;
esac`,
    );
    const answers = join(bin, 'answers');
    writeFileSync(
      answers,
      `#!/bin/sh\necho 'supports 12.0'\necho 'gpu 0 8.6 8192 12345678-0000-0000-0000-000000000000 Fake GPU'\n`,
      { mode: 0o755 },
    );
    const nvcc = fakeNvcc(`while [ "$1" != -o ]; do shift; done; cp ${answers} "$2"`);
    const found = await discover({ machine: thisMachine(env()), settings: { nvcc } });
    expect(found.gpu.gpus).toEqual([
      { index: 0, name: 'Fake GPU', uuid: 'GPU-12345678-0000-0000-0000-000000000000', cc: '8.6', memoryMiB: 8192 },
    ]);
    expect(found.choice.arch).toBe('sm_86');
  });

  it('explains a driver that does not run', async () => {
    tool('nvidia-smi', `echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."; exit 9`);
    const nvcc = fakeNvcc('while [ "$1" != -o ]; do shift; done; : > "$2"');
    const result = await resolveTools({ machine: thisMachine(env()), settings: { nvcc }, require: 'gpu' });
    expect(result).toMatchObject({ ok: false, error: { code: 'env.gpu-missing' } });
    if (!result.ok) expect(result.error.remedy).toContain('modprobe nvidia');
  });

  it('goes past an ncu wrapper that fails, to the newest that answers', async () => {
    const wrapper = tool(
      'ncu',
      "echo 'ERROR : nsight-compute directory is not found under /x/../ or /opt/nvidia.' >&2; exit 1",
    );
    const root = join(dir, 'cuda-fake');
    const old = tool(
      'ncu',
      'echo "Version 2023.1.0.0 (build 1) (public-release)"',
      join(root, 'nsight-compute-2023.1.0'),
    );
    const recent = tool(
      'ncu',
      'echo "Version 2024.10.0.0 (build 1) (public-release)"',
      join(root, 'nsight-compute-2024.10.0'),
    );
    const toolkit = { root } as Parameters<typeof findNcus>[1][number];
    const found = await findNcus(thisMachine(env()), [toolkit]);
    const ours = found.found.filter((ncu) => ncu.path.startsWith(dir));
    expect(ours.map((ncu) => ncu.path)).toEqual([recent, old]);
    expect(found.broken).toContainEqual({
      path: wrapper,
      said: expect.stringContaining('nsight-compute directory is not found'),
    });
  });

  it('reads the PATH of the login shell when our own has no nvcc', async () => {
    const { loginShellFolders } = await import('../../main/toolchain/search.ts');
    const shell = tool('myshell', 'echo welcome; echo PATH=/from/profile:/usr/bin');
    expect(await loginShellFolders(thisMachine({ ...env(), SHELL: shell }))).toEqual(['/from/profile', '/usr/bin']);
    const slow = tool('slowshell', 'sleep 60');
    const began = performance.now();
    expect(await loginShellFolders(thisMachine({ ...env(), SHELL: slow }))).toEqual([]);
    expect(performance.now() - began).toBeLessThan(8000);
  });
});

const real = await resolveReal();
async function resolveReal() {
  const home = mkdtempSync(join(tmpdir(), 'cm-tc-real-'));
  const before = process.env.CUDAMASTER_HOME;
  process.env.CUDAMASTER_HOME = home;
  const result = await resolveTools();
  if (before === undefined) delete process.env.CUDAMASTER_HOME;
  else process.env.CUDAMASTER_HOME = before;
  rmSync(home, { recursive: true, force: true });
  return result;
}

describe.skipIf(!real.ok)('the nvcc of this machine', () => {
  it('is found as the program itself, proven, and remembered', async () => {
    const first = await resolveTools();
    expect(first.ok).toBe(true);
    if (!first.ok) return;
    const nvcc = first.value.nvcc ?? '';
    expect(lstatSync(nvcc).isSymbolicLink()).toBe(false);
    expect(first.value.machine.nvcc).toMatch(/^\d+\.\d+\.\d+$/);
    expect(first.value.archs.length).toBeGreaterThan(3);
    // The best of three: another test may be compiling at this moment.
    const times: number[] = [];
    for (let i = 0; i < 3; i++) {
      const began = performance.now();
      expect(await resolveTools()).toEqual(first);
      times.push(performance.now() - began);
    }
    expect(Math.min(...times)).toBeLessThan(real.ok && real.value.machine.gpu ? 5000 : 1000);
  });

  it('compiles with the environment and folders given', async () => {
    if (!real.ok) return;
    const tools = real.value;
    const scratch = scratchDir();
    writeFileSync(
      join(scratch, 'a.cpp'),
      '#include <cuda_runtime.h>\nint main() { int v = 0; return cudaRuntimeGetVersion(&v) == cudaSuccess && v > 0 ? 0 : 1; }\n',
    );
    const args = [
      ...tools.includeDirs.map((d) => `-I${d}`),
      'a.cpp',
      '-o',
      'a',
      ...tools.libDirs.map((d) => `-L${d}`),
      '-lcudart',
    ];
    const options = { cwd: scratch, env: tools.env, wallMs: 60_000, memoryMiB: null, outputBytes: 10_000 };
    const built = await run([tools.cxx ?? '', ...args], options);
    expect(built.stderr).toBe('');
    expect((await run(['./a'], options)).exitCode).toBe(0);
    removeScratch(scratch);
  });

  it('is found through a wrapper script and through a link', async () => {
    if (!real.ok) return;
    const nvcc = real.value.nvcc ?? '';
    const wrapper = tool('nvcc', `exec ${nvcc} "$@"`);
    const link = join(bin, 'linked');
    symlinkSync(nvcc, link);
    for (const pin of [wrapper, link]) {
      const result = await discover({ machine: thisMachine(env()), settings: { nvcc: pin } });
      expect(result.choice.toolkit?.nvcc).toBe(nvcc);
      expect(result.proof?.ok).toBe(true);
    }
  });

  it('gets a verdict a line from the doctor', async () => {
    const report = await doctor();
    expect(report.canCompile).toBe(true);
    for (const check of report.checks) if (check.status === 'error') expect(check.remedy, check.title).toBeTruthy();
    expect(report.chosen.toolkit).toContain(real.ok ? (real.value.nvcc ?? '') : '');
    expect(new Set(report.checks.map((check) => check.id)).size).toBe(report.checks.length);
  });
});

it.skipIf(existsSync('/proc/driver/nvidia/version'))('has no GPU: arch is null and the reason is said', async () => {
  const found = await discover({ machine: thisMachine({ PATH: '/usr/bin:/bin', HOME: dir }) });
  expect(found.gpu.gpus).toEqual([]);
  expect(found.gpu.fault?.message).toBeTruthy();
  expect(found.choice.arch).toBe(null);
});
