import { type Command, Option } from 'commander';
import type { CompareAnswer } from '../app/index.ts';
import { AppFailure, type Dtype, dtypes, err, type SizeSet } from '../contract/index.ts';
import { answer, contextOf, type Session } from './answers.ts';
import { comparisonLines } from './compare-lines.ts';

/** How options of `bench` are read. */
export interface Readers {
  readonly list: (value: string, before?: readonly string[]) => string[];
  readonly dtypes: (value: string, before?: readonly Dtype[]) => Dtype[];
  readonly sizes: (value: string) => SizeSet[];
}

const own = ['task', 'dtype', 'sizes', 'json', 'csv'];

/** `cudamaster bench compare`. */
export function compareCommand(
  bench: Command,
  readers: Readers,
  open: () => Session,
  finish: (code: number) => void,
): void {
  bench
    .command('compare <a> <b>')
    .description(
      'compare two benches figure by figure: ratios B/A with intervals, what only one has, classes that changed; runs nothing',
    )
    .option('--task <ids>', 'these tasks alone, separated by commas (repeat)', readers.list)
    .option('--dtype <types>', `data types, separated by commas: ${dtypes.join(', ')}; default: both`, readers.dtypes)
    .addOption(new Option('--sizes <sets>', 'published, large or both; default: both').argParser(readers.sizes))
    .option('--csv <file>', 'write every pair there as CSV')
    .option('--json', 'JSON Lines on stdout: a line per pair, the last line is the result')
    .exitOverride()
    .action(async (a: string, b: string, _options, command: Command) => {
      const given = givenTo(command);
      const s = open();
      const result = await s.host.services.compareBenches({ a, b, ...given }, contextOf(s));
      if (s.json && result.ok)
        for (const pair of result.value.comparison.pairs) s.printer.json({ type: 'pair', ...pair });
      finish(
        answer(
          s,
          result,
          summary,
          (v) => comparisonLines(v, s.printer.paint),
          () => 0,
        ),
      );
    });
}

interface Given {
  readonly tasks?: string[];
  readonly dtypes?: Dtype[];
  readonly sizes?: SizeSet[];
  readonly csv?: string;
}

/** What was typed. Commander gives options that `bench` has as well to `bench`, whose defaults mean nothing here. */
function givenTo(command: Command): Given {
  const parent = command.parent as Command;
  const typed = (name: string): boolean => parent.getOptionValueSource(name) === 'cli';
  const foreign = parent.options.find((o) => typed(o.attributeName()) && !own.includes(o.attributeName()));
  if (foreign !== undefined)
    throw new AppFailure(
      err('usage', `bench compare has no option ${foreign.long}.`, {
        remedy: '`cudamaster bench compare --help` lists them.',
      }).error,
    );
  const value = <T>(name: string): T | undefined =>
    command.getOptionValue(name) ?? (typed(name) ? parent.getOptionValue(name) : undefined);
  return { tasks: value('task'), dtypes: value('dtype'), sizes: value('sizes'), csv: value('csv') };
}

/** The result without its pairs, which stand in lines of their own. */
function summary({ comparison: { pairs: _, ...comparison }, reports, files }: CompareAnswer): object {
  return { ...comparison, reports, files };
}
