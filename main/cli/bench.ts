import { type Command, InvalidArgumentError, Option } from 'commander';
import type { BenchAnswer } from '../app/index.ts';
import {
  AppFailure,
  type Dtype,
  dtypes,
  err,
  exitCodeOf,
  type Result,
  type SizeSet,
  sizeSets,
} from '../contract/index.ts';
import { answer, contextOf, type Session } from './answers.ts';
import { compareCommand } from './compare.ts';

type Finish = (code: number) => void;

/** "a,b" and repeated options alike. */
const list = (value: string, before: readonly string[] = []): string[] => [
  ...before,
  ...value
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== ''),
];

const oneOf =
  <T extends string>(known: readonly T[]) =>
  (value: string, before: readonly T[] = []): T[] => {
    const words = list(value);
    const wrong = words.find((word) => !(known as readonly string[]).includes(word));
    if (wrong !== undefined) throw new InvalidArgumentError(`"${wrong}" is none of ${known.join(', ')}.`);
    return [...before, ...(words as T[])];
  };

const sizesOption = (value: string): SizeSet[] => (value === 'both' ? [...sizeSets] : oneOf(sizeSets)(value));

/** `cudamaster bench`, `bench resume`, `bench compare`. */
export function benchCommands(program: Command, open: () => Session, finish: Finish): void {
  const json = ['--json', 'JSON Lines on stdout, the last line is the result'] as const;
  const bench = program
    .command('bench')
    .description('measure the suite: every task in both data types, or what is chosen; the report lies in --out')
    .option('--task <ids>', 'tasks, separated by commas (repeat); default: all', list)
    .option(
      '--category <names>',
      'categories of tasks, as `cudamaster tasks` lists them, separated by commas (repeat); default: all',
      list,
    )
    .option(
      '--dtype <types>',
      `data types, separated by commas: ${dtypes.join(', ')}; default: both`,
      oneOf<Dtype>(dtypes),
    )
    .addOption(
      new Option('--sizes <sets>', 'published, large or both')
        .argParser(sizesOption)
        .default(['published'], 'published'),
    )
    .addOption(
      new Option(
        '--baseline',
        'origins and vendor libraries alone: what is measured unless another is asked for',
      ).conflicts(['fromHistory', 'candidates']),
    )
    .option('--from-history', 'the best accepted version of each task and type, none of the bin, against its origin')
    .option(
      '--candidates <paths>',
      'files TASK.DTYPE.cu or folders of them, separated by commas (repeat), against their origins',
      list,
    )
    .option('--profile', 'profile the largest size of each as well (large, if it is among the sizes)')
    .option('--only-profile', 'profiles and nothing else')
    .option('--no-library', 'leave vendor libraries out')
    .addOption(
      new Option('--executor <where>', 'run jobs here, or write bundles for `cudamaster worker` elsewhere')
        .choices(['local', 'bundle'])
        .default('local'),
    )
    .option('--arch <arch>', 'native, or sm_NN', 'native')
    .option('--out <dir>', 'folder of the bench: state, bundles, report; default: one in the data folder')
    .option('--resume <bench>', 'go on with a bench: same as `bench resume`')
    .option('--results <dir>', 'take results in from copies that `cudamaster worker --results` wrote')
    .action(async (o) => {
      const s = open();
      if (o.resume !== undefined) {
        refuseForeign(bench, ['resume', 'results']);
        finish(
          answerBench(s, await s.host.services.resumeBench({ bench: o.resume, results: o.results }, contextOf(s))),
        );
        return;
      }
      const params = {
        tasks: o.task,
        categories: o.category,
        dtypes: o.dtype,
        sizes: o.sizes,
        profile: o.profile === true || o.onlyProfile === true,
        measure: o.onlyProfile !== true,
        library: o.library,
        executor: o.executor,
        arch: o.arch,
        fromHistory: o.fromHistory === true,
        candidates: o.candidates,
        out: o.out,
        results: o.results,
      };
      finish(answerBench(s, await s.host.services.bench(params, contextOf(s))));
    });
  bench
    .command('resume <bench>')
    .description('go on with a bench ("last", its id or its folder): run or import what is missing, write the report')
    .option('--results <dir>', 'take results in from copies that `cudamaster worker --results` wrote')
    .option(...json)
    .exitOverride()
    .action(async (name, _options, command) => {
      const s = open();
      const { results } = command.optsWithGlobals();
      refuseForeign(bench, ['results']);
      finish(answerBench(s, await s.host.services.resumeBench({ bench: name, results }, contextOf(s))));
    });
  compareCommand(bench, { list, dtypes: oneOf<Dtype>(dtypes), sizes: sizesOption }, open, finish);
}

/** A bench that is gone on with has its tasks, sizes and place: what else was typed would be ignored. */
function refuseForeign(bench: Command, own: readonly string[]): void {
  const typed = bench.options.filter((o) => bench.getOptionValueSource(o.attributeName()) === 'cli');
  const foreign = typed.filter((o) => o.long !== '--json' && !own.includes(o.attributeName()));
  if (foreign.length === 0) return;
  const names = foreign.map((o) => o.long).join(', ');
  throw new AppFailure(
    err('usage', `${names} cannot be given to a bench that is gone on with: it measures what it was begun with.`, {
      remedy: `Leave ${names} out, or begin another bench.`,
    }).error,
  );
}

/** 0 all measured; 75 bundles wait; that of the first cell that could not be run; 3 the machine spoilt some, or nothing can be written. */
function exitOf(stand: BenchAnswer): number {
  if (stand.waiting.length > 0) return exitCodeOf('parked');
  if (stand.readOnly === true && stand.missing.length > 0) return exitCodeOf('env.not-writable');
  const fault = stand.failed[0]?.error;
  if (fault) return exitCodeOf(fault.code);
  return stand.spoilt.length > 0 ? exitCodeOf('env.timing-void') : 0;
}

const answerBench = (session: Session, result: Result<BenchAnswer>): number =>
  answer(session, result, (v) => v, benchLines, exitOf);

function benchLines(stand: BenchAnswer): string[] {
  const open = stand.missing.length;
  const lines = [
    `Bench ${stand.id}: ${stand.done} of ${stand.cells} measured${open > 0 ? `, ${open} ${stand.readOnly === true ? 'have no result' : 'wait for a worker'}` : ''}${stand.failed.length > 0 ? `, ${stand.failed.length} failed` : ''}`,
  ];
  for (const { cell, error } of stand.failed.slice(0, 20)) lines.push(`  ${cell}: ${error.message}`);
  if (stand.failed.length > 20) lines.push(`  and ${stand.failed.length - 20} more`);
  if (open > 0 && stand.done > 0) lines.push(`  missing: ${few(stand.missing)}`);
  if (stand.outdated.length > 0)
    lines.push(
      `  ${stand.outdated.length} have a result from before the task or the harness changed; the report names them`,
    );
  if (stand.spoilt.length > 0)
    lines.push(
      `  ${stand.spoilt.length} have no figures because of the machine (the report says why): ${few(stand.spoilt)}. Measure them again with \`bench resume\`; bundles with \`worker --again\` before it.`,
    );
  for (const file of stand.files) lines.push(`  ${file}`);
  lines.push(`  ${stand.folder}`);
  if (stand.how !== null) lines.push(stand.how);
  return lines;
}

const few = (names: readonly string[]): string =>
  names.length <= 8 ? names.join(', ') : `${names.slice(0, 8).join(', ')} and ${names.length - 8} more`;
