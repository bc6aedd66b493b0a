import { type Command, InvalidArgumentError } from 'commander';
import type { AddAnswer, DraftAnswer } from '../app/index.ts';
import { answer, contextOf, type Session } from './answers.ts';
import { taskTable } from './report.ts';

type Finish = (code: number) => void;

/** "NAME=TEXT", repeated. */
const pairs = (value: string, before: Readonly<Record<string, string>> = {}): Record<string, string> => {
  const at = value.indexOf('=');
  const name = value.slice(0, at).trim();
  if (at < 1 || !/^[A-Za-z_]\w*$/.test(name) || value.slice(at + 1).trim() === '')
    throw new InvalidArgumentError(`"${value}" is not of the form NAME=TEXT.`);
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`"${name}" is given twice.`);
  return { ...before, [name]: value.slice(at + 1).trim() };
};
const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];
const json = ['--json', 'JSON Lines on stdout, the last line is the result'] as const;

/** `cudamaster tasks`, `tasks new`, `tasks add`, `tasks remove`. */
export function taskCommands(program: Command, open: () => Session, finish: Finish): void {
  const tasks = program
    .command('tasks')
    .description('list the tasks that ship and your own, with data types and numbers of sizes')
    .action(async () => {
      const s = open();
      const result = await s.host.services.tasks({}, contextOf(s));
      const lines = (v: Parameters<typeof taskTable>[0]): string[] => taskTable(v, s.printer.paint);
      finish(
        answer(
          s,
          result,
          (list) => ({ tasks: list }),
          lines,
          () => 0,
        ),
      );
    });
  newCommand(tasks, open, finish);
  tasks
    .command('add <folder>')
    .description(
      'take in a task of your own: check every field, compile reference.h and the original, call reference.h at up to two small sizes for each type, copy the folder',
    )
    .option('--replace', 'in the place of your task of the same id; the former one is kept aside')
    .option(...json)
    .exitOverride()
    .action(async (folder, o) => {
      const s = open();
      const result = await s.host.services.addTask({ folder, replace: o.replace === true }, contextOf(s));
      finish(
        answer(
          s,
          result,
          (v) => v,
          addedLines,
          () => 0,
        ),
      );
    });
  tasks
    .command('remove <task>')
    .description('take a task of your own out of the list; its files are kept aside')
    .option(...json)
    .exitOverride()
    .action(async (task) => {
      const s = open();
      const result = await s.host.services.removeTask({ task }, contextOf(s));
      finish(
        answer(
          s,
          result,
          (v) => v,
          (v) => [`${v.task} is out of the list. Its files: ${v.kept}`],
          () => 0,
        ),
      );
    });
}

function newCommand(tasks: Command, open: () => Session, finish: Finish): void {
  tasks
    .command('new <file>')
    .description(
      'make the folder of a task of your own from a .cu with an extern "C" wrapper; nothing is compiled or run',
    )
    .option('--wrapper <name>', 'the wrapper, where the file has several')
    .option('--id <id>', 'id of the task; default: the wrapper’s name')
    .option('--title <text>', 'a line for lists')
    .option('--describe <text>', 'what is computed, as mathematics: told to the agents')
    .option(
      '--count <name=expression>',
      'elements of a pointer parameter, as A=N*M (repeat); needed where there are several dimensions',
      pairs,
    )
    .option('--value <name=expression>', 'value of a scalar parameter, as alpha=0.5 (repeat)', pairs)
    .option('--inout <name>', 'a pointer parameter that is read and written (repeat)', collect)
    .option('--int <name=lo:hi>', 'values of an int input, hi excluded, as index=0:N (repeat)', pairs)
    .option(
      '--size <sizes>',
      'a size that is timed and scored, as N=1024,M=64: its names are the dimensions (repeat; at least one)',
      collect,
    )
    .option('--flops <expression>', 'needed: floating-point operations of a call, at least; 0 if it only moves data')
    .option('--out <dir>', 'folder to make; default: the id, here')
    .option(...json)
    .exitOverride()
    .action(async (file, o) => {
      const s = open();
      const { wrapper, id, title, describe: prompt, inout = [], flops, out } = o;
      const { count: counts = {}, value: values = {}, int: ints = {}, size: sizes = [] } = o;
      const params = { file, out, wrapper, id, title, prompt, counts, values, inout, ints, sizes, flops };
      finish(
        answer(
          s,
          await s.host.services.draftTask(params, contextOf(s)),
          (v) => v,
          draftLines,
          () => 0,
        ),
      );
    });
}

const draftLines = ({ task, dtype, folder, files, parameters }: DraftAnswer): string[] => [
  `Task ${task}, ${dtype}:`,
  ...files.map((file) => `  ${folder}/${file}`),
  'Parameters, as they were understood:',
  ...parameters.map((text) => `  ${text}`),
  'Next:',
  '  1. Fill in reference.h: what every output element must be, in double. Results are proven against it.',
  '  2. Read task.json: sizes, extra verification inputs, limits.',
  `  3. cudamaster tasks add ${folder}`,
];

const addedLines = ({ task, dtypes, folder, compiled, former }: AddAnswer): string[] => [
  ...compiled.map(({ file, dtype, state, why }) => `  ${file} (${dtype}): ${state}${why === '' ? '' : `, ${why}`}`),
  ...(former === null ? [] : [`  the former ${task} is kept in ${former}`]),
  `Task ${task} is in the list; its files: ${folder}`,
  `Next: cudamaster optimize ${task} --dtype ${dtypes[0]} (a candidate of yours: wrapper WRAPPER_optimized, kernels NAME_kernel_optimized)`,
];
