import type { Gpu } from './gpu.ts';
import type { Machine } from './machine.ts';
import type { Toolkit } from './toolkit.ts';
import { compareVersions, majorOf, newestFirst } from './version.ts';

/** Least driver branch for a CUDA major version (minor version compatibility; CUDA release notes, table "Minimum required driver"). */
const leastDriver: Readonly<Record<'linux' | 'win32', Readonly<Record<number, number>>>> = {
  linux: { 11: 450, 12: 525, 13: 580 },
  win32: { 11: 452, 12: 527, 13: 580 },
};

/**
 * First CUDA release that makes code for an architecture, and the first that no longer does (CUDA release notes). Only for naming what to
 * install: whether an installed nvcc can is asked of it.
 */
const archSpan: Readonly<Record<string, readonly [first: string, dropped: string | null]>> = {
  sm_35: ['5.0', '12.0'],
  sm_37: ['6.5', '12.0'],
  sm_50: ['6.0', '13.0'],
  sm_52: ['6.5', '13.0'],
  sm_53: ['7.0', '13.0'],
  sm_60: ['8.0', '13.0'],
  sm_61: ['8.0', '13.0'],
  sm_62: ['8.0', '13.0'],
  sm_70: ['9.0', '13.0'],
  sm_72: ['9.2', '13.0'],
  sm_75: ['10.0', null],
  sm_80: ['11.0', null],
  sm_86: ['11.1', null],
  sm_87: ['11.4', null],
  sm_89: ['11.8', null],
  sm_90: ['11.8', null],
  sm_100: ['12.8', null],
  sm_103: ['12.9', null],
  sm_120: ['12.8', null],
  sm_121: ['12.9', null],
  sm_110: ['13.0', null],
};

export const archOfCc = (cc: string): string => `sm_${cc.replace('.', '')}`;

/** How well a driver carries a toolkit. `unknown`: a version that this program does not know. */
export function driverFits(
  driver: string | null,
  driverSupports: string | null,
  release: string,
  platform: Machine['platform'],
): 'yes' | 'no' | 'unknown' {
  if (driver === null) return 'unknown';
  if (driverSupports !== null && majorOf(driverSupports) >= majorOf(release)) return 'yes';
  const least = leastDriver[platform === 'win32' ? 'win32' : 'linux'][majorOf(release)];
  if (least !== undefined) return majorOf(driver) >= least ? 'yes' : 'no';
  if (driverSupports !== null) return 'no';
  return majorOf(release) < 11 ? 'yes' : 'unknown';
}

/** Newest CUDA major that a driver runs, as far as the table knows: 550 → 12. */
export function newestMajorFor(driver: string, platform: Machine['platform']): number | null {
  const table = Object.entries(leastDriver[platform === 'win32' ? 'win32' : 'linux']);
  const fitting = table.filter(([, least]) => majorOf(driver) >= least).map(([major]) => Number(major));
  return fitting.length > 0 ? Math.max(...fitting) : null;
}

/**
 * Code that this nvcc can make and this GPU can run: its own architecture, else the newest older minor of the same major
 * (binary compatibility holds within a major). null = none.
 */
export function archFor(cc: string, archs: readonly string[]): string | null {
  const own = Number(cc.replace('.', ''));
  const major = majorOf(cc);
  const usable = archs.map((arch) => Number(arch.slice(3))).filter((n) => Math.floor(n / 10) === major && n <= own);
  return usable.length > 0 ? `sm_${Math.max(...usable)}` : null;
}

export interface Misfit {
  readonly code: 'env.driver-too-old' | 'env.arch-unsupported';
  readonly message: string;
  readonly remedy: string;
}

/** Why a toolkit cannot serve this GPU with this driver; null = it can. */
export function misfit(
  toolkit: Toolkit,
  gpu: Gpu,
  driver: string | null,
  driverSupports: string | null,
  platform: Machine['platform'],
): Misfit | null {
  if (driver !== null && driverFits(driver, driverSupports, toolkit.release, platform) === 'no') {
    const most =
      driverSupports ?? (newestMajorFor(driver, platform) === null ? null : `${newestMajorFor(driver, platform)}.x`);
    const least = leastDriver[platform === 'win32' ? 'win32' : 'linux'][majorOf(toolkit.release)];
    const major = newestMajorFor(driver, platform);
    return {
      code: 'env.driver-too-old',
      message: `Driver ${driver} runs CUDA${most === null ? ' of an older version' : ` up to ${most}`}, this toolkit is ${toolkit.release}.`,
      remedy: `Update the driver${least === undefined ? '' : ` to ${least} or newer`}${major === null ? '' : `, or install and choose a CUDA ${major}.x toolkit`}.`,
    };
  }
  if (gpu.cc !== null && toolkit.archs.length > 0 && archFor(gpu.cc, toolkit.archs) === null)
    return archMisfit(toolkit, gpu, gpu.cc);
  return null;
}

function archMisfit(toolkit: Toolkit, gpu: Gpu, cc: string): Misfit {
  const arch = archOfCc(cc);
  const span = archSpan[arch];
  const newest = toolkit.archs.at(-1) ?? '?';
  const tooNew =
    Number(arch.slice(3)) > Number(newest.slice(3)) ||
    (span !== undefined && compareVersions(toolkit.release, span[0]) < 0);
  const advice = tooNew
    ? span === undefined
      ? 'Install a toolkit that is newer than the GPU.'
      : `Install CUDA ${span[0]} or newer: the first that knows ${arch}.`
    : span?.[1]
      ? `Install a toolkit older than CUDA ${span[1]}, which dropped ${arch}.`
      : 'Install a toolkit that supports this GPU.';
  return {
    code: 'env.arch-unsupported',
    message: `CUDA ${toolkit.release} cannot make code for ${gpu.name} (${arch}); it knows ${toolkit.archs[0]} to ${newest}.`,
    remedy: advice,
  };
}

export interface Choice {
  readonly toolkit: Toolkit | null;
  readonly gpu: Gpu | null;
  readonly arch: string | null;
  readonly why: string;
  /** Set when there are toolkits and GPUs but no pair fits. */
  readonly misfit: Misfit | null;
}

/**
 * Toolkits that can serve, best first, each with its GPU: newest first, GPUs in their order; a pinned nvcc is the only one considered.
 * Without a GPU every toolkit serves (compiling alone).
 */
export function fittingPairs(
  toolkits: readonly Toolkit[],
  gpus: readonly Gpu[],
  driver: { readonly version: string | null; readonly supports: string | null },
  platform: Machine['platform'],
): { pairs: Choice[]; misfit: Misfit | null } {
  const sorted = [...toolkits].sort((a, b) => newestFirst(a.version, b.version));
  if (gpus.length === 0)
    return {
      pairs: sorted.map((toolkit) => ({
        toolkit,
        gpu: null,
        arch: null,
        why: `newest toolkit that works; no GPU here`,
        misfit: null,
      })),
      misfit: null,
    };
  const pairs: Choice[] = [];
  let first: Misfit | null = null;
  for (const gpu of gpus)
    for (const toolkit of sorted) {
      const reason = misfit(toolkit, gpu, driver.version, driver.supports, platform);
      first ??= reason;
      if (reason !== null) continue;
      const arch = gpu.cc === null ? null : archFor(gpu.cc, toolkit.archs);
      pairs.push({
        toolkit,
        gpu,
        arch,
        why: `newest toolkit that supports ${gpu.name}${arch ? ` (${arch})` : ''} and driver ${driver.version ?? 'unknown'}`,
        misfit: null,
      });
    }
  return { pairs, misfit: pairs.length > 0 ? null : first };
}
