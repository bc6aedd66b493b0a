/**
 * Evaluates every candidate of test/candidates (honest, wrong and cheating ones) and compares the verdict with the one expected.
 * What the screen refuses is evaluated a second time without the screen: the later steps must catch it by themselves.
 * Usage: node dist/candidates.js ROOT [--only SUBSTRING] [--minutes 9] [--json FILE]; prints a markdown table, exit 1 on a surprise.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newRootSeed } from '../../main/base/random.ts';
import { type Dtype, type Evaluation, type Outcome, unwrap } from '../../main/contract/index.ts';
import { interpretEvaluation } from '../../main/evaluate/interpret.ts';
import { planEvaluation } from '../../main/evaluate/plan.ts';
import { screen } from '../../main/evaluate/screen/index.ts';
import { evaluationInput, execute, localExecutor, options, task } from './common.ts';

interface Entry {
  readonly file: string;
  readonly task: string;
  readonly dtype: Dtype;
  readonly expect: readonly Outcome[];
  readonly why: string;
}

const { root, option } = options();
const only = option('only', '');
const deadline = Date.now() + Number(option('minutes', '9')) * 60_000;
const entries = (JSON.parse(readFileSync(join(root, 'test/candidates/index.json'), 'utf8')) as Entry[]).filter((e) =>
  e.file.includes(only),
);
const executor = await localExecutor();
const outcomes: { entry: Entry; screen: string | null; evaluation: Evaluation | null }[] = [];

console.log('| candidate | screen | expected | without screen | reason | wall s |\n|---|---|---|---|---|---|');
for (const entry of entries) {
  const source = readFileSync(join(root, 'test/candidates', entry.file), 'utf8');
  const loaded = task(root, entry.task);
  const { rejections } = screen(source, loaded.task, entry.dtype);
  const refused = rejections[0] ? `line ${rejections[0].line}: ${rejections[0].rule}` : null;
  const started = performance.now();
  const evaluation = Date.now() > deadline ? null : await evaluate(entry, source);
  outcomes.push({ entry, screen: refused, evaluation });
  const cells = [
    entry.file,
    refused ?? 'passes',
    entry.expect.join(' or '),
    evaluation?.outcome ?? 'not run: out of time',
    (evaluation?.reason ?? '').replaceAll('|', '/').replaceAll('\n', ' ').slice(0, 220),
    ((performance.now() - started) / 1000).toFixed(1),
  ];
  console.log(`| ${cells.join(' | ')} |`);
}

const file = option('json', '');
if (file !== '') writeFileSync(file, JSON.stringify(outcomes));
const surprises = outcomes.filter(({ entry, screen: refused, evaluation }) => {
  const verdicts: (Outcome | undefined)[] = [refused === null ? undefined : 'screen-rejected', evaluation?.outcome];
  return !verdicts.some((v) => v !== undefined && entry.expect.includes(v));
});
const harmful = outcomes.filter(({ entry, evaluation }) => {
  const accepted = evaluation?.outcome === 'accepted' || evaluation?.outcome === 'trade-off';
  return accepted && !entry.expect.includes('accepted');
});
console.log(
  `\n${outcomes.length} candidates, ${surprises.length} with another verdict than expected (${surprises.map((s) => s.entry.file).join(', ') || 'none'}), `,
);
console.log(
  `${harmful.length} accepted that must not be, screen or not (${harmful.map((s) => s.entry.file).join(', ') || 'none'})`,
);
process.exitCode = surprises.length + harmful.length === 0 ? 0 : 1;

async function evaluate(entry: Entry, source: string): Promise<Evaluation> {
  const input = evaluationInput(task(root, entry.task), entry.dtype, source, entry.file);
  const bundle = unwrap(planEvaluation(input));
  return interpretEvaluation(input, bundle, await execute(executor, bundle, newRootSeed(), entry.file));
}
