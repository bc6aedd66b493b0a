// Stands in for ncu as a real process, for machines without a GPU. It starts the target like ncu does (its own options first, then the
// program), says what ncu says, honours --metrics, --set, --section, --kernel-name, --launch-skip, --launch-count, --export, --csv/--page,
// --import, --replay-mode, and makes reports of its own. Figures are those of real output (test/fixtures/ncu); which launches there are, what fails and
// how is the test's choice, a JSON beside the program: see `World` in test/session/ncu-world.ts.
const fs = require('node:fs');
const cp = require('node:child_process');

exports.main = (world, fixtures) => {
  const args = process.argv.slice(2);
  const value = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
  const count = runs(args);
  if (args.includes('--version')) return void process.stdout.write('NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0\n');
  if (args.includes('--import')) return importPage(value, fixtures);
  const replay = value('--replay-mode') ?? 'kernel';
  const byRuns = replay === 'application' ? { runs: 3, ...world.application } : null;
  const run = byRuns ?? world.runs?.[Math.min(count, (world.runs?.length ?? 1) - 1)] ?? {};
  const program = args.findIndex((arg) => /^(?:\.\/|\/).*runner$/.test(arg));
  if (run.hangs) return void setInterval(() => undefined, 1000);
  if (run.dies) {
    process.stderr.write(run.dies);
    process.exit(1);
  }
  if (run.eatsMiB) {
    const eaten = Buffer.alloc(run.eatsMiB << 20, 1);
    return void setInterval(() => eaten.length, 1000);
  }
  // How it replays is no business of a real target; the fake runner may behave by it.
  const env = { ...process.env, CM_FAKE_REPLAY: replay };
  const start = () => cp.spawn(args[program], args.slice(program + 1), { stdio: 'inherit', env });
  let starts = 1;
  const target = start();
  const ended = (code, signal) => {
    if (byRuns && !byRuns.log && code === 0 && starts < byRuns.runs) {
      starts++;
      return void start().on('exit', ended);
    }
    const log = [
      '==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, profiling results may be inconsistent.',
      `==PROF== Connected to process ${target.pid} (${args[program]})`,
    ];
    const end = (chosen) => finish({ value, run, log, chosen, asked, set: value('--set'), fixtures, code: signal ? 1 : code });
    const asked = (value('--metrics') ?? '').split(',').filter((id) => id !== '');
    const unknown = asked.find((id) => world.unknown?.includes(id));
    if (run.log) log.push(run.log);
    if (run.log && !run.anyway) return end([]);
    if (unknown !== undefined) {
      log.push(`==ERROR== Failed to find metric regex:^${unknown.split('.')[0]}\\.(sum|min|max|avg|pct|ratio|max_rate)$`);
      return end([]);
    }
    end(chosen(world, value, log, byRuns?.runs ?? null));
  };
  target.on('exit', ended);
};

/** How many collections there were before this one. */
function runs(args) {
  const file = 'ncu-args.log';
  const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n').map((l) => JSON.parse(l)) : [];
  const { TMPDIR: tmp, HOME: home, LC_ALL: lang } = process.env;
  fs.appendFileSync(file, `${JSON.stringify({ args, tmp, home, lang })}\n`);
  return before.filter((run) => !run.args.includes('--import')).length;
}

const shortName = (name) => (name.length <= 32 ? name : `${name.slice(0, 29)}...`);
const bare = (kernel) => kernel.replace(/<.*>/, '').replace(/\(.*$/, '').split(/\s+|::/).pop();

/** Launches of the range that the filters let through. `before: 'counted'`: those outside the range count for skipping. */
function chosen(world, value, log, programRuns) {
  const name = value('--kernel-name');
  const pattern = name?.startsWith('regex:') ? new RegExp(name.slice(6)) : null;
  const matches = (launch) => name === undefined || (pattern ? pattern.test(bare(launch.kernel)) : bare(launch.kernel) === name);
  const inRange = world.launches.map((launch, index) => ({ ...launch, index }));
  const outside = world.before === 'counted' ? inRange.filter(matches).length : 0;
  const skip = Math.max(0, Number(value('--launch-skip') ?? 0) - outside);
  const limit = Number(value('--launch-count') ?? Number.POSITIVE_INFINITY);
  const found = inRange.filter(matches).slice(skip, skip + limit);
  const passes = programRuns ?? (value('--set') ? 44 : 1 + Math.ceil((value('--metrics') ?? '').split(',').length / 6));
  // Real ncu shows no progress when it prints CSV itself.
  if (!process.argv.includes('--csv')) found.forEach((launch, i) => {
    const of = `==PROF== Profiling "${shortName(bare(launch.kernel))}" - ${i}: `;
    if (programRuns === null) log.push(`${of}0%....50%....100% - ${passes} passes`);
    else for (let n = 1; n <= passes; n++) log.push(`${of}Application replay pass ${n}`);
  });
  if (found.length === 0) log.push('==WARNING== No kernels were profiled.');
  return found.map((launch, id) => ({ ...launch, id, passes }));
}

function finish({ value, run, log, chosen, asked, set, fixtures, code }) {
  const to = value('--export');
  const report = { launches: chosen, asked, set: set ?? null, source: value('--import-source') === 'yes' };
  let text = `${log.join('\n')}\n`;
  if (chosen.length > 0 && to) fs.writeFileSync(`${to}.ncu-rep`, JSON.stringify(report));
  else if (chosen.length > 0 && value('--page') === 'raw') text += rawPage(report, fixtures);
  if (value('--log-file')) fs.writeFileSync(value('--log-file'), text);
  process.exitCode = run.exit ?? code ?? 1;
}

function importPage(value, fixtures) {
  const file = value('--import');
  if (!fs.existsSync(file)) {
    process.stdout.write('==ERROR== Failed to open file\n');
    process.exitCode = 1;
    return;
  }
  const report = JSON.parse(fs.readFileSync(file, 'utf8'));
  process.stdout.write(value('--page') === 'source' ? sourcePage(report, fixtures) : rawPage(report, fixtures));
}

const split = (line) => line.slice(1).replace(/"\s*$/, '').split('","');
const LEADING = 11;

/** What ncu prints with whatever is asked. */
const given = (name) => /^(?:launch__|device__|sm__maximum_warps|profiler__replayer_passes$)/.test(name);

function rawPage({ launches, asked, set, source }, fixtures) {
  const lines = fs.readFileSync(`${fixtures}/gemm_full_raw.csv`, 'utf8').split('\n');
  const head = lines.findIndex((line) => line.startsWith('"ID"'));
  const [names, units, real] = [0, 1, 2].map((i) => split(lines[head + i]));
  const kept = names.flatMap((name, at) =>
    at < LEADING || set || given(name) || asked.includes(name) || (source && name.startsWith('memory_')) ? [at] : [],
  );
  const row = (launch) =>
    kept.map((at) => {
      const name = names[at];
      if (name === 'ID') return String(launch.id);
      if (name === 'Kernel Name') return launch.kernel;
      if (name === 'profiler__replayer_passes') return String(launch.passes);
      if (name === 'Grid Size') return launch.grid ?? real[at];
      if (name === 'Block Size') return launch.block ?? real[at];
      return launch.metrics?.[name] ?? real[at];
    });
  // What the real output at hand lacks comes from the test, if asked for.
  const more = Object.keys(launches[0]?.more ?? {}).filter((id) => asked.includes(id));
  const cell = (launch, at) => more.map((id) => (launch.more?.[id] ?? ['', ''])[at]);
  const print = (cells) => `"${cells.join('","')}"`;
  const table = [
    [...kept.map((at) => names[at]), ...more],
    [...kept.map((at) => units[at]), ...cell(launches[0], 1)],
    ...launches.map((launch) => [...row(launch), ...cell(launch, 0)]),
  ];
  return `${table.map(print).join('\n')}\n`;
}

/** The real page, once per launch under its own name. */
function sourcePage({ launches, source }, fixtures) {
  if (!source) return '';
  const page = fs.readFileSync(`${fixtures}/src_cuda_sass.csv`, 'utf8');
  return launches
    .map((launch) => page.replace(/"Function Name","[^"]*"/g, () => `"Function Name","${launch.kernel}"`))
    .join('');
}
