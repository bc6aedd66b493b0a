import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ProviderRequest, providerNames } from '../app/index.ts';
import { type AgentName, agentNames, dtypes, efforts, exitCodeOf, profileModes, sizeSets } from '../contract/index.ts';
import { answer, answerEvaluation, answerRun, contextOf, type Session } from './answers.ts';
import { benchCommands } from './bench.ts';
import { calibrateCommand } from './calibrate.ts';
import { versionCommands } from './export.ts';
import { askConsent, modelCommands } from './models.ts';
import { profileCommand } from './profile.ts';
import { doctorLines, runLines, runTable } from './report.ts';
import { serveCommand } from './serve.ts';
import { taskCommands } from './tasks.ts';

const whole = (text: string): number => {
  const n = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(n)) throw new InvalidArgumentError('A whole number is needed.');
  return n;
};
const wholeFrom1 = (text: string): number => {
  const n = whole(text);
  if (n < 1) throw new InvalidArgumentError('A whole number from 1 on is needed.');
  return n;
};
const positive = (text: string): number => {
  const n = Number(text);
  if (!Number.isFinite(n) || n <= 0) throw new InvalidArgumentError('A number above 0 is needed.');
  return n;
};
const collect = (value: string, list: string[]): string[] => [...list, value];

const dtypeOption = () => new Option('--dtype <type>', 'data type').choices([...dtypes]).default('fp32');
const sizesOption = () =>
  new Option('--sizes <set>', 'set of sizes that is timed').choices([...sizeSets]).default('published');
const profileOption = (text: string) =>
  new Option('--profile <mode>', text).choices([...profileModes]).default('filtered');
const executorOption = () =>
  new Option('--executor <where>', 'run jobs here, or write bundles for `cudamaster worker` elsewhere')
    .choices(['local', 'bundle'])
    .default('local');
const archOption = () => new Option('--arch <arch>', 'native, or sm_NN').default('native');

export type Finish = (code: number) => void;

/** Adds every command to `program`; `session` is made when one of them runs. */
export function addCommands(program: Command, open: () => Session, finish: Finish): void {
  machineCommands(program, open, finish);
  workCommands(program, open, finish);
  historyCommands(program, open, finish);
  versionCommands(program, open, finish);
  serveCommand(program, open, finish);
  recordingCommands(program, open, finish);
  modelCommands(program, open, finish);
  benchCommands(program, open, finish);
  calibrateCommand(program, open, finish);
}

function machineCommands(program: Command, open: () => Session, finish: Finish): void {
  program
    .command('doctor')
    .description('look at GPU, driver, toolkit, profiler, sandbox and history; say what is wrong and how to mend it')
    .action(async () => {
      const s = open();
      const result = await s.host.services.doctor({}, contextOf(s));
      finish(
        answer(
          s,
          result,
          (v) => v,
          (v) => doctorLines(v, s.printer.paint),
          (v) => (v.canRun ? 0 : exitCodeOf('env.gpu-missing')),
        ),
      );
    });
  taskCommands(program, open, finish);
}

function workCommands(program: Command, open: () => Session, finish: Finish): void {
  program
    .command('eval <task>')
    .description('prove a candidate correct and measure it against the original')
    .requiredOption('--candidate <file>', 'the .cu file')
    .addOption(dtypeOption())
    .addOption(sizesOption())
    .addOption(profileOption('profile of the candidate; none: none is made'))
    .addOption(executorOption())
    .addOption(archOption())
    .addOption(
      new Option('--compile-arg <option>', 'nvcc option (repeat); write --compile-arg=-O3')
        .argParser(collect)
        .default([], 'none'),
    )
    .action(async (task, o) => {
      const s = open();
      const params = {
        kind: 'evaluate',
        task,
        dtype: o.dtype,
        source: o.candidate,
        compileArgs: o.compileArg,
        profile: o.profile,
        sizeSet: o.sizes,
        executor: o.executor,
        arch: o.arch,
      } as const;
      finish(answerEvaluation(s, await s.host.services.evaluate(params, contextOf(s))));
    });
  profileCommand(program, open, finish, {
    dtype: dtypeOption,
    sizes: sizesOption,
    executor: executorOption,
    arch: archOption,
    collect,
  });
  optimizeCommand(program, open, finish);
}

/** "MODEL" or "PROVIDER=MODEL" of each agent that was given one. */
function agentsOf(o: Record<string, unknown>): Partial<Record<AgentName, ProviderRequest>> {
  const agents: Partial<Record<AgentName, ProviderRequest>> = {};
  for (const agent of agentNames) {
    const given = o[`${agent}Model`];
    if (typeof given !== 'string') continue;
    const at = given.indexOf('=');
    agents[agent] = at < 0 ? { model: given } : { provider: given.slice(0, at), model: given.slice(at + 1) };
  }
  return agents;
}

function optimizeCommand(program: Command, open: () => Session, finish: Finish): void {
  program
    .command('optimize <task>')
    .description('let the agents rewrite a kernel round by round')
    .addOption(dtypeOption())
    .addOption(sizesOption())
    .option('--rounds <n>', 'rounds, 50 at most', wholeFrom1, 3)
    .option('--debug-attempts <n>', 'repairs of an invalid candidate per round', whole, 3)
    .addOption(profileOption('what of the profile the agents see'))
    .option('--provider <name>', `where answers come from: ${providerNames.join(', ')}, or one of your own`, 'manual')
    .option('--model <name>', 'model; needed by every provider but manual (`cudamaster models` lists them)')
    .option('--base-url <url>', 'address of a compatible server, e.g. http://127.0.0.1:8000/v1')
    .option('--key-env <name>', 'environment variable that holds the key (its name, not the key)')
    .option('--planner-model <model>', 'another model for the Planner; PROVIDER=MODEL asks another provider')
    .option('--coder-model <model>', 'the same for the Coder')
    .option('--compiler-model <model>', 'the same for the Compiler')
    .option('--debug-model <model>', 'the same for Debug')
    .addOption(
      new Option('--effort <level>', 'how hard models may think, where they can be told').choices([...efforts]),
    )
    .option('--local-only', 'refuse every connection to another machine')
    .option('--yes-remote', 'agree that prompts go to the remote hosts of this run (kept in the settings)')
    .option('--context <tokens>', 'context length of the model; default: what its server says', wholeFrom1)
    .addOption(executorOption())
    .addOption(archOption())
    .option('--max-usd <amount>', 'stop when this much is spent, US dollars; default: no limit', positive)
    .option('--max-tokens <n>', 'stop after this many tokens; default: no limit', wholeFrom1)
    .option('--max-minutes <n>', 'stop after this many minutes of work; default: no limit', positive)
    .option('--notes <text>', 'hints and constraints for the Planner')
    .option('--start-from <file>', 'round 1 starts from this source instead of a scheme')
    .option('--from <version>', 'round 1 starts from this version of the history (RUN:r1.a0)')
    .option('--approve', 'wait for you after each scheme, before anything is paid for it')
    .action(async (task, o) => {
      const s = open();
      const { context: contextTokens, sizes: sizeSet, ...rest } = o;
      const params = { task, contextTokens, sizeSet, ...rest, agents: agentsOf(o) };
      finish(answerRun(s, await s.host.services.optimize(params, { ...contextOf(s), confirm: askConsent(s) })));
    });
}

function historyCommands(program: Command, open: () => Session, finish: Finish): void {
  program
    .command('runs')
    .description('list the runs of the history')
    .option('--limit <n>', 'how many', wholeFrom1, 20)
    .action(async (o) => {
      const s = open();
      const result = await s.host.services.runs({ limit: o.limit }, contextOf(s));
      finish(
        answer(
          s,
          result,
          (runs) => ({ runs }),
          runTable,
          () => 0,
        ),
      );
    });
  program
    .command('show <run>')
    .description('show a run: rounds, schemes, verdicts, figures with intervals')
    .option('--follow', 'show events until the run ends or waits')
    .action(async (run, o) => {
      const s = open();
      const result = await s.host.services.show({ run, follow: o.follow }, contextOf(s));
      finish(
        answer(
          s,
          result,
          (r) => r.summary,
          (r) => runLines(r, s.printer.paint),
          () => 0,
        ),
      );
    });
  program
    .command('resume <run>')
    .description('go on with a run that waits, was interrupted, or reached a limit')
    .option('--answer <file>', 'the answer to the prompt that it waits for')
    .option('--approve', 'approve the scheme that it waits with')
    .option('--scheme <file>', 'approve another text of that scheme')
    .addOption(new Option('--reject', 'have the Planner asked for another scheme').conflicts(['approve', 'scheme']))
    .option('--max-usd <amount>', 'new limit, US dollars', positive)
    .option('--max-tokens <n>', 'new limit, tokens', wholeFrom1)
    .option('--max-minutes <n>', 'new limit, minutes', positive)
    .option('--context <tokens>', 'context length of the model', wholeFrom1)
    .option('--yes-remote', 'agree that prompts go to the remote hosts of this run (kept in the settings)')
    .action(async (run, o) => {
      const s = open();
      const ctx = { ...contextOf(s), confirm: askConsent(s) };
      const { context: contextTokens, ...rest } = o;
      finish(answerRun(s, await s.host.services.resume({ run, contextTokens, ...rest }, ctx)));
    });
}

function recordingCommands(program: Command, open: () => Session, finish: Finish): void {
  program
    .command('record <run>')
    .description('write the recording of a run: answers and job results, no keys')
    .requiredOption('--out <file>', 'file to write')
    .option('--note <text>', 'what it is, for a reader')
    .action(async (run, o) => {
      const s = open();
      const result = await s.host.services.record({ run, ...o }, contextOf(s));
      finish(
        answer(
          s,
          result,
          (v) => v,
          (v) => [`${v.file}: ${v.steps} steps, ${(v.bytes / 1024).toFixed(1)} KiB`],
          () => 0,
        ),
      );
    });
  program
    .command('replay <recording>')
    .description('replay a recording through the real loop, without GPU, model or network')
    .option('--strict', 'fail if the program now asks something else than it did')
    .action(async (file, o) => {
      const s = open();
      finish(answerRun(s, await s.host.services.replay({ file, strict: o.strict }, contextOf(s))));
    });
  program
    .command('demo')
    .description('replay a recorded optimization (seconds, nothing needed)')
    .action(async () => {
      const s = open();
      finish(answerRun(s, await s.host.services.demo({}, contextOf(s))));
    });
}
