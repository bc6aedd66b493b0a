import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deriveSeed, Prng } from '../../main/base/random.ts';
import type { Comparison, Dtype, Problem, Task } from '../../main/contract/index.ts';
import { resolveProblem, sanitizeProblems } from '../../main/evaluate/task/index.ts';
import { outputsOf, problemText } from '../../main/jobs/session/problem-text.ts';
import { comparisonPassed } from '../../main/jobs/verified.ts';
import { newFolder } from '../harness/build.ts';
import { Program, positionsBlob } from '../harness/client.ts';
import { taskJudge } from './judges.ts';
import {
  elementCount,
  load,
  type MutationId,
  mutate,
  mutations,
  nextDown,
  nextUp,
  type Right,
  store,
} from './mutate.ts';

/** Fixed, so that everybody gets the same table. */
const root = 'mutations';

export interface Cell {
  /** What refused it; null: every problem let it pass. */
  readonly by: 'not finite' | 'elements' | 'RMS' | null;
  /** Where, if not at the default inputs of the first size: the id of the problem. */
  readonly problem: string | null;
  /** Nowhere did it differ from the right output by a bit. */
  readonly identical: boolean;
}

export interface Row {
  readonly task: string;
  readonly dtype: Dtype;
  readonly output: string;
  readonly cells: Readonly<Record<MutationId, Cell>>;
  /** Right outputs refused: the reference itself, or one with an element just within its limit. Must be empty. */
  readonly refused: readonly string[];
}

export interface Explanation {
  readonly task: string;
  readonly dtype: Dtype;
  readonly output: string;
  readonly mutation: MutationId;
  readonly reason: string;
}

/** What a small verification runs, in the order of how much it shows: default inputs, special inputs, edge sizes. */
export function mutationProblems(task: Task, dtype: Dtype): Problem[] {
  const small = sanitizeProblems(task, dtype, deriveSeed(root, task.id, dtype));
  const outputs = (problem: Problem): number =>
    Math.min(...outputsOf(problem).map((buffer) => problem.buffers[buffer]?.count ?? 0));
  const [drawn, edges] = [small.slice(0, 2), small.slice(2).filter((problem) => !problem.id.includes('+'))];
  drawn.sort((a, b) => outputs(b) - outputs(a));
  const first = drawn[0] as Problem;
  const special = task.verifyInputs.map((input) => resolveProblem(task, dtype, first.dims, first.id, input.id));
  return [...drawn, ...special, ...edges];
}

/** One judge, one problem, one output at a time. */
class Bench {
  readonly judge: Program;
  readonly folder: string;
  problem: Problem | null = null;

  constructor(judge: Program, folder: string) {
    this.judge = judge;
    this.folder = folder;
  }

  async set(problem: Problem): Promise<void> {
    if (this.problem === problem) return;
    await this.judge.ok('problem', problemText(problem, 'guarded'));
    this.problem = problem;
  }

  async reference(seed: string, buffer: number): Promise<Buffer> {
    await this.judge.ok('reference', `${seed} ${buffer} out.bin`);
    return readFileSync(join(this.folder, 'out.bin'));
  }

  async compare(seed: string, buffer: number, bytes: Buffer): Promise<Comparison> {
    writeFileSync(join(this.folder, 'out.bin'), bytes);
    return (await this.judge.ok('all', `${seed} ${buffer} out.bin`)).json.comparison;
  }

  /** Reference and limit of one element, as the judge words them when it refuses a value there; null where it has none. */
  async limitAt(seed: string, buffer: number, i: number): Promise<{ want: number; limit: number } | null> {
    const spec = this.problem?.buffers[buffer];
    const raw = Buffer.alloc(spec?.elem === 'bf16' ? 2 : 4, 0xff);
    const { json } = await this.judge.ok('at', `${seed} ${buffer}`, Buffer.concat([positionsBlob([i]), raw]));
    const wrong = json.first[0];
    return wrong && typeof wrong.want === 'number' ? { want: wrong.want, limit: wrong.limit } : null;
  }
}

/** Values next to the limit of an element: the last that passes and the first that must not. */
function aroundLimit(
  elem: Right['elem'],
  stored: number,
  at: { want: number; limit: number } | null,
): [number, number] {
  if (elem === 'i32' || at === null || at.limit === 0) return [stored, nextUp(elem, stored)];
  const cell = Buffer.alloc(4);
  store(elem, cell, 0, at.want + at.limit);
  let beyond = Math.max(load(elem, cell, 0), stored);
  const allowed = (value: number): boolean => Math.abs(value - at.want) / at.limit <= 1;
  while (!allowed(beyond) && beyond > stored) beyond = nextDown(elem, beyond);
  while (allowed(beyond)) beyond = nextUp(elem, beyond);
  return [nextDown(elem, beyond), beyond];
}

/** The same problem with an output kept in fp32, to see what was rounded away. */
const widened = (problem: Problem, buffer: number): Problem => ({
  ...problem,
  buffers: problem.buffers.map((spec, index) => (index === buffer ? { ...spec, elem: 'f32' } : spec)),
});

interface Case extends Right {
  readonly problem: Problem;
  readonly buffer: number;
  readonly seed: string;
  readonly within: number;
}

async function rightCase(bench: Bench, problem: Problem, buffer: number, task: string, dtype: Dtype): Promise<Case> {
  const elem = problem.buffers[buffer]?.elem as Right['elem'];
  const seed = deriveSeed(root, task, dtype, problem.id);
  let wide: Buffer | null = null;
  // In and out in one: the input would change with the format, and what is sorted or copied is a bf16 already.
  if (elem === 'bf16' && problem.buffers[buffer]?.role === 'out') {
    await bench.set(widened(problem, buffer));
    wide = await bench.reference(seed, buffer);
  }
  await bench.set(problem);
  const bytes = await bench.reference(seed, buffer);
  const other = await bench.reference(deriveSeed(root, 'stale', task, dtype, problem.id), buffer);
  const position = new Prng(`${seed}:position`).int(0, elementCount(elem, bytes) - 1);
  const stored = load(elem, bytes, position);
  const [within, beyond] = aroundLimit(elem, stored, await bench.limitAt(seed, buffer, position));
  return { problem, buffer, seed, elem, bytes, wide, other, position, within, beyond };
}

/** Right outputs that the judge refuses: none, if the limits are those of the definition. */
async function refusedRight(bench: Bench, at: Case): Promise<string[]> {
  const passes = async (bytes: Buffer): Promise<Comparison | null> => {
    const comparison = await bench.compare(at.seed, at.buffer, bytes);
    return comparisonPassed(comparison, at.problem) ? null : comparison;
  };
  const refused: string[] = [];
  const exact = await passes(at.bytes);
  if (exact) refused.push(`${at.problem.id}: the correctly rounded reference: ${JSON.stringify(exact)}`);
  const near = Buffer.from(at.bytes);
  store(at.elem, near, at.position, at.within);
  const comparison = await bench.compare(at.seed, at.buffer, near);
  if (comparison.bad !== 0) refused.push(`${at.problem.id}: element ${at.position} = ${at.within}, within its limit`);
  return refused;
}

const refusal = (comparison: Comparison): NonNullable<Cell['by']> =>
  comparison.nonFinite > 0 ? 'not finite' : comparison.bad > 0 ? 'elements' : 'RMS';

async function cellOf(bench: Bench, id: MutationId, cases: readonly Case[]): Promise<Cell> {
  let identical = true;
  for (const [index, at] of cases.entries()) {
    const wrong = mutate(id, at);
    if (wrong.equals(at.bytes)) continue;
    identical = false;
    await bench.set(at.problem);
    const comparison = await bench.compare(at.seed, at.buffer, wrong);
    if (comparisonPassed(comparison, at.problem)) continue;
    return { by: refusal(comparison), problem: index === 0 ? null : at.problem.id, identical };
  }
  return { by: null, problem: null, identical };
}

async function rowOf(bench: Bench, task: Task, dtype: Dtype, output: string): Promise<Row> {
  const cases: Case[] = [];
  const refused: string[] = [];
  for (const problem of mutationProblems(task, dtype)) {
    const buffer = problem.buffers.findIndex((spec) => spec.name === output);
    const at = await rightCase(bench, problem, buffer, task.id, dtype);
    cases.push(at);
    refused.push(...(await refusedRight(bench, at)));
  }
  const cells = {} as Record<MutationId, Cell>;
  for (const { id } of mutations) cells[id] = await cellOf(bench, id, cases);
  return { task: task.id, dtype, output, cells, refused };
}

/** The rows of one task and dtype, one for each output. */
export async function rowsOf(task: Task, dir: string, dtype: Dtype): Promise<Row[]> {
  const folder = newFolder();
  const judge = await Program.start(await taskJudge(task.id, dir), folder);
  try {
    const bench = new Bench(judge, folder);
    const rows: Row[] = [];
    for (const param of task.wrapper.params)
      if (param.role === 'out' || param.role === 'inout') rows.push(await rowOf(bench, task, dtype, param.name));
    return rows;
  } finally {
    await judge.quit();
    rmSync(folder, { recursive: true, force: true });
  }
}

export const explanations: readonly Explanation[] = JSON.parse(
  readFileSync(join(import.meta.dirname, 'explained.json'), 'utf8'),
);

const explanationOf = (row: Row, mutation: MutationId): Explanation | undefined =>
  explanations.find(
    (entry) =>
      entry.task === row.task &&
      entry.dtype === row.dtype &&
      entry.output === row.output &&
      entry.mutation === mutation,
  );

/** What is wrong with a row: right outputs refused, holes without a reason, reasons without a hole. */
export function faultsOf(row: Row): string[] {
  const name = `${row.task} ${row.dtype} ${row.output}`;
  const faults = row.refused.map((text) => `${name}: right output refused: ${text}`);
  for (const { id } of mutations) {
    const cell = row.cells[id];
    const explained = explanationOf(row, id) !== undefined;
    if (cell.by === null && !explained)
      faults.push(`${name}: "${id}" passes everywhere${cell.identical ? ' (identical to the right output)' : ''}`);
    if (cell.by !== null && explained)
      faults.push(`${name}: "${id}" is refused, test/mutations/explained.json excuses it`);
  }
  return faults;
}

const reasons = [...new Set(explanations.map((entry) => entry.reason))];

function cellText(row: Row, id: MutationId): string {
  const { by, problem, identical } = row.cells[id];
  const explained = explanationOf(row, id);
  if (by === null)
    return `${identical ? 'identical' : 'passes'}${explained ? ` [${reasons.indexOf(explained.reason) + 1}]` : ', UNEXPLAINED'}`;
  return problem === null ? by : `${by} (${problem})`;
}

/** A row of docs/mutations.md. */
export const rowText = (row: Row): string =>
  `| ${[row.task, row.dtype, row.output, ...mutations.map(({ id }) => cellText(row, id)), row.refused.length === 0 ? 'yes' : 'NO'].join(' | ')} |`;

/** Reasons in the order of their numbers. */
export const reasonLines = (): string[] => reasons.map((reason, index) => `${index + 1}. ${reason}`);
