import { scanBlocks } from './fence.ts';
import { jsonObjects } from './json-reply.ts';
import { defineName, defineTold, defineValue, nvccFlags, ptxasFlags, ptxasTold, refusals } from './nvcc-flags.ts';
import { stripThinking } from './thinking.ts';

export interface CheckedArguments {
  /** Canonical, without duplicates, in the order given. */
  readonly arguments: readonly string[];
  readonly refused: readonly { readonly argument: string; readonly why: string }[];
}

/** What is compiled with when nothing better is asked for. */
export const defaultArguments: readonly string[] = ['-O3', '-std=c++17'];

/** The allow-list in words, for the Compiler's prompt. */
export function allowedInWords(): string {
  const lines = nvccFlags.map((f) => f.told).filter((t) => t !== '');
  return [...lines, ptxasTold, defineTold].map((t) => `- ${t}`).join('\n');
}

type Verdict = { readonly ok: string; readonly key: string } | { readonly why: string };

function checkDefine(body: string): Verdict {
  const eq = body.indexOf('=');
  const name = eq < 0 ? body : body.slice(0, eq);
  const value = eq < 0 ? '' : body.slice(eq + 1);
  if (!defineName.test(name)) return { why: `the macro name ${name || '(none)'} is not free` };
  if (!defineValue.test(value)) return { why: `the value of ${name} may hold letters, digits and _.+- only` };
  return { ok: `-D${body}`, key: `-D${name}` };
}

function checkPtxas(option: string): Verdict {
  if (!ptxasFlags.some((rule) => rule.test(option)))
    return { why: `ptxas option ${option || '(none)'} is not on the list` };
  return { ok: `-Xptxas=${option}`, key: `-Xptxas=${option.split('=')[0]?.replace(/\d$/, '')}` };
}

function refusalOf(bare: string): string {
  return refusals.find(([pattern]) => pattern.test(bare))?.[1] ?? 'not on the list of allowed options';
}

function checkOne(flag: string, value: string | null): Verdict {
  const bare = flag.replace(/^--?/, '');
  const rule = nvccFlags.find((r) => r.aliases.includes(bare));
  if (rule === undefined) return { why: refusalOf(bare) };
  if (rule.value === null) {
    const family = /^-O\d$/.test(rule.flag) ? '-O' : rule.flag;
    return value === null ? { ok: rule.flag, key: family } : { why: `${flag} takes no value` };
  }
  if (value === null || !rule.value.test(value))
    return { why: `${flag} with value ${value ?? '(none)'} is not allowed` };
  return { ok: `${rule.flag}=${value}`, key: rule.flag };
}

const takesNext =
  /^(-Xptxas|--ptxas-options|-D|--define-macro|--?maxrregcount|--?std|--?fmad|--?ftz|--?prec-div|--?prec-sqrt)$/;
/** Refused options whose value stands behind them: both go, or the value would look like an option of its own. */
const refusedWithNext =
  /^(-o|-I|-L|-l|-include|-isystem|-arch|-gencode|--gpu-architecture|--gpu-code|-code|-Xcompiler|--compiler-options|-ccbin|-Xlinker|-x|-odir|--options-file|--default-stream|-default-stream)$/;

/**
 * Checks tokens of a command line against the allow-list. Never fails: what is not allowed is named and left out.
 * A later value of the same option replaces the earlier one.
 */
export function checkArguments(tokens: readonly string[]): CheckedArguments {
  const kept = new Map<string, string>();
  const refused: { argument: string; why: string }[] = [];
  const take = (argument: string, verdict: Verdict) => {
    if ('why' in verdict) refused.push({ argument, why: verdict.why });
    else {
      kept.delete(verdict.key);
      kept.set(verdict.key, verdict.ok);
    }
  };
  for (let i = 0; i < tokens.length; i++) {
    const token = (tokens[i] ?? '').trim();
    if (token === '') continue;
    if (!token.startsWith('-')) {
      refused.push({ argument: token, why: 'not an option' });
      continue;
    }
    if (refusedWithNext.test(token)) {
      const next = tokens[i + 1];
      const hasValue =
        next !== undefined && (!next.startsWith('-') || token === '-Xcompiler' || token === '--compiler-options');
      refused.push({ argument: hasValue ? `${token} ${next}` : token, why: refusalOf(token.replace(/^--?/, '')) });
      if (hasValue) i++;
      continue;
    }
    let flag = token;
    let value: string | null = null;
    if (takesNext.test(token)) value = tokens[++i] ?? null;
    else if (token.startsWith('-D')) {
      flag = '-D';
      value = token.slice(2);
    } else if (token.includes('=')) {
      flag = token.slice(0, token.indexOf('='));
      value = token.slice(token.indexOf('=') + 1);
    }
    const shown = value === null || token !== flag ? token : `${token} ${value}`;
    if (flag === '-D' || flag === '--define-macro') take(shown, checkDefine(value ?? ''));
    else if (flag === '-Xptxas' || flag === '--ptxas-options')
      for (const option of (value ?? '').split(','))
        take(
          shown.endsWith(value ?? '') && !shown.includes(',') ? shown : `-Xptxas ${option}`,
          checkPtxas(option.trim()),
        );
    else take(shown, checkOne(flag, value));
  }
  return { arguments: [...kept.values()], refused };
}

/** Splits a command line at blanks; quotes group, nothing is expanded. */
export function splitCommand(line: string): string[] {
  return [...line.matchAll(/(?:"([^"]*)"|'([^']*)'|[^\s"'])+/g)].map((m) => m[0].replace(/["']/g, ''));
}

export type CompilerReply =
  | ({ readonly kind: 'arguments' } & CheckedArguments)
  | { readonly kind: 'truncated'; readonly answer: string }
  | { readonly kind: 'unusable'; readonly reason: string };

const strings = (value: unknown): string[] | null =>
  Array.isArray(value) && value.every((v) => typeof v === 'string') ? (value as string[]) : null;

function fromJson(answer: string): string[] | null {
  for (const value of jsonObjects(answer).reverse()) {
    const direct = strings(value);
    if (direct?.some((s) => s.startsWith('-'))) return direct.flatMap(splitCommand);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    const record = value as Record<string, unknown>;
    const named = record.arguments ?? record.args ?? record.flags ?? record.options ?? record.command;
    const list = typeof named === 'string' ? [named] : strings(named);
    // An empty list is an answer: "nothing needed".
    if (list !== null) return list.flatMap(splitCommand);
  }
  return null;
}

/** A line such as `nvcc -O3 k.cu -o k`: program and file names are not the model's to say and are dropped without a word. */
function fromCommandLine(answer: string): string[] | null {
  const text = answer.replace(/\\\r?\n/g, ' ');
  const lines = [...scanBlocks(text).flatMap((b) => b.content.split('\n')), ...text.split('\n')];
  const line =
    lines.find((l) => /(^|[\s`/])nvcc\s+\S/.test(l) && /\s-/.test(l)) ?? lines.find((l) => /^\s*`?--?[A-Za-z]/.test(l));
  if (line === undefined) return null;
  const command = line.replace(/`/g, ' ').replace(/^.*?\bnvcc\s/, '');
  const tokens = splitCommand(command).filter((t) => !/\.(cu|cpp|cuh|h)$/.test(t));
  const at = tokens.indexOf('-o');
  if (at >= 0) tokens.splice(at, 2);
  return tokens;
}

/** The Compiler's choice: JSON anywhere in the reply, else an nvcc command line, else a line of options. */
export function readArguments(text: string, finish: 'stop' | 'length' | 'other'): CompilerReply {
  const { answer, thinking } = stripThinking(text);
  if (answer.trim() === '')
    return {
      kind: 'unusable',
      reason: thinking !== '' || finish === 'length' ? 'the reply ended inside its thinking' : 'the reply is empty',
    };
  const tokens = fromJson(answer);
  if (tokens !== null) return { kind: 'arguments', ...checkArguments(tokens) };
  if (finish === 'length') return { kind: 'truncated', answer };
  const line = fromCommandLine(answer);
  if (line !== null) return { kind: 'arguments', ...checkArguments(line) };
  return { kind: 'unusable', reason: 'the reply names no compiler options' };
}
