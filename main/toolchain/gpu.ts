import { joinOn, type Machine, pathFolders } from './machine.ts';
import { onPath } from './search.ts';
import { firstLine } from './toolkit.ts';

/** One GPU, or one MIG slice of it, as work can be sent to it. */
export interface Gpu {
  readonly index: number;
  readonly name: string;
  /** "GPU-…", or "MIG-…" when the GPU is divided; null when no tool tells. */
  readonly uuid: string | null;
  /** Compute capability "9.0"; null when no tool tells. */
  readonly cc: string | null;
  readonly memoryMiB: number | null;
}

export interface GpuState {
  readonly gpus: readonly Gpu[];
  /** Driver version "580.159.04"; null = no driver, or unknown. */
  readonly driver: string | null;
  /** Newest CUDA that the driver supports ("13.0"). It is no toolkit version. */
  readonly driverSupports: string | null;
  readonly nvidiaSmi: string | null;
  /** Why there is no GPU in the list, or why something about it is unknown. */
  readonly fault: { readonly message: string; readonly remedy: string } | null;
  /** Windows Subsystem for Linux. */
  readonly wsl: boolean;
  /** A driver seems to be there although nvidia-smi gave no list: a device query by a CUDA program can answer. */
  readonly worthAsking: boolean;
}

const wantedFields = ['index', 'uuid', 'name', 'compute_cap', 'driver_version', 'memory.total', 'mig.mode.current'];

/** Finds nvidia-smi: PATH, then where WSL2 and Windows keep it. */
export async function findSmi(machine: Machine): Promise<string | null> {
  const found = await onPath(machine, 'nvidia-smi');
  if (found) return found;
  const windows = machine.env.SystemRoot ?? 'C:\\Windows';
  const files = machine.env.ProgramFiles ?? 'C:\\Program Files';
  const others =
    machine.platform === 'win32'
      ? [
          joinOn(machine, windows, 'System32', 'nvidia-smi.exe'),
          joinOn(machine, files, 'NVIDIA Corporation', 'NVSMI', 'nvidia-smi.exe'),
        ]
      : [
          '/usr/lib/wsl/lib/nvidia-smi',
          '/opt/bin/nvidia-smi',
          '/usr/local/nvidia/bin/nvidia-smi',
          '/run/current-system/sw/bin/nvidia-smi',
        ];
  for (const path of others) if (await machine.isExecutable(path)) return path;
  return null;
}

/** GPUs and driver. `full` also asks which CUDA the driver supports (one call more). Never throws. */
export async function findGpus(machine: Machine, full = false): Promise<GpuState> {
  const wsl = /microsoft/i.test((await machine.readText('/proc/version')) ?? '');
  const procDriver = parseProcVersion((await machine.readText('/proc/driver/nvidia/version')) ?? '');
  const nodes = (await machine.exists('/dev/nvidiactl')) || (await machine.exists('/dev/dxg'));
  const nvidiaSmi = await findSmi(machine);
  const base = { driver: procDriver, driverSupports: null, nvidiaSmi, wsl, gpus: [] as Gpu[] };
  if (nvidiaSmi === null) {
    const worthAsking = procDriver !== null || nodes;
    return { ...base, worthAsking, fault: noSmi(machine, worthAsking) };
  }
  const listed = await query(machine, nvidiaSmi);
  if ('said' in listed) return { ...base, worthAsking: procDriver !== null, fault: smiFault(listed.said, wsl) };
  const divided = listed.rows.some((row) => row['mig.mode.current'] === 'Enabled');
  const slices = divided ? parseMigList((await machine.run([nvidiaSmi, '-L'])).stdout) : new Map<string, string[]>();
  const gpus = listed.rows.flatMap((row) => gpusOf(row, slices));
  const driver = listed.rows[0]?.driver_version ?? procDriver;
  const driverSupports = full ? parseDriverSupports((await machine.run([nvidiaSmi])).stdout) : null;
  const fault =
    gpus.length === 0
      ? {
          message: 'nvidia-smi lists no GPU.',
          remedy: 'Check that the GPU is seated, powered and passed into this container or machine.',
        }
      : null;
  return {
    ...base,
    gpus,
    driver,
    driverSupports,
    fault,
    worthAsking: gpus.some((gpu) => gpu.cc === null || gpu.uuid === null),
  };
}

type Row = Partial<Record<string, string>>;

/** Asks for the fields; one that this nvidia-smi does not know is dropped and the question repeated. */
async function query(machine: Machine, smi: string): Promise<{ rows: Row[] } | { said: string }> {
  let fields = [...wantedFields];
  let said = '';
  while (fields.length > 0) {
    const answer = await machine.run([smi, `--query-gpu=${fields.join(',')}`, '--format=csv,noheader,nounits']);
    said = `${answer.stdout}\n${answer.stderr}\n${answer.startError ?? ''}${answer.killed ?? ''}`.trim();
    const unknown = unknownField(said);
    if (unknown !== null && fields.includes(unknown)) {
      fields = fields.filter((field) => field !== unknown);
      continue;
    }
    if (answer.exitCode === 0 && unknown === null) return { rows: parseQuery(answer.stdout, fields) };
    if (/no devices were found/i.test(said)) return { rows: [] };
    break;
  }
  return { said: said || 'no output' };
}

/** `Field "compute_cap" is not a valid field to query.` */
export function unknownField(text: string): string | null {
  return /Field\s+"([^"]+)"\s+is not a valid field/i.exec(text)?.[1] ?? null;
}

/** Rows of the CSV answer; "[N/A]" and "[Not Supported]" are absent, not text. GPU names hold no comma. */
export function parseQuery(text: string, fields: readonly string[]): Row[] {
  const out: Row[] = [];
  for (const line of text.split('\n')) {
    const cells = line.split(',').map((cell) => cell.trim());
    if (cells.length !== fields.length || !/\S/.test(line)) continue;
    const row: Row = {};
    fields.forEach((field, i) => {
      const cell = cells[i] ?? '';
      if (cell !== '' && !/^\[.*\]$/.test(cell) && cell !== 'N/A') row[field] = cell;
    });
    out.push(row);
  }
  return out;
}

/** `nvidia-smi -L`: MIG slices below the GPU that they belong to. */
export function parseMigList(text: string): Map<string, string[]> {
  const out = new Map<string, string[]>();
  let slices: string[] = [];
  for (const line of text.split('\n')) {
    const gpu = /^GPU \d+:.*\(UUID: (GPU-[^)]+)\)/.exec(line)?.[1];
    if (gpu) {
      slices = [];
      out.set(gpu, slices);
    }
    const slice = /^\s+MIG .*\(UUID: (MIG-[^)]+)\)/.exec(line)?.[1];
    if (slice) slices.push(slice);
  }
  return out;
}

function gpusOf(row: Row, slices: ReadonlyMap<string, string[]>): Gpu[] {
  const number = (text: string | undefined): number | null =>
    text !== undefined && Number.isFinite(Number(text)) ? Number(text) : null;
  const gpu: Gpu = {
    index: number(row.index) ?? 0,
    name: row.name ?? 'NVIDIA GPU',
    uuid: row.uuid ?? null,
    cc: /^\d+\.\d+$/.test(row.compute_cap ?? '') ? (row.compute_cap as string) : null,
    memoryMiB: number(row['memory.total']),
  };
  const parts = (gpu.uuid && slices.get(gpu.uuid)) || [];
  if (row['mig.mode.current'] !== 'Enabled' || parts.length === 0) return [gpu];
  return parts.map((uuid) => ({ ...gpu, uuid, name: `${gpu.name} (MIG slice)`, memoryMiB: null }));
}

/** /proc/driver/nvidia/version: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  …". */
export function parseProcVersion(text: string): string | null {
  return /^NVRM version:.*?\s(\d{3,}\.\d+(?:\.\d+)?)\s/m.exec(text)?.[1] ?? null;
}

/** The "CUDA Version: 13.0" of nvidia-smi's head line is what the driver supports, not a toolkit. */
export function parseDriverSupports(text: string): string | null {
  return /CUDA Version\s*:\s*(\d+\.\d+)/i.exec(text)?.[1] ?? null;
}

function noSmi(machine: Machine, driverThere: boolean): NonNullable<GpuState['fault']> {
  if (driverThere)
    return {
      message: 'An NVIDIA driver is loaded but nvidia-smi was not found.',
      remedy:
        'In a container, start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility; else install the nvidia-utils package of your driver.',
    };
  const where =
    machine.platform === 'darwin'
      ? 'macOS has no CUDA driver.'
      : 'No NVIDIA driver was found (no nvidia-smi, no driver in the kernel).';
  return {
    message: where,
    remedy:
      'Without a GPU you can compile, replay recordings and prepare bundles for another machine (--executor bundle). To run here, install the NVIDIA driver.',
  };
}

/** What nvidia-smi's failure means. */
export function smiFault(said: string, wsl: boolean): NonNullable<GpuState['fault']> {
  const line = firstLine(said);
  if (/version mismatch/i.test(said))
    return {
      message: `Driver and driver library differ: ${line}`,
      remedy: 'The driver was updated while loaded: reboot, or unload and reload its kernel modules.',
    };
  if (/couldn't communicate with the NVIDIA driver|Driver Not Loaded/i.test(said))
    return {
      message: `The NVIDIA driver is not running: ${line}`,
      remedy: wsl
        ? 'Install the NVIDIA driver in Windows (not in WSL) and restart WSL with `wsl --shutdown`.'
        : 'Load it with `sudo modprobe nvidia`; after a kernel update rebuild it (DKMS); with Secure Boot, sign it.',
    };
  if (/Insufficient Permissions|permission denied/i.test(said))
    return {
      message: `The GPU may not be used by this account: ${line}`,
      remedy: 'Add the account to the group that owns /dev/nvidia* (often video or render).',
    };
  if (/GPU is lost|Unable to determine the device handle/i.test(said))
    return {
      message: `A GPU has dropped off the bus: ${line}`,
      remedy: 'Reboot the machine; if it happens again, check power, cooling and the slot (dmesg, Xid 79).',
    };
  return { message: `nvidia-smi failed: ${line}`, remedy: 'Run nvidia-smi in a terminal and mend what it reports.' };
}

/** Which GPU the user means: the pinned UUID or its beginning, else CUDA_VISIBLE_DEVICES, else all in order. */
export function visibleGpus(machine: Machine, gpus: readonly Gpu[], pin?: string): readonly Gpu[] {
  if (pin) return gpus.filter((gpu) => gpu.uuid?.startsWith(pin) || String(gpu.index) === pin);
  const visible = machine.env.CUDA_VISIBLE_DEVICES;
  if (visible === undefined) return gpus;
  const out: Gpu[] = [];
  for (const word of pathFolders({ ...machine, platform: 'linux' }, visible.replaceAll(',', ':')).map((text) =>
    text.trim(),
  )) {
    const gpu = gpus.find((g) => String(g.index) === word || (word.length > 4 && g.uuid?.startsWith(word)));
    if (!gpu) break; // CUDA too ends the list at the first invalid entry
    out.push(gpu);
  }
  return out;
}
