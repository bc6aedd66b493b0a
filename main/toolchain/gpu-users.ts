import { findSmi } from './gpu.ts';
import type { Machine } from './machine.ts';

/** A program that computes on a GPU. */
export interface GpuUser {
  readonly pid: number;
  /** As the driver names it: a path, or "[Not Found]" for a process that cannot be seen from here. */
  readonly name: string;
}

/**
 * Programs that have a compute context on a GPU, as the driver lists them. null: nobody can say, as where there is no nvidia-smi or it
 * fails; on Windows, whose driver lists the whole desktop; for a MIG slice, since the list names whole GPUs. Throws AppFailure `cancelled`.
 */
export async function gpuUsers(machine: Machine, uuid: string): Promise<GpuUser[] | null> {
  if (machine.platform === 'win32' || uuid.startsWith('MIG-')) return null;
  const smi = await findSmi(machine);
  if (smi === null) return null;
  const fields = '--query-compute-apps=pid,gpu_uuid,process_name';
  const answer = await machine.run([smi, fields, '--format=csv,noheader']);
  return answer.exitCode === 0 ? parseUsers(answer.stdout, uuid) : null;
}

/** Lines "PID, GPU-…, NAME"; a name may hold commas. What is no such line is no program. */
export function parseUsers(text: string, uuid: string): GpuUser[] {
  return text.split('\n').flatMap((line) => {
    const found = /^\s*(\d{1,10})\s*,\s*([^,\s]+)\s*,\s*(.*\S)\s*$/.exec(line);
    return found?.[2] === uuid ? [{ pid: Number(found[1]), name: found[3] as string }] : [];
  });
}
