import data from './architectures.json' with { type: 'json' };

export interface Capability {
  readonly cc: string;
  readonly name: string;
  readonly blocksPerSm: number;
  readonly warpsPerSm: number;
  readonly registersPerThread: number;
  /** Results of one fused multiply-add per clock cycle and SM; null = not stated by the source. */
  readonly fp32PerClock: number | null;
  readonly fp64PerClock: number | null;
}

/** Instructions that come and go together. `since`: first compute capability whose plain target (sm_90, not sm_90a) has them. */
export interface InstructionFamily {
  readonly id: string;
  readonly since: string | null;
  readonly told: string;
}

export const capabilities: readonly Capability[] = data.capabilities;
export const instructionFamilies: readonly InstructionFamily[] = data.families;

/** "9.0" and "sm_90", "sm_90a" → 9.0 as a number that can be compared (major * 10 + minor); null = neither. */
function versionOf(text: string): number | null {
  const dotted = /^(\d+)\.(\d)$/.exec(text);
  if (dotted) return Number(dotted[1]) * 10 + Number(dotted[2]);
  const arch = /^sm_(\d+)(\d)[af]?$/.exec(text);
  return arch ? Number(arch[1]) * 10 + Number(arch[2]) : null;
}

/** Whether the plain target of a compute capability has a family; null = not known (a capability that the table lacks). */
export function hasFamily(cc: string, family: InstructionFamily): boolean | null {
  const version = versionOf(cc);
  if (version === null || !capabilities.some((c) => versionOf(c.cc) === version)) return null;
  return family.since !== null && version >= (versionOf(family.since) as number);
}

/**
 * What a GPU's compute capability ("9.0" or "sm_90") allows, in words for a prompt: limits that its driver does not tell, instructions
 * it has, instructions it lacks. A capability that is not in the table is said to be unknown, nothing is guessed.
 */
export function architectureText(cc: string): {
  readonly limits: string;
  readonly has: string;
  readonly lacks: string;
} {
  const version = versionOf(cc);
  const known = capabilities.find((c) => versionOf(c.cc) === version);
  if (known === undefined)
    return { limits: '', has: '', lacks: `Nothing more is known here about compute capability ${cc}.` };
  const rates = [
    known.fp32PerClock === null ? '' : `${known.fp32PerClock} fp32`,
    known.fp64PerClock === null ? '' : `${known.fp64PerClock} fp64`,
  ].filter((r) => r !== '');
  const list = (wanted: boolean): string =>
    instructionFamilies
      .filter((family) => hasFamily(cc, family) === wanted)
      .map((family) => family.told)
      .join('; ');
  return {
    limits: `${known.name}: at most ${known.blocksPerSm} blocks and ${known.warpsPerSm} warps at a time per SM, 1024 threads per block, ${known.registersPerThread} registers per thread${rates.length === 0 ? '' : `; multiply-adds per clock and SM: ${rates.join(', ')}`}.`,
    has: `Available here: independent thread scheduling (use the _sync forms of warp operations); ${list(true)}.`,
    lacks: `Not available here: ${list(false)}.`,
  };
}
