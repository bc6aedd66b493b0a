/** The start form: its fields as text, checked and turned into the parameters of `runs.start`. Pure. */
import type { ProviderLine, StartRun, TaskEntry } from '../../../main/contract/api.ts';
import type { AgentName } from '../../../main/contract/chat.ts';
import { promptHost } from '../../../main/contract/place.ts';
import type { ProfileMode } from '../../../main/contract/profile.ts';
import type { Dtype, SizeSet } from '../../../main/contract/task.ts';

export const agents = ['planner', 'coder', 'compiler', 'debug'] as const satisfies readonly AgentName[];

export interface AgentFields {
  readonly provider: string;
  readonly model: string;
}

export interface StartFields {
  readonly task: string;
  readonly dtype: Dtype;
  readonly sizeSet: SizeSet;
  readonly rounds: string;
  readonly debugAttempts: string;
  readonly profile: ProfileMode;
  readonly approve: boolean;
  readonly provider: string;
  readonly model: string;
  readonly baseUrl: string;
  readonly keyEnv: string;
  readonly effort: '' | 'low' | 'medium' | 'high';
  readonly agents: Readonly<Record<AgentName, AgentFields>>;
  readonly maxUsd: string;
  readonly maxTokens: string;
  readonly maxMinutes: string;
  readonly contextTokens: string;
  readonly executor: 'local' | 'bundle';
  readonly gpu: string;
  readonly arch: string;
  readonly notes: string;
  readonly localOnly: boolean;
  readonly from: string;
}

const noAgent: AgentFields = { provider: '', model: '' };

export const defaultFields: StartFields = {
  task: '',
  dtype: 'fp32',
  sizeSet: 'published',
  rounds: '3',
  debugAttempts: '3',
  profile: 'filtered',
  approve: false,
  provider: 'manual',
  model: '',
  baseUrl: '',
  keyEnv: '',
  effort: '',
  agents: { planner: noAgent, coder: noAgent, compiler: noAgent, debug: noAgent },
  maxUsd: '',
  maxTokens: '',
  maxMinutes: '',
  contextTokens: '',
  executor: 'local',
  gpu: '',
  arch: '',
  notes: '',
  localOnly: false,
  from: '',
};

export type StartErrors = Partial<Record<keyof StartFields, string>>;

/** A number as people type it; undefined: left empty; null: none. */
function numberIn(text: string): number | null | undefined {
  const bare = text.trim().replaceAll(',', '').replaceAll('_', '');
  if (bare === '') return undefined;
  const value = Number(bare);
  return Number.isFinite(value) ? value : null;
}

interface Rule {
  readonly whole: boolean;
  readonly min: number;
  readonly max?: number;
  readonly what: string;
}

const rules: Partial<Record<keyof StartFields, Rule>> = {
  rounds: { whole: true, min: 1, max: 50, what: 'a whole number from 1 to 50' },
  debugAttempts: { whole: true, min: 0, max: 20, what: 'a whole number from 0 to 20' },
  maxUsd: { whole: false, min: Number.MIN_VALUE, what: 'an amount above 0, in US dollars' },
  maxTokens: { whole: true, min: 1, what: 'a whole number above 0' },
  maxMinutes: { whole: false, min: Number.MIN_VALUE, what: 'a number of minutes above 0' },
  contextTokens: { whole: true, min: 1, what: 'a whole number above 0' },
};

function checkNumber(text: string, rule: Rule): { value?: number; error?: string } {
  const value = numberIn(text);
  if (value === undefined) return {};
  const good =
    value !== null && (!rule.whole || Number.isInteger(value)) && value >= rule.min && value <= (rule.max ?? Infinity);
  return good ? { value: value as number } : { error: `Give ${rule.what}, or leave it empty.` };
}

const given = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim());

/** Host of an address that leads off this machine; null: this machine, or no address at all. */
export const remoteHost = (address: string): string | null => promptHost(address, '');

/** Provider and model of everyone that the run would ask; an agent without a model of its own asks for the run's. */
const asked = (f: StartFields): { readonly name: string; readonly model: string }[] => [
  { name: f.provider, model: f.model },
  ...agents
    .map((a) => f.agents[a])
    .filter((own) => own.provider.trim() !== '' || own.model.trim() !== '')
    .map((own) => ({ name: own.provider.trim() || f.provider, model: own.model.trim() || f.model })),
];

/** Where prompts for one of them go, and what is told of it. An address that the user gave decides before the provider's own. */
function placeOf(f: StartFields, line: ProviderLine, model: string) {
  if (line.name === f.provider && f.baseUrl.trim() !== '')
    return { host: promptHost(f.baseUrl, model), disclosure: null, consented: false };
  if (line.remote !== null) return { host: line.remote, disclosure: line.disclosure, consented: line.consented };
  return { host: line.baseUrl === null ? null : promptHost(line.baseUrl, model), disclosure: null, consented: false };
}

/** What is sent where, before the first request to a host that was not agreed to. */
export function consentNeeded(
  f: StartFields,
  providers: readonly ProviderLine[],
  /** Hosts agreed to earlier. */
  agreed: readonly string[] = [],
): { readonly host: string; readonly disclosure: string | null; readonly providers: readonly string[] }[] {
  const hosts = new Map<string, { disclosure: string | null; providers: string[] }>();
  for (const { name, model } of asked(f)) {
    const line = providers.find((p) => p.name === name);
    if (!line) continue;
    const { host, disclosure, consented } = placeOf(f, line, model);
    if (host === null || consented || agreed.includes(host)) continue;
    const known = hosts.get(host) ?? { disclosure, providers: [] };
    if (!known.providers.includes(line.title)) known.providers.push(line.title);
    hosts.set(host, known);
  }
  return [...hosts].map(([host, rest]) => ({ host, ...rest }));
}

/** What there is to choose of a task's sizes, and why not all of it; sizes null: not known. */
export function sizeChoice(sizes: TaskEntry['sizes']): {
  readonly options: readonly { readonly value: SizeSet; readonly label: string; readonly disabled?: boolean }[];
  readonly why: string | null;
} {
  const none = sizes !== null && sizes.large === 0;
  return {
    options: [
      { value: 'published', label: `published${sizes ? ` (${sizes.published})` : ''}` },
      { value: 'large', label: `large${sizes && !none ? ` (${sizes.large})` : ''}`, disabled: none },
    ],
    why: none ? 'This task states no large sizes.' : null,
  };
}

/** Parameters of `runs.start`, or what is wrong by field. `sizes`: those of the chosen task; null: not known. */
export function startParams(
  f: StartFields,
  sizes: TaskEntry['sizes'] = null,
): { params?: StartRun; errors: StartErrors } {
  const errors: StartErrors = {};
  const numbers: Record<string, number | undefined> = {};
  for (const [field, rule] of Object.entries(rules) as [keyof StartFields, Rule][]) {
    const { value, error } = checkNumber(f[field] as string, rule);
    numbers[field] = value;
    if (error !== undefined) errors[field] = error;
  }
  if (f.task === '') errors.task = 'Choose a task.';
  // Kept from a run of another task, or in the form before the task was chosen.
  if (f.sizeSet === 'large' && sizes?.large === 0)
    errors.sizeSet = 'This task states no large sizes: choose the published ones.';
  if (f.provider !== 'manual' && f.model.trim() === '')
    errors.model = 'Give the model as the provider names it, or choose “By hand”.';
  if (f.executor === 'bundle' && f.arch.trim() !== '' && !/^sm_\d+[a-z]?$/.test(f.arch.trim()))
    errors.arch = 'Give the architecture as sm_NN, such as sm_90.';
  if (Object.keys(errors).length > 0) return { errors };
  const overrides = agents.flatMap((a) => {
    const { provider, model } = f.agents[a];
    const choice = { provider: given(provider), model: given(model) };
    return choice.provider || choice.model ? [[a, choice] as const] : [];
  });
  return {
    errors,
    params: {
      task: f.task,
      dtype: f.dtype,
      sizeSet: f.sizeSet,
      profile: f.profile,
      executor: f.executor,
      gpu: f.executor === 'local' ? given(f.gpu) : undefined,
      arch: given(f.arch),
      ...numbers,
      provider: f.provider,
      model: given(f.model),
      baseUrl: given(f.baseUrl),
      keyEnv: given(f.keyEnv),
      agents: overrides.length > 0 ? Object.fromEntries(overrides) : undefined,
      effort: f.effort === '' ? undefined : f.effort,
      localOnly: f.localOnly || undefined,
      notes: given(f.notes),
      approve: f.approve || undefined,
      from: given(f.from),
    },
  };
}

/** The most requests a run can make: per round one Planner, per attempt Coder and Compiler, per repair one Debug. */
export function mostRequests(f: StartFields): number | null {
  const rounds = numberIn(f.rounds) ?? 3;
  const debug = numberIn(f.debugAttempts) ?? 3;
  if (!Number.isInteger(rounds) || !Number.isInteger(debug)) return null;
  return rounds * (1 + 2 * (1 + debug) + debug);
}

/** Fields as they were kept; anything of another shape gives the defaults for that field. */
export function restoreFields(text: string | null): StartFields {
  if (text === null) return defaultFields;
  try {
    const stored = JSON.parse(text) as Record<string, unknown>;
    const merged: Record<string, unknown> = { ...defaultFields };
    for (const [key, value] of Object.entries(defaultFields))
      if (typeof stored[key] === typeof value && key !== 'from' && key !== 'agents') merged[key] = stored[key];
    return merged as unknown as StartFields;
  } catch {
    return defaultFields;
  }
}
