import { type Command, Option } from 'commander';
import type { CalibrateAnswer } from '../app/index.ts';
import { bottlenecks, dtypes, exitCodeOf, throughputs } from '../contract/index.ts';
import { answer, contextOf, type Session } from './answers.ts';
import { table } from './output.ts';

/** `cudamaster calibrate`. */
export function calibrateCommand(program: Command, open: () => Session, finish: (code: number) => void): void {
  program
    .command('calibrate')
    .description(
      'propose this GPU’s thresholds of the bottleneck rule from one launch per task at its large size, and keep them',
    )
    .addOption(new Option('--dtype <type>', 'data type').choices([...dtypes]).default('fp32'))
    .addOption(
      new Option('--executor <where>', 'profile here, or write bundles for `cudamaster worker` elsewhere')
        .choices(['local', 'bundle'])
        .default('local'),
    )
    .option('--arch <arch>', 'native, or sm_NN', 'native')
    .option('--from <bench>', 'use the profile pass of a bench, run nothing')
    .option('--resume <bench>', 'go on with a calibration that waits for its bundles')
    .option('--results <dir>', 'take results in from copies that `cudamaster worker --results` wrote')
    .option('--out <dir>', 'folder of the profile pass; default: one in the data folder')
    .option('--html <file>', 'write the page with histograms there as well')
    .action(async (o) => {
      const s = open();
      const result = await s.host.services.calibrate(o, contextOf(s));
      finish(
        answer(
          s,
          result,
          (v) => v,
          calibrationLines,
          (v) => (v.calibration === null || v.incomplete !== null ? exitCodeOf('parked') : 0),
        ),
      );
    });
}

function calibrationLines({ calibration, bench, incomplete, files }: CalibrateAnswer): string[] {
  if (calibration === null)
    return [
      `Calibration waits: ${bench?.done ?? 0} of ${bench?.cells ?? 0} tasks are profiled.`,
      ...(bench?.how ? [bench.how.replace(/cudamaster bench resume/g, 'cudamaster calibrate --resume')] : []),
    ];
  const { gpu, pooled, driver, tasks, proposals, verdicts } = calibration;
  const rows = throughputs.map((key) => {
    const { label, n, cut, used, adopted } = proposals[key];
    const interval = cut.available && cut.interval.available ? cut.interval : null;
    return [
      label,
      String(n),
      cut.available ? `${cut.threshold.toFixed(1)} %` : '–',
      cut.available ? cut.eta.toFixed(3) : '–',
      interval ? `${interval.low.toFixed(1)} to ${interval.high.toFixed(1)}` : '–',
      `${used.toFixed(1)} % ${adopted ? '(adopted)' : '(paper)'}`,
    ];
  });
  const classes = [...bottlenecks, 'none' as const].map((name) => [
    name === 'none' ? 'no verdict' : name,
    String(verdicts.before[name]),
    String(verdicts.after[name]),
  ]);
  return [
    ...(incomplete
      ? [
          `${incomplete.there} of ${incomplete.all} tasks of the bench are profiled: nothing is adopted from a part of them, and nothing was kept.`,
          incomplete.how,
          'So far:',
        ]
      : []),
    `${gpu.name} (${pooled ? `${pooled.length} of this model: ${pooled.join(', ')}` : gpu.uuid}), driver ${driver}: ${tasks} tasks`,
    ...table([['throughput', 'values', "Otsu's cut", 'η', '95 % interval', 'in force'], ...rows], [1, 2, 3]),
    ...throughputs.map((key) => `  ${proposals[key].label}: ${proposals[key].why}`),
    '',
    ...table([['class', "paper's 30 %", 'in force'], ...classes], [1, 2]),
    ...files.map((file) => `  ${file}`),
  ];
}
