import {
  type Dtype,
  type Evaluation,
  type GpuInfo,
  type MetricValue,
  type Profile,
  type ProfileMode,
  sizeText,
  type Task,
} from '../contract/index.ts';

/** What the agents are told of the task: made once per run from task.json. */
export interface TaskBrief {
  readonly title: string;
  readonly text: string;
  readonly dtype: Dtype;
  /** Name of the wrapper that a candidate must define. */
  readonly wrapper: string;
  /** Its declaration, `extern "C" void name_optimized(…)`. */
  readonly signature: string;
  readonly persist: string;
  readonly weighting: string;
  readonly includes: readonly string[];
  readonly libraries: readonly string[];
}

const storage = (elem: 'T' | 'float' | 'bf16' | 'int', dtype: Dtype): string => {
  if (elem === 'int') return 'int';
  if (elem === 'bf16' || (elem === 'T' && dtype === 'bf16')) return '__nv_bfloat16';
  return 'float';
};

/** C declaration of the candidate's wrapper. */
export function signatureOf(task: Task, dtype: Dtype): { name: string; declaration: string } {
  const name = `${task.wrapper.name[dtype] ?? task.id}_optimized`;
  const params = task.wrapper.params.map((p) => {
    if (p.role === 'scalar') return `${p.ctype === 'T' ? storage('T', dtype) : p.ctype} ${p.name}`;
    return `${p.role === 'in' ? 'const ' : ''}${storage(p.elem, dtype)}* ${p.name}`;
  });
  return { name, declaration: `extern "C" void ${name}(${params.join(', ')})` };
}

export interface BriefOptions {
  /** Exact declaration, where the loader of tasks knows better than the schema (parameter order, qualifiers). */
  readonly signature?: string;
  /** What the screen lets through: main/evaluate/screen/rules.ts. */
  readonly includes: readonly string[];
  readonly libraries?: readonly string[];
}

/**
 * Describes a task for the agents. Pure. How it is checked and timed (deviations, generators, tolerances) stays out: a model that
 * knows the rubric writes for the rubric.
 */
export function briefOf(task: Task, dtype: Dtype, options: BriefOptions): TaskBrief {
  const own = signatureOf(task, dtype);
  const params = task.wrapper.params.map((p) =>
    p.role === 'scalar'
      ? `- \`${p.name}\`: scalar, ${p.value}`
      : `- \`${p.name}\`: ${{ in: 'input', out: 'output', inout: 'input and output' }[p.role]}, ${p.count} x ${storage(p.elem, dtype)}`,
  );
  const text = [
    `${task.title} (${task.category}, ${dtype}).`,
    '',
    task.prompt.trim(),
    '',
    `Dimensions: ${task.dims.join(', ')}. Parameters of the wrapper:`,
    ...params,
  ].join('\n');
  return {
    title: task.title,
    text,
    dtype,
    wrapper: own.name,
    signature: options.signature ?? own.declaration,
    persist: task.persist,
    weighting: `weight of a size = ${task.weight}`,
    includes: options.includes,
    libraries: options.libraries ?? [],
  };
}

const time = (ns: number | undefined): string => {
  if (ns === undefined) return 'not measured';
  return ns >= 1e6 ? `${(ns / 1e6).toPrecision(4)} ms` : `${(ns / 1e3).toPrecision(4)} us`;
};
const ratio = (x: number | undefined): string => (x === undefined ? 'not measured' : `${x.toFixed(3)}x`);

/** Times of a version at every size. `who`: whose column of the evaluation counts as "this version". */
export function figuresText(evaluation: Evaluation, who: 'origin' | 'candidate'): string {
  const figures = evaluation.figures;
  if (figures === null) return 'No times were measured.';
  const total = figures.sizes.reduce((sum, s) => sum + s.weight, 0);
  const rows = figures.sizes.map((s) => {
    const own = who === 'origin' ? s.originSpanNs : s.candidateSpanNs;
    const share = total > 0 ? `${((100 * s.weight) / total).toPrecision(3)} %` : 'unknown';
    const speedup = who === 'origin' ? '1 (this is the original)' : ratio(s.speedup?.value);
    return `| ${sizeText(s.dims)} | ${share} | ${time(s.originSpanNs?.value)} | ${time(own?.value)} | ${speedup} | ${time(s.floorNs ?? undefined)} |`;
  });
  const score =
    who === 'candidate' && figures.score !== null
      ? `Weighted speed-up over the original: ${ratio(figures.score.value)} (${(figures.score.level * 100).toFixed(0)} % interval ${ratio(figures.score.lo)} to ${ratio(figures.score.hi)}).`
      : 'This is the original version: speed-up 1.';
  return [
    score,
    '',
    '| size | weight | original | this version | speed-up | physical floor |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** Registers, spills and shared memory as the compiler reported them. */
export function buildText(evaluation: Evaluation): string {
  const b = evaluation.build;
  if (b === null) return '';
  const say = (v: number | null, unit: string) => (v === null ? 'unknown' : `${v}${unit}`);
  return `Compiler: ${say(b.registers, ' registers per thread')}, spills ${say(b.spillBytes, ' bytes')}, static shared memory ${say(b.sharedBytes, ' bytes')}.`;
}

/** Launches listed; a wrapper may have hundreds, and the ones with most time come first in what is kept. */
const LISTED = 12;
/** Source lines shown, hottest first. */
const HOT_LINES = 5;

const valueText = (value: MetricValue): string =>
  value.available ? `${Number(value.value.toPrecision(6))} ${value.unit}`.trim() : `not available (${value.reason})`;

/** The profile as the Planner sees it. Missing metrics stay "not available", with the reason. */
export function profileText(profile: Profile | null, mode: ProfileMode): string {
  if (mode === 'none') return 'This run works without a profile: reason from the source and the times.';
  if (profile === null) return 'No profile was taken. Reason from the source and the times.';
  const lines: string[] = [];
  if (profile.status !== 'complete')
    lines.push(`The profile is ${profile.status}: ${profile.reason ?? 'reason unknown'}.`);
  if (profile.replay === 'application')
    lines.push('The counters come from several runs of the program, one for each pass: small differences say little.');
  const v = profile.verdict;
  if (v !== null) {
    const what = v.bottleneck === null ? 'not decided' : `${v.bottleneck} bound`;
    lines.push(`Bottleneck: ${what}${v.launchBound ? ', launch bound (grid below one wave)' : ''}. ${v.why}`);
  }
  lines.push(...launchLines(profile));
  // In `full` mode the profile carries every metric of Table 2 here, in `filtered` those of its bottleneck.
  for (const m of profile.filtered) lines.push(`- ${m.label}: ${valueText(m.value)}. ${m.meaning}`);
  lines.push(...rooflineLines(profile), ...findingLines(profile), ...hotLines(profile));
  if (mode === 'full') lines.push(...metricLines(profile));
  return lines.join('\n');
}

function launchLines({ launches, launchCount, verdict }: Profile): string[] {
  const hot = launches.filter((l) => l.index === verdict?.launch);
  const shown = launches.length <= LISTED ? launches : [...hot, ...launches.filter((l) => !hot.includes(l))];
  const lines = shown
    .slice(0, LISTED)
    .map(
      (l) =>
        `Launch ${l.index}: ${l.kernel}, grid ${l.grid.join('x')}, block ${l.block.join('x')}${l.index === verdict?.launch ? ' (most time)' : ''}`,
    );
  const more = (launchCount ?? launches.length) - lines.length;
  return more > 0 ? [...lines, `(and ${more} more launches)`] : lines;
}

/** Where the launch stands under the measured roofs; pipes without a measured peak are left out. */
const rooflineLines = ({ roofline }: Profile): string[] =>
  (roofline?.points ?? []).flatMap(({ label, intensity, ofCeiling, under }) =>
    intensity.available && ofCeiling.available && under !== null
      ? [
          `- Roofline: ${label} at ${Number(intensity.value.toPrecision(3))} flop/byte reaches ${ofCeiling.value.toFixed(1)} % of the measured ${under === 'bandwidth' ? 'memory bandwidth' : 'arithmetic'} roof.`,
        ]
      : [],
  );

function findingLines({ findings = [] }: Profile): string[] {
  const found = findings.filter(({ state }) => state === 'found');
  if (found.length === 0) return [];
  return ['Found by rules on the counters:', ...found.map(({ label, sentence }) => `- ${label}: ${sentence}`)];
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** The hottest source lines with what they mostly wait for; each kind of waiting is explained once. */
function hotLines({ heatmap }: Profile): string[] {
  const map = heatmap?.lines;
  if (map === undefined || !map.available) return [];
  const rows = map.rows.slice(0, HOT_LINES);
  const told = new Map<string, string>();
  const lines = rows.map(({ line, text, share, plusMinus, dominant }) => {
    if (dominant !== null) told.set(dominant.label, dominant.meaning);
    const waits = dominant === null ? '' : `, mostly ${dominant.label} (${percent(dominant.share)})`;
    return `- line ${line}: ${percent(share)} ± ${percent(plusMinus)}${waits}: \`${code(text)}\``;
  });
  return [
    `Hottest source lines, by ${map.total} samples of where warps stood:`,
    ...lines,
    ...[...told].map(([label, meaning]) => `- ${label} means: ${meaning}`),
  ];
}

/** One line of code: no line breaks or control characters, no end of a code span. */
const code = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ')
    .replaceAll('`', "'")
    .trim()
    .slice(0, 160);

/** Everything ncu gave of the launch with most time, by metric id. */
function metricLines({ launches, verdict, filtered }: Profile): string[] {
  const launch = launches.find((l) => l.index === verdict?.launch) ?? launches[0];
  if (launch === undefined) return [];
  const said = new Set(filtered.map(({ id }) => id));
  const rest = Object.entries(launch.metrics).filter(([id, value]) => value.available && !said.has(id));
  return [`All other metrics of launch ${launch.index}:`, ...rest.map(([id, value]) => `${id} ${valueText(value)}`)];
}

/** Numbers of the GPU for prompts; null when no GPU has been seen yet. */
export type GpuFacts = Pick<
  GpuInfo,
  | 'name'
  | 'cc'
  | 'sms'
  | 'l2Bytes'
  | 'memoryBytes'
  | 'smClockMHz'
  | 'memClockMHz'
  | 'maxThreadsPerSm'
  | 'regsPerSm'
  | 'sharedPerSm'
  | 'sharedPerBlockOptin'
>;
export interface Peaks {
  readonly readBytesPerS: number;
  readonly writeBytesPerS: number;
  readonly fp32FlopsPerS: number;
}
