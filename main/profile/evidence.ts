import type { Finding, Launch, MetricValue, Verdict } from '../contract/index.ts';
import data from './evidence.json' with { type: 'json' };
import { type Formula, formula } from './formula.ts';
import { describeMetric, launchOf } from './table2.ts';

interface Limit {
  readonly above?: number;
  readonly below?: number;
}
/** Limit and unit of the way, where they are not the rule's. */
interface Way extends Limit {
  readonly unit?: string;
  readonly formula: string;
  /** The one state this way can give ("found" or "clear"); `words` say why not the other. */
  readonly only?: string;
  readonly words?: string;
}
interface Rule extends Limit {
  readonly id: string;
  readonly label: string;
  readonly unit: string;
  readonly measure: string;
  readonly ways: readonly Way[];
  readonly also?: Limit & { readonly ways: readonly string[]; readonly words: string };
  readonly applies?: { readonly formula: string; readonly words: string };
  readonly smallest?: Readonly<Record<string, string>>;
  readonly found: string;
  readonly clear: string;
  /** Over the limit, but `also` does not hold. */
  readonly covered?: string;
}
interface Input {
  readonly ids: readonly string[];
  readonly label?: string;
  readonly meaning?: string;
}

const rules = data.findings as readonly Rule[];
const inputs = data.inputs as Readonly<Record<string, Input>>;

/** Quotients and rates are printed with two decimals; counts and limits are whole. */
const ROUNDED = /\.ratio$|\.pct$|pct_of_peak|per_cycle|_pct$|waves_per|Occupancy\/Theoretical/;
const HALF_STEP = 0.005;

interface Evaluated {
  readonly value: number;
  /** How far the rounding of the inputs can move the value. */
  readonly plusMinus: number;
}

/**
 * The finer bottlenecks of one launch, every rule of evidence.json in its order. `found` and `clear` need all inputs, and a value that the
 * rounding of ncu's output cannot carry over the limit; else `unknown` says what is missing.
 */
export function findingsOf(launch: Launch): Finding[] {
  return rules.map((rule) => findingOf(rule, launch));
}

/** The findings of the launch that the verdict is about; none without such a launch. Beside table2's evidenceView: the judged form of it. */
export function findings(launches: readonly Launch[], of: Verdict): Finding[] {
  const launch = launchOf(launches, of);
  return launch === undefined ? [] : findingsOf(launch);
}

function findingOf(rule: Rule, launch: Launch): Finding {
  const result = (
    state: Finding['state'],
    value: MetricValue,
    sentence: string,
    names: readonly string[],
  ): Finding => ({
    ...{ id: rule.id, label: rule.label, state, value, rule: ruleWords(rule), sentence },
    evidence: [...new Set(names)].map((name) => evidenceOf(name, launch)),
  });
  const unknown = (reason: string, names: readonly string[]): Finding =>
    result('unknown', { available: false, reason }, `Not known: ${reason}.`, names);

  if (rule.applies !== undefined) {
    const use = parsed(rule.applies.formula);
    const much = evaluate(use, launch);
    if (much !== null && much.value <= 0)
      return result(
        'not-applicable',
        { available: false, reason: rule.applies.words },
        `Does not apply: ${rule.applies.words}.`,
        use.names,
      );
  }
  // A way that cannot decide leaves it to the next one.
  let undecided: Finding | null = null;
  for (const way of rule.ways) {
    const of = parsed(way.formula);
    const measured = evaluate(of, launch);
    if (measured === null) continue;
    const unit = way.unit ?? rule.unit;
    const value: MetricValue = { available: true, value: measured.value, unit };
    const names = [...of.names, ...Object.keys(rule.smallest ?? {})];
    const say = (text: string): string => filled(text, shown(measured.value, unit), rule, launch);
    const beyond = isBeyond(measured, way.above === undefined && way.below === undefined ? rule : way);
    if (beyond === null) {
      undecided ??= unknown(`${shown(measured.value, unit)} is too near the limit for two decimals`, names);
    } else if (way.only === (beyond ? 'clear' : 'found')) {
      undecided ??= unknown(way.words ?? 'these metrics cannot tell', names);
    } else if (!beyond) {
      return result('clear', value, say(rule.clear), names);
    } else {
      if (rule.also === undefined) return result('found', value, say(rule.found), names);
      const also = alsoHolds(rule.also, launch);
      if (also.holds === null) return unknown(also.reason, [...names, ...also.names]);
      const text = also.holds ? rule.found : (rule.covered ?? rule.clear);
      return result(also.holds ? 'found' : 'clear', value, say(text), [...names, ...also.names]);
    }
  }
  if (undecided !== null) return undecided;
  const { reason, names } = lacking(rule, launch);
  return unknown(reason, names);
}

const formulas = new Map<string, Formula>();
function parsed(text: string): Formula {
  const known = formulas.get(text) ?? formula(text);
  formulas.set(text, known);
  return known;
}

/** Value of an input, and how far its rounding can be off. */
function input(
  name: string,
  launch: Launch,
): { readonly id: string; readonly value: MetricValue; readonly step: number } {
  const ids = inputs[name]?.ids ?? [];
  const id =
    ids.find((each) => launch.metrics[each]?.available) ?? ids.find((each) => each in launch.metrics) ?? ids[0] ?? name;
  const value = launch.metrics[id] ?? { available: false, reason: `${id} is not in ncu's output` };
  return { id, value, step: ROUNDED.test(id) ? HALF_STEP : 0 };
}

/** null: an input is missing or the formula has no value. */
function evaluate(of: Formula, launch: Launch): Evaluated | null {
  const values: Record<string, number> = {};
  const steps: Record<string, number> = {};
  for (const name of of.names) {
    const { value, step } = input(name, launch);
    if (!value.available) return null;
    values[name] = value.value;
    steps[name] = step;
  }
  const value = of.value(values);
  if (value === null) return null;
  let plusMinus = 0;
  for (const name of of.names) {
    const step = steps[name] as number;
    if (step === 0) continue;
    const off = [step, -step].map((by) => {
      const moved = of.value({ ...values, [name]: (values[name] as number) + by });
      return moved === null ? Number.POSITIVE_INFINITY : Math.abs(moved - value);
    });
    plusMinus += Math.max(...off);
  }
  return { value, plusMinus };
}

/** null: within the rounding of the limit. At the limit exactly is not beyond it. */
function isBeyond({ value, plusMinus }: Evaluated, { above, below }: Limit): boolean | null {
  const distance = above !== undefined ? value - above : (below as number) - value;
  if (plusMinus === 0) return distance > 0;
  return Math.abs(distance) < plusMinus ? null : distance > 0;
}

function alsoHolds(
  also: NonNullable<Rule['also']>,
  launch: Launch,
): { readonly holds: boolean | null; readonly reason: string; readonly names: readonly string[] } {
  let near: readonly string[] | null = null;
  for (const way of also.ways) {
    const of = parsed(way);
    const measured = evaluate(of, launch);
    if (measured === null) continue;
    const holds = isBeyond(measured, also);
    if (holds !== null) return { holds, reason: '', names: of.names };
    near ??= of.names;
  }
  if (near !== null) return { holds: null, reason: 'a value is too near its limit for two decimals', names: near };
  const names = parsed(also.ways[0] as string).names;
  return { holds: null, reason: firstMissing(names, launch) ?? 'no value', names };
}

const firstMissing = (names: readonly string[], launch: Launch): string | null => {
  for (const name of names) {
    const { id, value } = input(name, launch);
    if (!value.available) return value.reason.includes(id) ? value.reason : `${id}: ${value.reason}`;
  }
  return null;
};

/** What the way with fewest inputs missing lacks. */
function lacking(rule: Rule, launch: Launch): { readonly reason: string; readonly names: readonly string[] } {
  const ways = rule.ways.filter((way) => way.only === undefined).map((way) => parsed(way.formula).names);
  const absent = (names: readonly string[]): number =>
    names.filter((name) => !input(name, launch).value.available).length;
  const names = ways.reduce((best, way) => (absent(way) < absent(best) ? way : best), ways[0] ?? []);
  return { reason: firstMissing(names, launch) ?? 'the quantities are all zero', names };
}

function evidenceOf(name: string, launch: Launch): Finding['evidence'][number] {
  const { id, value } = input(name, launch);
  const known = inputs[name];
  const described = describeMetric(id) ?? (known?.ids ?? []).map(describeMetric).find((each) => each !== null);
  return {
    id,
    label: known?.label ?? described?.label ?? id,
    meaning: known?.meaning ?? described?.meaning ?? '',
    value,
  };
}

const limitWords = ({ above, below }: Limit, unit: string): string =>
  above !== undefined ? `above ${shown(above, unit)}` : `below ${shown(below as number, unit)}`;

function ruleWords(rule: Rule): string {
  const also = rule.also === undefined ? '' : `, with ${rule.also.words}`;
  return `${rule.measure}; found when ${limitWords(rule, rule.unit)}${also}`;
}

/** "52.7 %", "18 bytes", "0.97 waves", "1,024". */
function shown(value: number, unit: string): string {
  if (unit === '%') return `${Number.isInteger(value) ? value : value.toFixed(1)} %`;
  const rounded = Number.isInteger(value)
    ? `${value}`.replace(/\B(?=(?:\d{3})+$)/g, ',')
    : value.toFixed(2).replace(/\.?0+$/, '');
  return unit === '' ? rounded : `${rounded} ${unit === 'byte' ? 'bytes' : unit}`;
}

function filled(text: string, value: string, rule: Rule, launch: Launch): string {
  return text.replace('{value}', value).replace('{smallest}', smallestOf(rule.smallest ?? {}, launch));
}

/** The names of the smallest inputs: several may limit alike. */
function smallestOf(names: Readonly<Record<string, string>>, launch: Launch): string {
  const known = Object.entries(names).map(([name, words]) => ({ words, value: input(name, launch).value }));
  const values = known.flatMap(({ value }) => (value.available ? [value.value] : []));
  if (values.length < known.length) return 'not known';
  const least = Math.min(...values);
  return known.flatMap(({ words, value }) => (value.available && value.value === least ? [words] : [])).join(' and ');
}

/** Every metric id the findings can use, for asking ncu; labels of the details page are none. */
export function evidenceMetricIds(): string[] {
  return [...new Set(Object.values(inputs).flatMap(({ ids }) => ids))].filter((id) => !id.includes('/'));
}

/** Inputs of a rule's least demanding way, and what its other conditions need. */
function namesOf(rule: Rule): string[] {
  const ways = rule.ways.filter((way) => way.only === undefined).map((way) => parsed(way.formula).names);
  const fewest = ways.reduce((best, names) => (names.length < best.length ? names : best), ways[0] ?? []);
  return [
    ...fewest,
    ...(rule.also === undefined ? [] : parsed(rule.also.ways[0] as string).names),
    ...(rule.applies === undefined ? [] : parsed(rule.applies.formula).names),
    ...Object.keys(rule.smallest ?? {}),
  ];
}

/**
 * The ids to ask for and what to ask where ncu does not know one: every rule can be decided with them, by its least demanding way, for
 * each further metric may cost another pass over the kernel.
 */
export function evidenceIds(): { readonly ids: string[]; readonly instead: Record<string, string[]> } {
  const names = [...new Set(rules.flatMap(namesOf))];
  const known = names.map((name) => (inputs[name]?.ids ?? []).filter((id) => !id.includes('/')));
  const ids = known.flatMap(([first]) => (first === undefined ? [] : [first]));
  const instead = known.flatMap(([first, ...others]) =>
    first === undefined || others.length === 0 ? [] : [[first, others] as const],
  );
  return { ids: [...new Set(ids)], instead: Object.fromEntries(instead) };
}
