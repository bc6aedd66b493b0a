/**
 * The engine on a machine whose compiler and ncu are fakes: the real host, loop, history, executor, broker and provider over HTTP; the fakes
 * are executable scripts, started as real processes. Only what a GPU would say (values and times) comes from the laboratory.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AppEvent, RunReport } from '../../main/app/index.ts';
import { environmentOf } from '../../main/app/machine.ts';
import type { Executor, JobBundle, Result, ToolPaths } from '../../main/contract/index.ts';
import { exitCodeOf } from '../../main/contract/index.ts';
import { defaults } from '../../main/evaluate/defaults.ts';
import { createHost } from '../../main/host/index.ts';
import { LocalExecutor } from '../../main/jobs/local.ts';
import { runSession } from '../../main/jobs/session/index.ts';
import { Store, type StoredEvent } from '../../main/store/index.ts';
import { candidate, machine, resultFor, root } from '../app/lab.ts';
import { chunk, end, ModelServer, stream, usage } from '../llm/server.ts';
import { fakePeer, tools as noTools } from '../session/support.ts';

// How finely intervals are resampled is not what is tested here.
Object.assign(defaults.accept, { resamples: 200 });

export function tempFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'cm-bug-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** An executable script; gives back its path. */
export function tool(dir: string, name: string, text: string): string {
  mkdirSync(dir, { recursive: true });
  const path = join(dir, name);
  writeFileSync(path, text.startsWith('#!') ? text : `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** How runner and judge misbehave: see test/session/fake-peer.cjs. */
export interface Peers {
  readonly runner?: object;
  readonly judge?: object;
}

/** Makes what was asked for by -o, with its own arguments as content; as "runner" a program that speaks the harness protocol. `candidate`: shell lines first, for that file only. */
export const fakeCompiler = (dir: string, name: string, forCandidate = '', peers: Peers = {}): string => {
  const peer = (role: 'runner' | 'judge') =>
    tool(
      dir,
      `fake-${role}`,
      `#!${process.execPath}\nrequire(${JSON.stringify(fakePeer)}).${role}(${JSON.stringify(peers[role] ?? {})});`,
    );
  const runner = peer('runner');
  const judge = peer('judge');
  return tool(
    dir,
    name,
    `case "$*" in *candidate.cu*)
${forCandidate || ':'}
;; esac
out=
all="$*"
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
case "$out" in runner) cp '${runner}' runner ;; judge) cp '${judge}' judge ;; *) echo "made by $all" > "$out" ;; esac`,
  );
};

/** Plays all agents; the first candidate is right and faster, so nobody has cause to ask the Debug agent. */
function answer(prompt: string): string {
  if (prompt.includes('You plan the optimization')) return 'Let each block reduce in shared memory.';
  if (prompt.includes('You choose nvcc')) return '["-O3", "-std=c++17"]';
  if (prompt.includes('You find out why')) return 'The fault is in the code: rewrite it.';
  return `Here it is.\n\n\`\`\`cuda\n${candidate('1.5')}\n\`\`\`\n`;
}

export interface Ran {
  readonly report: RunReport;
  readonly exitCode: number;
  readonly events: readonly StoredEvent[];
  /** Every prompt that the model was sent. */
  readonly prompts: readonly string[];
  /** Goes on with the run, with other tools. */
  resume(again?: Omit<FakeTools, 'rounds'>): Promise<Ran>;
}

export interface FakeTools extends Partial<ToolPaths> {
  readonly rounds?: number;
  /** The candidate is verified by the real broker, with a runner and a judge that behave so. */
  readonly peers?: Peers;
}

/** Drives `optimize dot_product` with these tools (default: compilers that make everything, no ncu) to its end. */
export async function optimizeWith(fakes: FakeTools = {}): Promise<Ran> {
  const home = tempFolder();
  const server = await ModelServer.start(async (response, seen) => {
    const messages = (seen.body.messages ?? []) as { content: string }[];
    const text = answer(messages.map((m) => m.content).join('\n'));
    await stream([chunk(text), end(), usage(5000, 50)])(response, seen);
  });
  onTestFinished(() => server.close());
  const { rounds = 1, ...given } = fakes;
  return driven(home, server, given, (engine, ctx) =>
    engine.optimize(
      {
        task: 'dot_product',
        dtype: 'fp32',
        executor: 'local',
        provider: 'compatible',
        model: 'm',
        baseUrl: server.baseUrl,
        rounds,
      },
      ctx,
    ),
  );
}

type Services = ReturnType<typeof createHost>['services'];
type Ask = (services: Services, ctx: { emit: (e: AppEvent) => void }) => Promise<Result<RunReport>>;

async function driven(home: string, server: ModelServer, given: Omit<FakeTools, 'rounds'>, ask: Ask): Promise<Ran> {
  const before = process.env.CUDAMASTER_HOME;
  process.env.CUDAMASTER_HOME = home;
  try {
    const bin = join(home, 'bin');
    const { peers, ...named } = given;
    const tools: ToolPaths = {
      ...noTools,
      nvcc: fakeCompiler(bin, 'nvcc', '', peers),
      cxx: fakeCompiler(bin, 'g++', '', peers),
      toolkit: bin,
      arch: 'sm_90',
      archs: ['sm_90'],
      env: { PATH: '/usr/bin:/bin' },
      ...named,
      machine: { ...machine, containment: 'none', ncu: named.ncu ? '2025.3.1' : null, ...named.machine },
    };
    const { services } = createHost({
      root,
      openPlace: async () => ({
        environment: environmentOf(tools.machine),
        executor: () => executorOf(tools, peers !== undefined),
      }),
    });
    const result = await ask(services, { emit: () => {} });
    if (!result.ok) throw new Error(JSON.stringify(result.error));
    const report = result.value;
    if (report.error?.code === 'internal') throw new Error(`${report.error.message} ${report.error.detail}`);
    const store = await Store.open(join(home, 'data'));
    const events = await store.events(report.id);
    await store.close();
    return {
      report,
      exitCode: report.error === null ? 0 : exitCodeOf(report.error.code),
      events,
      prompts: server.seen
        .filter((s) => s.method === 'POST')
        .map((s) => ((s.body.messages ?? []) as { content: string }[]).map((m) => m.content).join('\n')),
      resume: (again = {}) => driven(home, server, again, (engine, ctx) => engine.resume({ run: report.id }, ctx)),
    };
  } finally {
    if (before === undefined) delete process.env.CUDAMASTER_HOME;
    else process.env.CUDAMASTER_HOME = before;
  }
}

/** Builds and profiles are done by real processes; other sessions are answered as a GPU would. */
function executorOf(tools: ToolPaths, verifies: boolean): Executor {
  return {
    name: 'local',
    execute: (bundle, options) =>
      new LocalExecutor(tools, {
        buildCacheDir: null,
        runSession: async (plan, context) => {
          if (plan.mode === 'profile' || (verifies && plan.mode === 'verify' && plan.arm.id === 'C'))
            return runSession(plan, context);
          const { status, reason, session } = sessionOf(bundle, plan.mode, 'phase' in plan ? plan.phase : null);
          return { status, reason, result: session } as Awaited<ReturnType<typeof runSession>>;
        },
      }).execute(bundle, options),
  };
}

function sessionOf(bundle: JobBundle, mode: string, phase: string | null) {
  const steps = resultFor(bundle).steps;
  const index = bundle.job.steps.findIndex(
    (s) =>
      s.kind === 'session' && s.plan.mode === mode && (phase === null || ('phase' in s.plan && s.plan.phase === phase)),
  );
  const found = steps[index];
  if (!found) throw new Error(`the job has no session ${mode} ${phase ?? ''}`);
  return found;
}

/** Prompts by which a model is told that its code is at fault. */
export const askedToDebug = (ran: Ran): readonly string[] => ran.prompts.filter((p) => p.includes('You find out why'));

/** The event that says why the run ended, as the history keeps it. */
export const endOf = (ran: Ran) => ran.events.findLast((e) => e.type === 'run-ended');
