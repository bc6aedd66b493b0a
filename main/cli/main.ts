import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { fileFault, toAppError } from '../base/fault.ts';
import { redact } from '../base/redact.ts';
import { type AppError, AppFailure, exitCodeOf } from '../contract/index.ts';
import { createHost } from '../host/index.ts';
import type { Session } from './answers.ts';
import { addCommands } from './commands.ts';
import { completeHelp, groups } from './help.ts';
import { Printer, systemStreams } from './output.ts';

/** The folder that holds prompts and kernels: this file lies one (bundle) or two (source) levels below it. */
function findRoot(): string {
  let dir = import.meta.dirname;
  for (let up = 0; up < 4; up++, dir = dirname(dir))
    if (existsSync(join(dir, 'kernels')) && existsSync(join(dir, 'package.json'))) return dir;
  throw new AppFailure({
    code: 'internal',
    message: 'The folders "kernels" and "prompts" are missing.',
    remedy: 'Install CUDAMaster again.',
  });
}

/** Ctrl-C, or the end of the terminal: cancel now, once; a second time leaves at once. */
function cancelOnSignal(cancel: AbortController, printer: Printer): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => {
      if (cancel.signal.aborted) process.exit(exitCodeOf('cancelled'));
      printer.status('');
      printer.note('Cancelling: ending what runs and saving the state (again: leave at once) …');
      cancel.abort();
    });
}

/**
 * Whoever reads our output may stop (`| head`), or the disk behind it may be full: what runs is cancelled in order, its state saved.
 * Gives back the exit code that such a fault calls for; undefined = none.
 */
function cancelOnLostOutput(cancel: AbortController, printer: Printer): () => number | undefined {
  let code: number | undefined;
  // Nobody is left to be told.
  process.stderr.on('error', () => {});
  process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
    cancel.abort();
    if (fault.code === 'EPIPE' || code !== undefined) return;
    const { error } = fileFault(fault, 'standard output', 'Writing');
    code = exitCodeOf(error.code);
    process.exitCode = code;
    printer.error(error);
  });
  return () => code;
}

const description =
  'Makes CUDA kernels faster: profiles them, lets language-model agents rewrite them round by round, proves each rewrite correct, measures it honestly, keeps every step.';

/** Runs the command line. Sets the exit code; the process ends by itself when everything is closed. */
export async function main(args: readonly string[] = process.argv.slice(2)): Promise<void> {
  const printer = new Printer(systemStreams());
  const cancel = new AbortController();
  cancelOnSignal(cancel, printer);
  const outputFault = cancelOnLostOutput(cancel, printer);
  const code = await execute(args, printer, cancel.signal);
  process.exitCode = outputFault() ?? code;
}

/** Runs one command to its end and gives back its exit code; never throws. */
export async function execute(args: readonly string[], printer: Printer, signal: AbortSignal): Promise<number> {
  const json = beforeDashes(args).includes('--json');
  try {
    return await run(args, printer, json, signal);
  } catch (fault) {
    const error = toAppError(fault);
    tell(printer, json, error);
    return exitCodeOf(error.code);
  }
}

const beforeDashes = (args: readonly string[]): readonly string[] =>
  args.includes('--') ? args.slice(0, args.indexOf('--')) : args;

function tell(printer: Printer, json: boolean, error: AppError): void {
  if (json) printer.json({ ok: false, error });
  else printer.error(error);
}

/** The worker reads its arguments itself, as worker.js does where only that file is. null = another command. */
function workerArgs(args: readonly string[]): readonly string[] | null {
  const at = args.findIndex((arg) => arg !== '--json');
  return args[at] === 'worker' ? [...args.slice(0, at), ...args.slice(at + 1)] : null;
}

/** "help bench resume" asks what "bench resume --help" does; the worker's help, too, is its own then. */
function helpAsOption(args: readonly string[]): readonly string[] {
  const words = args.filter((arg) => arg !== '--json');
  if (words[0] !== 'help' || words.length === 1 || words[1]?.startsWith('-')) return args;
  return [...words.slice(1), '--help', ...(words.length < args.length ? ['--json'] : [])];
}

/** A command whose help is asked for and that is not there; commander would show the program's. */
function unknownIn(program: Command, args: readonly string[]): string | null {
  if (!args.includes('--help') && !args.includes('-h')) return null;
  const [name] = args.filter((arg) => !arg.startsWith('-'));
  return name === undefined || program.commands.some((c) => c.name() === name) || name === 'help' ? null : name;
}

async function run(given: readonly string[], printer: Printer, json: boolean, signal: AbortSignal): Promise<number> {
  const args = helpAsOption(given);
  const root = findRoot();
  const host = createHost({ root });
  const worker = workerArgs(args);
  if (worker)
    return host.services.worker(worker, {
      out: (line) => printer.raw('stdout', `${line}\n`),
      err: (line) => printer.raw('stderr', `${line}\n`),
      signal,
    });
  let code = 0;
  let asked = '';
  const open = (): Session => ({ host, printer, json, signal });
  const program = new Command('cudamaster')
    .commandsGroup(groups.begin)
    .helpCommand('help [command...]', 'show the help of a command')
    .description(description)
    .version(host.services.version, '-V, --version')
    .option('--json', 'JSON Lines on stdout, the last line is the result')
    .exitOverride()
    .showHelpAfterError('(cudamaster --help lists the commands, cudamaster COMMAND --help its options)')
    .configureOutput({
      writeErr: (text) => printer.raw('stderr', redact(text)),
      // Help and version that were asked for, in several pieces.
      writeOut: (text) => {
        if (json) asked += text;
        else printer.raw('stdout', text);
      },
    });
  addCommands(program, open, (c) => {
    code = c;
  });
  program
    .command('worker [args...]')
    .description(
      'run job bundles on this machine: worker [--json] [--again] [--trust] [--part K/N] DIR…, worker --list DIR…, worker --self-test',
    );
  for (const command of program.commands)
    command.option('--json', 'JSON Lines on stdout, the last line is the result').exitOverride();
  completeHelp(program);
  const unknown = unknownIn(program, args);
  if (unknown !== null)
    throw new AppFailure({
      code: 'usage',
      message: `There is no command "${redact(unknown)}".`,
      remedy: '`cudamaster --help` lists the commands.',
    });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (fault) {
    if (!(fault instanceof CommanderError)) throw fault;
    if (asked !== '') printer.json({ text: asked });
    if (fault.exitCode === 0) return 0;
    // Commander has written its message, or the help for want of a command, to stderr.
    const message = fault.code === 'commander.help' ? 'A command is needed.' : redact(fault.message);
    if (json) printer.json({ ok: false, error: { code: 'usage', message } });
    return exitCodeOf('usage');
  }
}
