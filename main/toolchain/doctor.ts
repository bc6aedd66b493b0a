import type { Check, DoctorReport } from '../contract/index.ts';
import { type DiscoverOptions, type Discovery, discover } from './discover.ts';
import { findLibraries } from './extras.ts';
import { archOfCc, driverFits } from './fit.ts';
import { counterPermission } from './ncu.ts';
import { describeCompiler, faultOf } from './resolve.ts';

/** Looks at the whole machine and says, a line each, what was found, what is wrong, why, and what to do. Runs real probes (a compile, a sandbox). */
export async function doctor(options: DiscoverOptions = {}): Promise<DoctorReport> {
  const found = await discover({ ...options, full: true });
  const compile = found.proof?.ok === true;
  const permission = await counterPermission(found.machine, found.gpu.wsl);
  const checks: Check[] = [
    ...gpuChecks(found),
    ...toolkitChecks(found),
    compilerCheck(found),
    proofCheck(found),
    fitCheck(found),
    ...(await libraryChecks(found)),
    ncuCheck(found),
    permissionCheck(found, permission),
    sanitizerCheck(found),
    sandboxCheck(found),
  ];
  const canRun = compile && found.choice.gpu !== null && found.choice.arch !== null && found.choice.misfit === null;
  return {
    checks,
    chosen: {
      toolkit: found.choice.toolkit ? `CUDA ${found.choice.toolkit.release} (${found.choice.toolkit.nvcc})` : null,
      gpu: found.choice.gpu
        ? `${found.choice.gpu.name}${found.choice.gpu.uuid ? ` ${found.choice.gpu.uuid}` : ''}`
        : null,
      arch: found.choice.arch,
      why: found.choice.why,
    },
    canCompile: compile,
    canRun,
    canProfile: canRun && found.ncus.found.length > 0 && permission.status !== 'denied',
  };
}

const check = (
  id: string,
  title: string,
  status: Check['status'],
  found: string,
  cause?: string,
  remedy?: string,
): Check => ({
  id,
  title,
  status,
  found,
  ...(cause ? { cause } : {}),
  ...(remedy ? { remedy } : {}),
});

function gpuChecks({ gpu, usable, settings }: Discovery): Check[] {
  const out: Check[] = [];
  const supports = gpu.driverSupports ? `, driver supports up to CUDA ${gpu.driverSupports}` : '';
  const where = gpu.wsl ? ' (WSL2: the driver is the one of Windows)' : '';
  if (gpu.driver) out.push(check('driver', 'NVIDIA driver', 'ok', `${gpu.driver}${supports}${where}`));
  else
    out.push(check('driver', 'NVIDIA driver', 'absent', `none found${where}`, gpu.fault?.message, gpu.fault?.remedy));
  if (gpu.gpus.length === 0)
    out.push(check('gpu', 'GPU', gpu.driver ? 'error' : 'absent', 'none', gpu.fault?.message, gpu.fault?.remedy));
  for (const one of gpu.gpus) {
    const parts = [
      one.name,
      one.cc ? archOfCc(one.cc) : 'compute capability unknown',
      one.memoryMiB ? `${one.memoryMiB} MiB` : null,
      one.uuid,
    ];
    const hidden = !usable.includes(one);
    const why = hidden
      ? settings.gpuUuid
        ? 'another GPU is chosen in the settings'
        : 'hidden by CUDA_VISIBLE_DEVICES'
      : undefined;
    const unknown = one.cc === null ? 'neither nvidia-smi nor a device query tells its compute capability' : undefined;
    out.push(
      check(
        `gpu.${one.index}`,
        `GPU ${one.index}`,
        unknown ? 'warning' : 'ok',
        parts.filter((part) => part !== null).join(', '),
        why ?? unknown,
        unknown && 'Update the driver, or install a working toolkit so that the device can be queried.',
      ),
    );
  }
  return out;
}

function toolkitChecks({ toolkits, choice, gpu, machine }: Discovery): Check[] {
  const out = toolkits.found.map((toolkit, i) => {
    const mark = toolkit === choice.toolkit ? 'chosen' : `found by ${toolkit.via.join(', ')}`;
    const fits = driverFits(gpu.driver, gpu.driverSupports, toolkit.release, machine.platform);
    return check(
      `toolkit.${i + 1}`,
      `CUDA toolkit ${toolkit.release}`,
      fits === 'no' ? 'warning' : 'ok',
      `${toolkit.version}, ${toolkit.nvcc}, makes ${toolkit.archs[0] ?? '?'} to ${toolkit.archs.at(-1) ?? '?'}, ${mark}`,
      fits === 'no' ? `driver ${gpu.driver} is too old for it` : undefined,
    );
  });
  for (const [i, entry] of toolkits.rejected.entries())
    out.push(
      check(
        `toolkit.rejected.${i + 1}`,
        'Not a toolkit',
        'warning',
        `${entry.path} (found by ${entry.via})`,
        entry.why,
      ),
    );
  if (toolkits.found.length > 0) return out;
  return [
    ...out,
    check(
      'toolkit',
      'CUDA toolkit',
      'error',
      'no nvcc found',
      `looked in ${toolkits.looked.join(', ')}`,
      'Install the CUDA toolkit, or set CUDA_HOME or the path of nvcc in the settings.',
    ),
  ];
}

function compilerCheck({ compilers, choice, proof, machine }: Discovery): Check {
  const list = compilers.map((c) => `${describeCompiler(c)} (${c.path})`).join(', ');
  const used =
    proof?.ok && proof.compiler ? `${describeCompiler(proof.compiler)}${proof.ccbin ? ' by -ccbin' : ''}; ` : '';
  if (compilers.length === 0)
    return check(
      'host-compiler',
      'Host compiler',
      'error',
      'none found',
      undefined,
      machine.platform === 'win32'
        ? 'Install Visual Studio C++ build tools: "Desktop development with C++" (MSVC x64/x86).'
        : 'Install g++ (Debian, Ubuntu: `sudo apt install g++`; Fedora: `sudo dnf install gcc-c++`).',
    );
  const limit = choice.toolkit?.maxGcc
    ? `; CUDA ${choice.toolkit.release} accepts g++ up to ${choice.toolkit.maxGcc}`
    : '';
  return check('host-compiler', 'Host compiler', 'ok', `${used}found ${list}${limit}`);
}

function proofCheck({ proof, choice, failed }: Discovery): Check {
  const title = 'Compiling a tiny kernel';
  if (proof === null) return check('compile', title, 'absent', 'not tried: no toolkit');
  if (!proof.ok) return check('compile', title, 'error', proof.fault.message, proof.fault.detail, proof.fault.remedy);
  const others = failed.map((other) => `CUDA ${other.toolkit.version} failed: ${other.proof.fault.message}`).join('; ');
  const how = proof.fromMemory ? 'proven earlier, nothing changed since' : 'compiled and linked';
  return check(
    'compile',
    title,
    others ? 'warning' : 'ok',
    `CUDA ${choice.toolkit?.version ?? '?'}: ${how}`,
    others || undefined,
  );
}

function fitCheck(found: Discovery): Check {
  const { choice } = found;
  const title = 'Driver, toolkit and GPU together';
  if (choice.misfit) return check('fit', title, 'error', choice.misfit.message, undefined, choice.misfit.remedy);
  if (choice.gpu === null || choice.toolkit === null) {
    const fault = faultOf(found, true);
    return check('fit', title, 'absent', 'not to be judged', fault?.error.message, fault?.error.remedy);
  }
  if (choice.arch === null) return check('fit', title, 'warning', 'the compute capability of the GPU is unknown');
  return check('fit', title, 'ok', choice.why);
}

async function libraryChecks({ machine, choice }: Discovery): Promise<Check[]> {
  if (choice.toolkit === null) return [];
  const { cupti, present } = await findLibraries(machine, choice.toolkit);
  const both = cupti.header !== null && cupti.library !== null;
  const out = [
    check(
      'cupti',
      'CUPTI',
      both ? 'ok' : 'error',
      both ? (cupti.library as string) : `header: ${cupti.header ?? 'missing'}, library: ${cupti.library ?? 'missing'}`,
      both ? undefined : 'GPU spans cannot be measured without it',
      both
        ? undefined
        : `Install CUPTI of CUDA ${choice.toolkit.release} (packages cuda-cupti and cuda-cupti-dev; conda: cuda-cupti-dev).`,
    ),
  ];
  const missing = present.filter((item) => item.found === null).map((item) => item.name);
  const have = present.filter((item) => item.found !== null).map((item) => item.name);
  out.push(
    check(
      'libraries',
      'Libraries',
      missing.length === 0 ? 'ok' : 'absent',
      `present: ${have.join(', ') || 'none'}${missing.length > 0 ? `; missing: ${missing.join(', ')}` : ''}`,
      missing.length > 0 ? 'only tasks that allow these libraries need them' : undefined,
    ),
  );
  return out;
}

function ncuCheck({ ncus, toolkits }: Discovery): Check {
  const broken = ncus.broken.map((entry) => `${entry.path}: ${entry.said}`).join('; ');
  const [first, ...others] = ncus.found;
  if (first) {
    const more = others.length > 0 ? `; also ${others.map((other) => other.version).join(', ')}` : '';
    return check('ncu', 'Nsight Compute', 'ok', `${first.version}, ${first.path}${more}`, broken || undefined);
  }
  const release = toolkits.found[0]?.release;
  const named = release ? ` (package cuda-nsight-compute-${release.replace('.', '-')})` : '';
  return check(
    'ncu',
    'Nsight Compute',
    broken ? 'error' : 'absent',
    'no working ncu: compiling and measuring work, profiling is off',
    broken || undefined,
    `Install Nsight Compute${named}, or set the path of ncu in the settings.`,
  );
}

function permissionCheck({ gpu }: Discovery, permission: Awaited<ReturnType<typeof counterPermission>>): Check {
  const title = 'Permission to read GPU counters';
  if (gpu.gpus.length === 0) return check('counters', title, 'absent', 'no GPU');
  const status = { allowed: 'ok', denied: 'error', unknown: 'warning' } as const;
  return check(
    'counters',
    title,
    status[permission.status],
    permission.status,
    permission.cause,
    permission.remedy || undefined,
  );
}

function sanitizerCheck({ sanitizer }: Discovery): Check {
  if (sanitizer) return check('sanitizer', 'Compute Sanitizer', 'ok', `${sanitizer.version}, ${sanitizer.path}`);
  return check(
    'sanitizer',
    'Compute Sanitizer',
    'absent',
    'not found: memory and race checks are off',
    undefined,
    'Install the package cuda-sanitizer of your CUDA version.',
  );
}

function sandboxCheck({ sandbox }: Discovery): Check {
  return check(
    'sandbox',
    'Sandbox for candidates',
    sandbox.path ? 'ok' : 'warning',
    sandbox.found,
    sandbox.cause,
    sandbox.remedy,
  );
}
