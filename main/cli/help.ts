import type { Command } from 'commander';
import { exitCodes } from '../contract/index.ts';
import { wrap } from './output.ts';

/** What a newcomer needs beside the options: which command belongs where, what its arguments are, how it ends, how it is typed. */
interface Page {
  readonly group: string;
  /** Argument name → what it is. */
  readonly args?: Readonly<Record<string, string>>;
  /** Exit codes that the command can end with besides 0 and 1; a text where the general one says too little. */
  readonly exits: readonly (number | readonly [number, string])[];
  readonly examples: readonly string[];
}

/** Headings of the list of commands. */
export const groups = {
  begin: 'Begin here:',
  work: 'Prove, measure, optimize:',
  history: 'Runs and versions:',
  models: 'Models and what they cost:',
  suite: 'The suite, and GPUs elsewhere:',
} as const;

const version = 'RUN:origin or RUN:r1.a0, as `cudamaster history` lists them; RUN may be a part of its id, or "last"';
const run = 'a run: its id, the beginning or end of it, or "last"';
const parked = 'it waits for a bundle or a person, and says how to go on';

/** Pages by command; those of a group as "prices set". Every command has one (test/cli/help.test.ts). */
export const pages: Readonly<Record<string, Page>> = {
  doctor: {
    group: groups.begin,
    exits: [[3, 'kernels cannot run here'], 130],
    examples: ['cudamaster doctor', 'cudamaster doctor --json'],
  },
  demo: { group: groups.begin, exits: [7, 130], examples: ['cudamaster demo'] },
  tasks: { group: groups.begin, exits: [], examples: ['cudamaster tasks', 'cudamaster tasks --json'] },
  'tasks new': {
    group: '',
    args: { file: 'a .cu with the wrapper: extern "C" void NAME(…), pointers to device memory and scalars' },
    exits: [2, 3],
    examples: [
      'cudamaster tasks new saxpy.cu --size n=1024 --size n=1048576 --value a=2.5 --inout y --flops 2*n',
      'cudamaster tasks new mm.cu --count A=M*K --count B=K*N --count C=M*N --size M=512,N=512,K=512 --flops 2*M*N*K',
    ],
  },
  'tasks add': {
    group: '',
    args: { folder: 'what `cudamaster tasks new` made, with reference.h filled in' },
    exits: [2, 3, 130],
    examples: ['cudamaster tasks add saxpy', 'cudamaster tasks add saxpy --replace'],
  },
  'tasks remove': {
    group: '',
    args: { task: 'a task of your own' },
    exits: [2, 3],
    examples: ['cudamaster tasks remove saxpy'],
  },
  serve: {
    group: groups.begin,
    exits: [[2, 'usage, or the port or socket is taken'], 3, 7],
    examples: ['cudamaster serve --open', 'cudamaster serve --port 8080 --idle-minutes 0'],
  },
  eval: {
    group: groups.work,
    args: { task: 'a task, as `cudamaster tasks` lists them' },
    exits: [2, 3, [4, 'rejected, or proven correct but not accepted'], 7, [75, parked], 130],
    examples: [
      'cudamaster eval dot_product --candidate faster.cu',
      'cudamaster eval softmax --dtype bf16 --candidate mine.cu --profile none --compile-arg=-O3',
    ],
  },
  profile: {
    group: groups.work,
    args: { task: 'a task, as `cudamaster tasks` lists them; or none, with --of' },
    exits: [2, 3, [4, 'the source was rejected'], 7, [75, parked], 130],
    examples: [
      'cudamaster profile dot_product --html profile.html',
      'cudamaster profile softmax --source mine.cu --full',
      'cudamaster profile --of last --html profile.html',
    ],
  },
  optimize: {
    group: groups.work,
    args: { task: 'a task, as `cudamaster tasks` lists them' },
    exits: [[0, 'all rounds are done, accepted or not: `cudamaster show last` says'], 2, 3, 5, 6, 7, [75, parked], 130],
    examples: [
      'cudamaster optimize dot_product --provider manual',
      'cudamaster optimize softmax --dtype bf16 --provider ollama --model qwen3-coder --rounds 5',
      'cudamaster optimize spmv_csr --provider openai --model NAME --planner-model LARGER --max-usd 2 --yes-remote',
    ],
  },
  resume: {
    group: groups.work,
    args: { run },
    exits: [2, 3, [4, 'a single evaluation: rejected or not accepted'], 5, 6, 7, [75, parked], 130],
    examples: [
      'cudamaster resume last',
      'cudamaster resume last --answer answer.md',
      'cudamaster resume last --scheme scheme.md',
      'cudamaster resume last --max-usd 5',
    ],
  },
  runs: { group: groups.history, exits: [7], examples: ['cudamaster runs', 'cudamaster runs --limit 100 --json'] },
  show: {
    group: groups.history,
    args: { run },
    exits: [7],
    examples: ['cudamaster show last', 'cudamaster show last --follow'],
  },
  history: {
    group: groups.history,
    exits: [2, 7],
    examples: ['cudamaster history --task dot_product --sort score', 'cudamaster history --deleted'],
  },
  export: {
    group: groups.history,
    args: { version: `a run, which means its best version; or ${version}` },
    exits: [2, 3, [4, 'nothing of the run was accepted'], 7],
    examples: [
      'cudamaster export last --out best.zip',
      'cudamaster export last:r1.a0 --out attempt.zip',
      'cudamaster export last --origin --out origin.zip',
    ],
  },
  note: {
    group: groups.history,
    args: { version, text: 'the note; "" removes it' },
    exits: [2, 7],
    examples: ['cudamaster note last:r1.a0 "one atomic per block"'],
  },
  pin: { group: groups.history, args: { version }, exits: [2, 7], examples: ['cudamaster pin last:r1.a0'] },
  unpin: { group: groups.history, args: { version }, exits: [2, 7], examples: ['cudamaster unpin last:r1.a0'] },
  delete: {
    group: groups.history,
    args: { version: `${version}; without a position: all versions of the run` },
    exits: [2, 7],
    examples: ['cudamaster delete last:r1.a0', 'cudamaster delete last'],
  },
  restore: {
    group: groups.history,
    args: { version: `${version}; without a position: all versions of the run` },
    exits: [2, 7],
    examples: ['cudamaster restore last:r1.a0', 'cudamaster restore last'],
  },
  purge: {
    group: groups.history,
    args: { runs: `these alone, each ${run}` },
    exits: [[2, 'nobody was there to be asked, or a named run is not in the bin'], 3, 7, [130, 'you said no']],
    examples: ['cudamaster purge --dry-run', 'cudamaster purge', 'cudamaster purge --yes --json'],
  },
  record: {
    group: groups.history,
    args: { run },
    exits: [[2, 'usage, or there is nothing to record'], 3, 7],
    examples: ['cudamaster record last --out run.cudamaster --note "tiled, then vectorized"'],
  },
  replay: {
    group: groups.history,
    args: { recording: 'a file that `cudamaster record` wrote' },
    exits: [[2, 'no recording, or with --strict: something has changed'], 3, 7, 130],
    examples: ['cudamaster replay run.cudamaster', 'cudamaster replay run.cudamaster --strict'],
  },
  providers: { group: groups.models, exits: [2], examples: ['cudamaster providers'] },
  'providers add': {
    group: '',
    args: { name: 'small letters, digits, dot, dash and underscore' },
    exits: [2],
    examples: ['cudamaster providers add lab --base-url http://127.0.0.1:8000/v1 --title "Our server"'],
  },
  'providers remove': {
    group: '',
    args: { name: 'a provider of your own' },
    exits: [2],
    examples: ['cudamaster providers remove lab'],
  },
  models: {
    group: groups.models,
    exits: [2, 5],
    examples: ['cudamaster models --provider ollama', 'cudamaster models --provider openai --yes-remote'],
  },
  consent: {
    group: groups.models,
    args: { host: 'a host or the address of a server: prompts may go there from now on' },
    exits: [2],
    examples: [
      'cudamaster consent',
      'cudamaster consent api.example.com',
      'cudamaster consent --revoke api.example.com',
    ],
  },
  prices: { group: groups.models, exits: [2], examples: ['cudamaster prices'] },
  'prices set': {
    group: '',
    args: { model: 'its name, as the provider calls it' },
    exits: [2],
    examples: ['cudamaster prices set NAME --input 1.1 --output 4.4 --source https://example.com/prices'],
  },
  'prices remove': {
    group: '',
    args: { model: 'its name, as it was entered' },
    exits: [2],
    examples: ['cudamaster prices remove NAME'],
  },
  spend: { group: groups.models, exits: [7], examples: ['cudamaster spend', 'cudamaster spend --json'] },
  bench: {
    group: groups.suite,
    exits: [
      2,
      [3, 'this machine cannot, or a cell could not be measured'],
      [4, 'a candidate was refused'],
      7,
      [75, 'bundles wait for a worker'],
      130,
    ],
    examples: [
      'cudamaster bench --task dot_product,softmax --dtype fp32 --sizes both --profile',
      'cudamaster bench --executor bundle --out BENCH',
      'cudamaster bench --candidates mine/ --out BENCH',
    ],
  },
  'bench resume': {
    group: '',
    args: { bench: '"last", the id of a bench, or its folder' },
    exits: [2, 3, [4, 'a candidate was refused'], 7, [75, 'bundles still wait for a worker'], 130],
    examples: ['cudamaster bench resume last', 'cudamaster bench resume BENCH --results RESULTS'],
  },
  'bench compare': {
    group: '',
    args: {
      a: 'a bench: "last", its id, its folder, or its report.json',
      b: 'the bench that is compared with it, named likewise; ratios are B over A',
    },
    exits: [[2, 'usage, or the two have nothing in common'], 7, 130],
    examples: [
      'cudamaster bench compare BEFORE AFTER',
      'cudamaster bench compare BEFORE/report.json last --dtype fp32 --csv pairs.csv',
    ],
  },
  calibrate: {
    group: groups.suite,
    exits: [2, 3, 7, [75, 'bundles wait for a worker'], 130],
    examples: ['cudamaster calibrate', 'cudamaster calibrate --from BENCH --html thresholds.html'],
  },
  worker: {
    group: groups.suite,
    args: { args: 'its own options and bundle folders; `cudamaster worker --help` explains them' },
    exits: [[2, 'usage or a bad bundle'], [3, 'this machine cannot run them'], 130],
    examples: ['cudamaster worker --self-test', 'cudamaster worker BENCH/bundles/published --results RESULTS'],
  },
};

const means = (code: number): string => exitCodes.find((e) => e.code === code)?.means ?? '';

function exitLine(page: Page): string {
  const given = page.exits.map((e) => (typeof e === 'number' ? ([e, means(e)] as const) : e));
  const first = given.some(([code]) => code === 0) ? [] : ([[0, means(0)]] as const);
  return `Exit codes: ${[...first, ...given].map(([code, text]) => `${code} ${text}`).join('; ')}. All of them: cudamaster --help`;
}

const widthOf = (command: Command): number => Math.max(40, (command.configureOutput().getOutHelpWidth?.() ?? 80) - 1);

/** Completes the help of every command; call it when all of them are there. */
export function completeHelp(program: Command): void {
  const visit = (command: Command, name: string): void => {
    const page = pages[name];
    if (page === undefined) return;
    if (page.group !== '') command.helpGroup(page.group);
    for (const argument of command.registeredArguments) argument.description = page.args?.[argument.name()] ?? '';
    for (const option of command.options) if (option.mandatory) option.description += ' (required)';
    command.addHelpText('after', ({ command: c }) =>
      ['', exampleLines(page), '', ...wrap(exitLine(page), widthOf(c), '')].flat().join('\n'),
    );
    for (const sub of command.commands) visit(sub, `${name} ${sub.name()}`);
  };
  for (const command of program.commands) visit(command, command.name());
  program.addHelpText('after', ({ command }) =>
    [
      '',
      'Exit codes:',
      ...exitCodes.map(({ code, means: text }) => `  ${String(code).padStart(3)}  ${text}`),
      '',
      ...wrap(
        'Wherever a command takes RUN, "last" is the newest. `cudamaster COMMAND --help` lists options and examples. Data lie where the platform keeps them; CUDAMASTER_HOME puts everything into one folder. NO_COLOR switches colours off.',
        widthOf(command),
        '',
      ),
    ].join('\n'),
  );
}

const exampleLines = (page: Page): string[] => [
  page.examples.length === 1 ? 'Example:' : 'Examples:',
  ...page.examples.map((text) => `  ${text}`),
];
