import { ok, type Result } from '../contract/index.ts';
import { architectureText } from './architecture.ts';
import type { GpuFacts, Peaks, TaskBrief } from './describe.ts';
import type { PromptSet } from './prompts.ts';
import { fillText } from './template.ts';

/** The parts of a prompt that every agent of a run shares. */
export interface Shared {
  readonly task: string;
  readonly gpu: string;
  readonly rules: string;
  readonly precision: string;
  readonly timing: string;
  /** The user's notes and constraints, as a section of its own; '' = none. */
  readonly notes: string;
}

const kib = (bytes: number): string => (bytes / 1024).toFixed(0);

function gpuText(prompts: PromptSet, gpu: GpuFacts | null, peaks: Peaks | null, arch: string): Result<string> {
  const known = architectureText(gpu?.cc ?? arch);
  if (gpu === null) {
    const lines = arch.startsWith('sm_') ? [known.limits, known.has, known.lacks].filter((line) => line !== '') : [];
    return ok([`Not known yet; the code is compiled for ${arch}.`, ...lines].join('\n'));
  }
  const rate = (x: number) => `${(x / 1e9).toFixed(0)} GB/s`;
  return fillText('knowledge/gpu', prompts.knowledge.gpu, {
    name: gpu.name,
    cc: gpu.cc,
    arch,
    sms: String(gpu.sms),
    maxThreadsPerSm: String(gpu.maxThreadsPerSm),
    regsPerSm: String(gpu.regsPerSm),
    sharedPerSm: kib(gpu.sharedPerSm),
    sharedPerBlockOptin: kib(gpu.sharedPerBlockOptin),
    l2: (gpu.l2Bytes / 2 ** 20).toFixed(0),
    memory: (gpu.memoryBytes / 2 ** 30).toFixed(0),
    smClock: gpu.smClockMHz.toFixed(0),
    memClock: gpu.memClockMHz.toFixed(0),
    peaks:
      peaks === null
        ? ''
        : `Measured here: DRAM read ${rate(peaks.readBytesPerS)}, write ${rate(peaks.writeBytesPerS)}, fp32 ${(peaks.fp32FlopsPerS / 1e12).toFixed(1)} TFLOP/s.`,
    limits: known.limits,
    features: known.has,
    lacks: known.lacks,
  });
}

/** Fills the knowledge pieces for one task, GPU and architecture. */
export function sharedParts(
  prompts: PromptSet,
  brief: TaskBrief,
  gpu: GpuFacts | null,
  peaks: Peaks | null,
  arch: string,
  notes = '',
): Result<Shared> {
  const gpuPart = gpuText(prompts, gpu, peaks, arch);
  if (!gpuPart.ok) return gpuPart;
  const rules = fillText('knowledge/rules', prompts.knowledge.rules, {
    signature: brief.signature,
    persist: brief.persist,
    includes: brief.includes.join(', '),
    libraries: brief.libraries.length === 0 ? 'none; write the kernels yourself.' : brief.libraries.join(', '),
  });
  if (!rules.ok) return rules;
  const name = `precision-${brief.dtype}` as const;
  const precision = fillText(`knowledge/${name}`, prompts.knowledge[name], {});
  if (!precision.ok) return precision;
  const timing = fillText('knowledge/timing', prompts.knowledge.timing, { weighting: brief.weighting });
  if (!timing.ok) return timing;
  return ok({
    task: brief.text,
    gpu: gpuPart.value,
    rules: rules.value,
    precision: precision.value,
    timing: timing.value,
    notes: notes.trim() === '' ? '' : `# The user's notes and constraints\n\n${notes.trim()}`,
  });
}
