import type { Gpu } from './gpu.ts';
import { joinOn, type Machine } from './machine.ts';
import type { Toolkit } from './toolkit.ts';

/** The last resort where nvidia-smi is missing or too old to know compute_cap: ask the CUDA runtime itself. */
const source = `#include <cuda_runtime.h>
#include <cstdio>
int main() {
  int count = 0, driver = 0;
  cudaError_t e = cudaGetDeviceCount(&count);
  cudaDriverGetVersion(&driver);
  if (e != cudaSuccess) { std::printf("error %s: %s\\n", cudaGetErrorName(e), cudaGetErrorString(e)); return 1; }
  std::printf("supports %d.%d\\n", driver / 1000, driver % 1000 / 10);
  for (int i = 0; i < count; i++) {
    cudaDeviceProp p;
    e = cudaGetDeviceProperties(&p, i);
    if (e != cudaSuccess) { std::printf("error %s: %s\\n", cudaGetErrorName(e), cudaGetErrorString(e)); return 1; }
    const unsigned char* u = reinterpret_cast<const unsigned char*>(p.uuid.bytes);
    std::printf("gpu %d %d.%d %llu ", i, p.major, p.minor, static_cast<unsigned long long>(p.totalGlobalMem >> 20));
    for (int k = 0; k < 16; k++) std::printf("%s%02x", k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "", u[k]);
    std::printf(" %s\\n", p.name);
  }
  return 0;
}
`;

export interface QueryAnswer {
  readonly gpus: readonly Gpu[];
  readonly driverSupports: string | null;
  /** What went wrong, in the runtime's words. */
  readonly fault: string | null;
}

/** Compiles and runs the query (some seconds). Sees the GPUs that CUDA_VISIBLE_DEVICES allows. */
export async function queryDevices(machine: Machine, toolkit: Toolkit, ccbin: string | null): Promise<QueryAnswer> {
  return machine.withScratch(async (dir) => {
    await machine.write(joinOn(machine, dir, 'query.cu'), source);
    const program = joinOn(machine, dir, machine.platform === 'win32' ? 'query.exe' : 'query');
    const argv = [toolkit.nvcc, ...(ccbin ? ['-ccbin', ccbin] : []), '-o', program, 'query.cu'];
    const built = await machine.run(argv, { cwd: dir, wallMs: 120_000 });
    if (built.exitCode !== 0)
      return { gpus: [], driverSupports: null, fault: 'the device query could not be compiled' };
    // CUDA's own library search needs the variable on systems that keep the driver outside ld.so.conf.
    const library = machine.env.LD_LIBRARY_PATH;
    const env = {
      ...machine.toolEnv,
      CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
      ...(library ? { LD_LIBRARY_PATH: library } : {}),
    };
    const answer = await machine.run([program], { cwd: dir, env, wallMs: 60_000 });
    return parseQueryAnswer(
      answer.stdout || `error ${answer.startError ?? answer.killed ?? `exit ${answer.exitCode}`}`,
    );
  });
}

/** Lines "supports 13.0", "gpu INDEX CC MIB UUID NAME", "error TEXT". */
export function parseQueryAnswer(text: string): QueryAnswer {
  const gpus: Gpu[] = [];
  for (const found of text.matchAll(/^gpu (\d+) (\d+\.\d+) (\d+) ([0-9a-f-]{36}) (.+)$/gm)) {
    const [, index, cc, memory, uuid, name] = found as unknown as [string, string, string, string, string, string];
    gpus.push({ index: Number(index), cc, memoryMiB: Number(memory), uuid: `GPU-${uuid}`, name: name.trim() });
  }
  return {
    gpus,
    driverSupports: /^supports ([1-9]\d*\.\d+)$/m.exec(text)?.[1] ?? null,
    fault: /^error (.+)$/m.exec(text)?.[1] ?? null,
  };
}

/** Fills what nvidia-smi left open; matched by UUID, else by index. */
export function mergeGpus(known: readonly Gpu[], asked: readonly Gpu[]): Gpu[] {
  if (known.length === 0) return [...asked];
  return known.map((gpu) => {
    const same =
      asked.find((other) => other.uuid === gpu.uuid) ??
      asked.find((other) => gpu.uuid === null && other.index === gpu.index);
    return same
      ? { ...gpu, cc: gpu.cc ?? same.cc, uuid: gpu.uuid ?? same.uuid, memoryMiB: gpu.memoryMiB ?? same.memoryMiB }
      : gpu;
  });
}
