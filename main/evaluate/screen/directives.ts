import { lex, stringText, type Token } from './lex.ts';
import type { Report } from './report.ts';
import {
  allowedIncludes,
  allowedPragmas,
  cudaFunctions,
  refusedIncludes,
  refusedNames,
  refusedStd,
  softNames,
} from './rules.ts';

export interface Macro {
  readonly name: string;
  readonly line: number;
  /** null: object-like. */
  readonly params: readonly string[] | null;
  readonly body: readonly Token[];
  /** Everything behind the name: what the name rules look at. */
  readonly all: readonly Token[];
}

export interface Split {
  /** Tokens outside of directives: all branches of conditionals, since any may be compiled. */
  readonly code: readonly Token[];
  readonly macros: readonly Macro[];
}

/** Parts code and directives, checks the directives. */
export function directives(tokens: readonly Token[], report: Report, extraIncludes: readonly string[]): Split {
  const code: Token[] = [];
  const macros: Macro[] = [];
  for (let i = 0; i < tokens.length; ) {
    const token = tokens[i] as Token;
    if (!(token.first && token.text === '#')) {
      code.push(token);
      i++;
      continue;
    }
    let end = i + 1;
    while (end < tokens.length && !(tokens[end] as Token).first) end++;
    directive(tokens.slice(i + 1, end), token.line, report, macros, extraIncludes);
    i = end;
  }
  return { code, macros };
}

const plain = new Set([
  'if',
  'ifdef',
  'ifndef',
  'elif',
  'elifdef',
  'elifndef',
  'else',
  'endif',
  'undef',
  'error',
  'warning',
]);

function directive(
  line: readonly Token[],
  at: number,
  report: Report,
  macros: Macro[],
  extraIncludes: readonly string[],
): void {
  const [head, ...rest] = line;
  if (head === undefined) return; // a lone #
  if (head.text === 'include') {
    include(rest, at, report, extraIncludes);
    return;
  }
  if (head.text === 'define') {
    define(rest, at, report, macros);
    return;
  }
  if (head.text === 'pragma') {
    pragma(rest.map((t) => t.text).join(' '), at, report);
    return;
  }
  if (/^(if|elif)$/.test(head.text)) {
    condition(rest, at, report);
    return;
  }
  if (!plain.has(head.text)) report.add(at, 'directive', `#${head.text} is not allowed`);
}

const allowed = (name: string, extra: readonly string[]): boolean =>
  [...allowedIncludes, ...extra].some((entry) =>
    entry.endsWith('/*') ? name.startsWith(entry.slice(0, -1)) : entry === name,
  );

/** Whether `<name>` may be included, and if not why. */
export function includeFault(name: string, extra: readonly string[] = []): string | null {
  if (name.startsWith('/') || name.includes('..') || name.includes('\\'))
    return `<${name}> is a path, not a header of the toolkit`;
  const why = refusedIncludes.find(([pattern]) => pattern.test(name))?.[1];
  if (why !== undefined && !extra.includes(name)) return `<${name}>: ${why}`;
  return allowed(name, extra) ? null : `<${name}> is not on the list of allowed headers`;
}

function include(rest: readonly Token[], at: number, report: Report, extra: readonly string[]): void {
  const [what] = rest;
  if (what?.kind === 'string') {
    const name = what.text.replace(/^"|"$/g, '');
    const hint = includeFault(name, extra) === null ? `; write <${name}>` : '';
    report.add(at, 'include', `quoted includes are not allowed (${what.text})${hint}`);
    return;
  }
  if (what?.kind !== 'header') {
    report.add(at, 'include', 'the header must be named plainly, not by a macro');
    return;
  }
  const fault = includeFault(what.text.replace(/^<|>$/g, ''), extra);
  if (fault !== null) report.add(at, 'include', fault);
}

function pragma(text: string, at: number, report: Report): void {
  if (!allowedPragmas.test(text)) report.add(at, 'pragma', `#pragma ${text.slice(0, 60)} is not allowed`);
}

/** Macros that `-DNAME=VALUE` defines, as the source would on its first line. */
export const commandMacros = (args: readonly string[]): Macro[] =>
  args.flatMap((arg) => {
    const found = /^-D([A-Za-z_]\w*)(?:=(.*))?$/s.exec(arg);
    if (found?.[1] === undefined) return [];
    const body = lex(found[2] ?? '1').tokens.map((token) => ({ ...token, line: 1 }));
    return [{ name: found[1], line: 1, params: null, body, all: body }];
  });

/** `_Pragma("…")` in code or in a macro's text. */
export function pragmaOperators(code: readonly Token[], report: Report): void {
  for (const [i, token] of code.entries()) {
    if (token.text !== '_Pragma' && token.text !== '__pragma') continue;
    const literal = code[i + 2];
    if (code[i + 1]?.text === '(' && literal?.kind === 'string') pragma(stringText(literal), token.line, report);
    else report.add(token.line, 'pragma', '_Pragma must have a plain string');
  }
}

/** Conditions may look at toolkit and architecture, not at what files there are. */
function condition(rest: readonly Token[], at: number, report: Report): void {
  for (const token of rest)
    if (/^(__has_include|__has_include_next|__has_embed)$/.test(token.text))
      report.add(at, 'directive', `${token.text} is not allowed`);
}

function define(rest: readonly Token[], at: number, report: Report, macros: Macro[]): void {
  const [name, ...after] = rest;
  if (name === undefined) return;
  // Function-like only without a blank before "(": the tokens do not say. Taking the first list for parameters is the stricter reading.
  const list = parameterList(after);
  const macro: Macro = {
    name: name.text,
    line: at,
    params: list?.params ?? null,
    body: list ? after.slice(list.length) : after,
    all: after,
  };
  macros.push(macro);
  if (isReserved(name.text)) report.add(at, 'macro', `${name.text} may not be redefined`);
  pastes(macro, report);
}

const keywords = new Set(
  `asm __asm __asm__ extern static namespace struct class union template typename using typedef if else for while do switch
  return const volatile void int float double char bool long short unsigned signed operator new delete this inline constexpr auto
  __global__ __device__ __host__ __shared__ __constant__ __launch_bounds__ __restrict__ __attribute__ __syncthreads
  threadIdx blockIdx blockDim gridDim warpSize`.split(/\s+/),
);
/** Names whose redefinition would make the screen read another program than the compiler. */
const isReserved = (name: string): boolean => keywords.has(name) || /^(cuda[A-Z]|__cuda|__NV|__CUDA)/.test(name);

function parameterList(tokens: readonly Token[]): { params: string[]; length: number } | null {
  if (tokens[0]?.text !== '(') return null;
  const params: string[] = [];
  for (let i = 1; i < tokens.length; i++) {
    const { text, kind } = tokens[i] as Token;
    if (text === ')') return { params, length: i + 1 };
    if (kind === 'identifier') params.push(text);
    else if (text === '...') params.push('__VA_ARGS__');
    else if (text !== ',') return null;
  }
  return null;
}

/**
 * Token pasting can make names that the tokens do not show. A paste is refused when what it may yield (a fixed part before or
 * after, anything for a parameter) can be a name that is refused or that this screen must see.
 */
function pastes(macro: Macro, report: Report): void {
  const { body } = macro;
  const fixed = (token: Token | undefined): string | null =>
    token === undefined || macro.params?.includes(token.text) || token.text === '__VA_ARGS__' ? null : token.text;
  body.forEach((token, i) => {
    if (token.text !== '##') return;
    if (body[i - 1]?.text === ',' && body[i + 1]?.text === '__VA_ARGS__') return; // the comma-dropping idiom
    const chainBefore = body[i - 2]?.text === '##';
    const chainAfter = body[i + 2]?.text === '##';
    const before = chainBefore ? null : fixed(body[i - 1]);
    const after = chainAfter ? null : fixed(body[i + 1]);
    const name = mayName(before, after);
    if (name !== null)
      report.add(
        token.line,
        'macro',
        `the token pasting in ${macro.name} can form ${name}: write the names out, or paste onto a part of your own such as tile_##x`,
      );
  });
}

const watched: readonly string[] = [
  ...Object.keys(refusedNames),
  ...Object.keys(softNames),
  ...Object.keys(refusedStd),
  ...cudaFunctions,
  'asm',
  '__asm',
  '__asm__',
  '__attribute__',
  '__global__',
  '__device__',
  '__managed__',
  '_Pragma',
  'extern',
  'constructor',
];
const families = [
  'cuda',
  'cu',
  'cupti',
  'nvml',
  'nvrtc',
  'cublas',
  'cudnn',
  'cusparse',
  'cufft',
  'pthread_',
  'exec',
  'posix_spawn',
  '__builtin_',
  'dl',
  '_',
];

/** A watched name that prefix…suffix can be (null = anything), or null. */
function mayName(prefix: string | null, suffix: string | null): string | null {
  if (prefix === null && suffix === null) return 'any name';
  if (prefix !== null && !/^[A-Za-z_]/.test(prefix)) return null; // numbers, operators
  const exact = watched.find(
    (name) =>
      (prefix === null || name.startsWith(prefix)) &&
      (suffix === null || name.endsWith(suffix)) &&
      name.length >= (prefix ?? '').length + (suffix ?? '').length,
  );
  if (exact !== undefined) return exact;
  if (prefix === null) return null;
  const family = families.find((f) => prefix.startsWith(f) || f.startsWith(prefix));
  return family === undefined ? null : `a name of the ${family}… family`;
}
