import {
  type ConfirmedFigures,
  confirmedFigures,
  type Dtype,
  type Estimate,
  type Evaluation,
  firstSampleOnly,
  type ProfileMode,
  type SizeSet,
  sameMachine,
  sanitizedFact,
  sanitizedOf,
  sanitizedText,
  sizeText,
  type TimeResult,
} from '../contract/index.ts';
import type { LoadedTask } from '../evaluate/task/index.ts';
import { versionArgs } from './build-script.ts';
import { code, estimate, number, paragraph, ratio, table, time } from './markdown.ts';

/** What the raw job result says beyond the evaluation. */
export type Measured = Pick<TimeResult, 'timerStepNs' | 'peaks' | 'clocks'> & {
  /** ISO time at which the job began where it ran. */
  readonly startedAt: string;
};

export interface ReportInput {
  readonly task: LoadedTask;
  readonly dtype: Dtype;
  readonly run: string;
  /** "origin" or "r1.a0". */
  readonly position: string;
  readonly kind: string;
  /** ISO time of the run's beginning. */
  readonly at: string;
  readonly programVersion: string;
  readonly sizeSet: SizeSet;
  readonly profileMode: ProfileMode;
  /** The Planner's or user's scheme; empty for the origin. */
  readonly scheme: string;
  readonly compileArgs: readonly string[];
  /** Of this version; null: it was never evaluated. For the origin: the baseline. */
  readonly evaluation: Evaluation | null;
  /** Of the origin of the same run; null: none. */
  readonly baseline: Evaluation | null;
  readonly measured: Measured | null;
  /** task.json differs from the one that the run measured. */
  readonly taskChanged: boolean;
}

function figuresSection(input: ReportInput): string[] {
  const figures = confirmedFigures(input.evaluation);
  if (figures === null) return ['## Figures', '', 'None: see "Not measured".'];
  const isOrigin = input.position === 'origin';
  const sanitized = input.evaluation && sanitizedOf(input.evaluation);
  const total = figures.sizes.reduce((sum, s) => sum + s.weight, 0);
  const head = isOrigin
    ? ['size', 'weight', 'origin, GPU span', 'origin, wrapper', 'floor']
    : [
        'size',
        'weight',
        'origin, GPU span',
        'optimized, GPU span',
        'speed-up',
        'origin, wrapper',
        'optimized, wrapper',
        'floor',
      ];
  const rows = figures.sizes.map((s) => {
    const weight = total > 0 ? `${((100 * s.weight) / total).toFixed(1)} %` : 'unknown';
    const floor = s.floorNs === null ? 'unknown' : time(s.floorNs);
    if (isOrigin) return [sizeText(s.dims), weight, estimate(s.originSpanNs), estimate(s.originWrapperNs), floor];
    return [
      sizeText(s.dims),
      weight,
      estimate(s.originSpanNs),
      estimate(s.candidateSpanNs),
      ratio(s.speedup),
      estimate(s.originWrapperNs),
      estimate(s.candidateWrapperNs),
      floor,
    ];
  });
  const lines = ['## Figures', '', ...table(head, rows), ''];
  if (!isOrigin)
    lines.push(
      ...table(
        ['score P', ...(sanitized ? ['sanitized'] : []), 'P_min', 'geometric mean', 'against the best so far (R)'],
        [
          [
            ratio(figures.score),
            ...(sanitized ? [sanitizedFact(sanitized)] : []),
            number(figures.pMin, '×'),
            number(figures.geomean, '×'),
            ratio(figures.ratio),
          ],
        ],
      ),
      '',
      'P is the mean of the speed-ups over the origin, weighted as the table says; P_min is the speed-up of the worst size.',
    );
  return lines;
}

const levelOf = (figures: ConfirmedFigures): string => {
  const any = figures.sizes
    .flatMap((s): (Estimate | null)[] => [s.originSpanNs, s.candidateSpanNs])
    .find((e) => e !== null);
  return any ? `${Number((any.level * 100).toFixed(2))} %` : 'unknown';
};

function methodSection(input: ReportInput): string[] {
  const figures = confirmedFigures(input.evaluation);
  if (figures === null) return [];
  const step = input.measured?.timerStepNs;
  return [
    '',
    '## How it was measured',
    '',
    `- ${figures.phase === 'baseline' ? 'Origin alone' : 'A confirming measurement in fresh processes with new seeds'}: ${figures.processes} processes, ${figures.calls} timed calls, ${figures.voided} voided.`,
    '- GPU span: first start to last end of all kernels, copies and sets of one call as CUPTI records them, with the launches queued before the first begins. Wrapper: what a caller waits.',
    '- Before every call: new inputs, poisoned outputs, L2 emptied by reading. Versions take turns in the same process, at the same addresses, in an order drawn for each block.',
    `- Brackets: ${levelOf(figures)} intervals, processes and blocks resampled${step === undefined ? '' : `; the timer's step is ${step} ns`}. Intervals that overlap do not tell two times apart.`,
    `- Sizes: the set "${input.sizeSet}". The test program beside this report uses the published sizes and those of the verification.`,
  ];
}

function errorSection(e: Evaluation | null): string[] {
  const lines = ['', '## Correctness', ''];
  if (e === null) return [...lines, 'Not verified.'];
  lines.push(`Verified: ${e.verified ? 'yes' : 'no'}. Outcome: ${e.outcome}. ${paragraph(e.reason)}`);
  if (e.error)
    lines.push(
      '',
      ...table(
        ['largest error', 'RMS error', 'worst, of the limit', 'at'],
        [
          [
            number(e.error.maxUlp, ' ulp'),
            number(e.error.rmsUlp, ' ulp'),
            e.error.worstOfLimit === null ? 'not available' : `${(100 * e.error.worstOfLimit).toPrecision(3)} %`,
            e.error.problem ?? 'unknown',
          ],
        ],
      ),
    );
  if (e.numerics && e.numerics.length > 0)
    lines.push(
      '',
      ...table(
        ['size', 'input', 'largest error', 'RMS error', "origin's largest", "origin's RMS"],
        e.numerics.map((n) => [
          n.size,
          n.kind,
          number(n.candidate?.maxUlp ?? null, ' ulp'),
          number(n.candidate?.rmsUlp ?? null, ' ulp'),
          number(n.origin?.maxUlp ?? null, ' ulp'),
          number(n.origin?.rmsUlp ?? null, ' ulp'),
        ]),
      ),
    );
  return lines;
}

function bottleneckText(e: Evaluation | null): string {
  const v = e?.profile?.verdict;
  if (!v) return 'not available';
  const name = v.bottleneck === null ? 'no verdict' : `${v.bottleneck} bound`;
  return `${name}${v.launchBound ? ', launch bound' : ''}`;
}

function bottleneckSection(input: ReportInput): string[] {
  const { evaluation, position } = input;
  const baseline = sameMachine(input.baseline, evaluation) ? input.baseline : null;
  const sides =
    position === 'origin'
      ? [['origin', evaluation] as const]
      : [['before (origin)', baseline] as const, ['after', evaluation] as const];
  const ids = new Map<string, string>();
  for (const [, e] of sides) for (const m of e?.profile?.filtered ?? []) ids.set(m.id, m.label);
  const value = (e: Evaluation | null, id: string): string => {
    const found = e?.profile?.filtered.find((m) => m.id === id)?.value;
    if (found === undefined) return 'not collected';
    return found.available ? `${Number(found.value.toPrecision(4))} ${found.unit}`.trim() : 'not available';
  };
  const rows = [
    ['bottleneck', ...sides.map(([, e]) => bottleneckText(e))],
    ...[...ids].map(([id, label]) => [label, ...sides.map(([, e]) => value(e, id))]),
  ];
  return ['', '## Bottleneck', '', ...table(['', ...sides.map(([name]) => name)], rows)];
}

const range = (values: readonly number[] | undefined, unit: string): string => {
  if (values === undefined || values.length === 0) return 'unknown';
  const [lo, hi] = [Math.min(...values), Math.max(...values)];
  return lo === hi ? `${lo} ${unit}` : `${lo} to ${hi} ${unit}`;
};

function environmentSection(input: ReportInput): string[] {
  const { evaluation, measured } = input;
  const machine = evaluation?.machine ?? null;
  const gpu = evaluation?.gpu ?? null;
  const b = evaluation?.build ?? null;
  const known = (text: string | null | undefined): string => text ?? 'unknown';
  const rows = [
    ['GPU', known(gpu?.name ?? machine?.gpu?.name)],
    ['compute capability', known(gpu?.cc ?? machine?.gpu?.cc)],
    ['driver', known(machine?.driver)],
    ['CUDA toolkit', known(machine?.toolkit)],
    ['nvcc', known(machine?.nvcc)],
    ['host compiler', known(machine?.hostCompiler)],
    ['ncu', known(machine?.ncu)],
    ['containment', known(machine?.containment)],
    ['SM clock while timing', range(measured?.clocks?.smMHz, 'MHz')],
    ['memory clock while timing', range(measured?.clocks?.memMHz, 'MHz')],
    ['registers of the heaviest kernel', number(b?.registers ?? null, '')],
    ['spilled', number(b?.spillBytes ?? null, ' bytes')],
    ['static shared memory', number(b?.sharedBytes ?? null, ' bytes')],
  ];
  if (measured?.peaks)
    rows.push(
      ['measured read bandwidth', `${(measured.peaks.readBytesPerS / 1e9).toFixed(0)} GB/s`],
      ['measured write bandwidth', `${(measured.peaks.writeBytesPerS / 1e9).toFixed(0)} GB/s`],
      ['measured fp32 rate', `${(measured.peaks.fp32FlopsPerS / 1e12).toFixed(1)} TFLOP/s`],
    );
  return ['', '## Environment', '', ...table(['', ''], rows)];
}

/** Everything that a reader might look for and not find, with the reason. */
function missing(input: ReportInput): string[] {
  const { evaluation: e, baseline, position } = input;
  if (e === null) return ['Everything: this version was not evaluated.'];
  const list: string[] = [];
  if (e.figures === null)
    list.push(`Times: ${paragraph(e.reason) || `the evaluation ended with "${e.outcome}" before`}`);
  else if (firstSampleOnly(e))
    list.push(
      'Confirmed times: the first sample gave no reason for a confirming measurement, and first samples are not reported.',
    );
  if (!e.verified) list.push('Correctness: the verification was not passed or not finished.');
  if (e.numerics === undefined || e.numerics === null)
    list.push('Errors by size and kind of input: not kept by the program version that measured this.');
  const sanitized = sanitizedOf(e);
  if (sanitized !== null && sanitized.state !== 'yes')
    list.push(`Memory and races: ${paragraph(sanitizedText(sanitized))}`);
  if (e.profile === null)
    list.push(`Profile: ${input.profileMode === 'none' ? 'the run was made without' : 'none was taken'}.`);
  else if (e.profile.status !== 'complete')
    list.push(`Profile: ${e.profile.status}, ${paragraph(e.profile.reason ?? 'reason unknown')}`);
  if (e.profile?.remark !== undefined) list.push(`Profile: ${paragraph(e.profile.remark)}.`);
  for (const m of e.profile?.filtered ?? [])
    if (!m.value.available) list.push(`${m.label}: ${paragraph(m.value.reason)}`);
  if (position !== 'origin' && baseline === null)
    list.push('Bottleneck before: this run did not profile the origin by itself.');
  if (!sameMachine(baseline, e))
    list.push('Bottleneck before: the origin was measured again since, on another machine than this version.');
  if (!input.measured?.clocks) list.push('Clocks: not recorded.');
  if (e.machine === null) list.push('Environment: not recorded.');
  if (input.sizeSet === 'published') list.push('Large sizes: this run timed the published ones.');
  return list;
}

/** Which run it is of, and when and by what it was measured. */
function originLines({ programVersion, run, kind, at, measured }: ReportInput): string[] {
  const replayed = kind === 'replay' || kind === 'demo';
  const when = measured ? `The measuring job began ${measured.startedAt}.` : 'When it was measured is not known.';
  const first = replayed
    ? `Run ${run} of ${at} replays a recording made with CUDAMaster ${programVersion}: the figures are the recorded ones.`
    : `Measured by CUDAMaster ${programVersion}, run ${run} (${kind}) of ${at}.`;
  return [`${first} ${when}`];
}

/** `report.md`: what was measured, how, where, and what was not. Holds no host name, no path, no key. Pure. */
export function reportText(input: ReportInput): string {
  const { task, dtype, position, evaluation } = input;
  const what = position === 'origin' ? 'origin' : `version ${position}`;
  const flags = versionArgs(position === 'origin' ? [] : input.compileArgs);
  const lines = [
    `# ${paragraph(task.task.title)} (${task.task.id}, ${dtype}): ${what}`,
    '',
    ...originLines(input),
    ...(input.scheme === '' ? [] : ['', `Scheme: ${paragraph(input.scheme)}`]),
    ...(input.taskChanged
      ? [
          '',
          'The task has changed since this run: task.json, sizes and limits beside this report are the present ones, the figures are not.',
        ]
      : []),
    '',
    ...figuresSection(input),
    ...methodSection(input),
    ...errorSection(evaluation),
    ...bottleneckSection(input),
    ...environmentSection(input),
    '',
    '## Compile arguments',
    '',
    code(`nvcc -arch=sm_NN ${flags.join(' ')}`),
    '',
    '## Not measured',
    '',
    ...missing(input).map((l) => `- ${l}`),
    '',
    '## Building and testing it',
    '',
    code('sh build.sh          # or: sh build.sh sm_90\n./test'),
    '',
    '`./test` compares every output with a reference in double precision, within the limits of task.json, on ragged and published sizes, and ends with PASS or FAIL (exit code 0 or 1; 2: it could not run). The times it prints come from events with warm caches and are an indication only. `./test --self-test` checks the comparison itself without a GPU. `sha256sum -c SHA256SUMS` checks the files.',
    '',
  ];
  return `${lines.join('\n').replaceAll(/\n{3,}/g, '\n\n')}`;
}
