import { resultFigures } from '../../../main/contract/confirmed.ts';
import type { Evaluation, MetricLine, MetricValue } from '../../../main/contract/index.ts';
import type { Matrix, MatrixCell } from '../../charts/matrix-chart.tsx';
import { changeStep } from '../../charts/scale.ts';
import { dims as dimsText, level, metric, number, percent, ratio as times } from '../../ui/format.ts';
import { changeText, ratioOf } from './change.ts';
import { describedMetrics, profiled } from './metrics.ts';
import { mainLaunch, type RunVersion } from './versions.ts';

const DURATION = 'gpu__time_duration.sum';
/** Units that are scaled with the value (µs, KiB) stand at each number. */
const SCALED = /^(ns|byte|(byte|flop)\/s(econd)?)$/;
const ENDS = ['half', 'double the first version’s'] as const;

const columnsOf = (shown: readonly RunVersion[], selected: string): Matrix['columns'] =>
  shown.map(({ id, label, isBest }) => ({ id, label: isBest ? `${label} ★` : label, marked: id === selected }));

/**
 * Metrics × versions of a run. Colour: change against the first version shown (the origin); text: the value. Metrics without a single
 * value are left out, as are attributes of the GPU.
 */
export function metricMatrix(
  versions: readonly RunVersion[],
  catalogue: readonly MetricLine[],
  selected: string,
): Matrix {
  const shown = profiled(versions);
  const launches = shown.map(({ evaluation }) => mainLaunch(evaluation?.profile));
  const known = describedMetrics(
    catalogue,
    shown.map(({ evaluation }) => evaluation?.profile ?? null),
  );
  const ids = [...new Set([DURATION, ...known.keys()])].filter(
    (id) => !id.startsWith('device__') && launches.some((launch) => launch?.metrics[id]?.available),
  );
  return {
    ends: ENDS,
    columns: columnsOf(shown, selected),
    rows: ids.map((id) => {
      const first = launches[0]?.metrics[id];
      const unit = launches.flatMap((launch) => valueUnit(launch?.metrics[id]))[0] ?? '';
      return {
        id,
        label: known.get(id)?.label ?? id,
        note: SCALED.test(unit) ? '' : unit,
        cells: launches.map((launch, column) => metricCell(launch?.metrics[id], column === 0 ? undefined : first)),
      };
    }),
  };
}

const valueUnit = (value: MetricValue | undefined): string[] => (value?.available ? [value.unit] : []);

function metricCell(value: MetricValue | undefined, first: MetricValue | undefined): MatrixCell {
  if (!value?.available)
    return { text: '–', step: 0, missing: true, spoken: `not available: ${value?.reason ?? 'not collected'}` };
  const ratio = ratioOf(value, first);
  const change = changeText(ratio);
  // The unit stands at the row; scaled ones (µs, ms) differ from cell to cell and belong to the number.
  const text = metric(value).text;
  return {
    text: value.unit !== '' && text.endsWith(value.unit) ? text.slice(0, -value.unit.length).trim() : text,
    step: changeStep(ratio),
    missing: false,
    spoken: `${text}${change === '' ? '' : `, ${change} against the first`}`,
  };
}

/** Confirmed speed-up over the origin of every version at every size, with its interval. */
export function speedupMatrix(versions: readonly RunVersion[], selected: string): Matrix {
  const shown = versions.filter(({ evaluation }) => confirmed(evaluation).some(({ speedup }) => speedup !== null));
  const sizes = new Map<string, { label: string; weight: number }>();
  let full = 2;
  for (const { evaluation } of shown)
    for (const { problem, dims, weight, speedup } of confirmed(evaluation)) {
      sizes.set(problem, { label: dimsText(dims), weight });
      const value = speedup?.value ?? 1;
      if (value > 0) full = Math.max(full, value, 1 / value);
    }
  const all = [...sizes.values()].reduce((sum, { weight }) => sum + weight, 0);
  return {
    ends: [`1/${number(full, 3)}`, `${number(full, 3)} times as fast as the origin`],
    columns: columnsOf(shown, selected),
    rows: [...sizes].map(([problem, { label, weight }]) => ({
      id: problem,
      label,
      note: `weight ${percent(all === 0 ? null : weight / all)}`,
      cells: shown.map(({ evaluation }) => speedupCell(evaluation, problem, full)),
    })),
  };
}

const confirmed = (evaluation: Evaluation | null) => resultFigures(evaluation)?.sizes ?? [];

function speedupCell(evaluation: Evaluation | null, problem: string, full: number): MatrixCell {
  const speedup = confirmed(evaluation).find((size) => size.problem === problem)?.speedup ?? null;
  if (speedup === null) return { text: '–', step: 0, missing: true, spoken: 'not measured at this size' };
  const { value, lo, hi, level: confidence } = speedup;
  return {
    text: times(value),
    step: changeStep(value, full),
    missing: false,
    spoken: `${number(value)} times as fast, ${level(confidence)} interval ${number(lo)} to ${number(hi)}`,
  };
}
