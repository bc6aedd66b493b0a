import type { Dtype, Task } from '../../contract/index.ts';
import { candidateName, paramTypes, signature } from '../task/index.ts';
import { checkAssembly, checkAttributes, checkMacroAssembly, checkMacroUses } from './assembly.ts';
import { commandMacros, directives, pragmaOperators } from './directives.ts';
import { checkGlobals } from './globals.ts';
import { lex, type Token } from './lex.ts';
import { checkNames, standsForStd } from './names.ts';
import { type Rejection, Report } from './report.ts';
import { structureOf } from './scopes.ts';
import { checkSignature, type Expected } from './signature.ts';

export type { Rejection } from './report.ts';
export { allowedIncludes } from './rules.ts';

export interface ScreenOptions {
  /** Headers that the task allows besides the general list. */
  readonly includes?: readonly string[];
  /** Name families of libraries that the task allows ("cublas"). */
  readonly libraries?: readonly string[];
  /** Compile arguments: macros that they define (-DNAME=VALUE) are part of what is compiled. */
  readonly compileArgs?: readonly string[];
}

export interface Screened {
  /** Empty: the source may be built. In order of lines. */
  readonly rejections: readonly Rejection[];
  /** The only fault is that the wrapper lacks extern "C": the line where its definition begins, from 1. null = there are others, or none. */
  readonly externCLine: number | null;
}

/**
 * Looks at a candidate's source before anything is built: names and signature, headers, host interfaces,
 * assembly, code that would run at load time, macros that hide names. A first line, in words that help; the sandbox and the
 * verification stand behind it.
 */
export function screen(source: string, task: Task, dtype: Dtype, options: ScreenOptions = {}): Screened {
  const name = candidateName(task, dtype);
  return screenSource(
    source,
    { name, types: paramTypes(task, dtype), declaration: signature(task, dtype, name) },
    options,
  );
}

/** Characters; a kernel has some thousands. Beyond this the looks below take many seconds. */
const longest = 512 * 1024;
/** clang's own limit. */
const deepest = 256;

/** The same against a given wrapper. */
export function screenSource(source: string, expected: Expected, options: ScreenOptions = {}): Screened {
  const report = new Report();
  if (source.length > longest) {
    report.add(1, 'text', `the source is longer than ${longest} characters`);
    return { rejections: report.sorted(), externCLine: null };
  }
  characters(source, report);
  const lexed = lex(source);
  for (const fault of lexed.faults) report.add(fault.line, 'text', fault.message);
  oddTokens(lexed.tokens, report);
  const { code, macros: written } = directives(lexed.tokens, report, options.includes ?? []);
  const macros = [...commandMacros(options.compileArgs ?? []), ...written];
  pragmaOperators(code, report);
  const deep = tooDeep(code);
  if (deep !== null) {
    report.add(deep, 'text', `brackets are nested more than ${deepest} deep`);
    return { rejections: report.sorted(), externCLine: null };
  }
  const structure = structureOf(code);
  for (const line of structure.unbalanced) report.add(line, 'text', 'a bracket has no counterpart');
  for (const line of structure.oversized) report.add(line, 'text', 'a declaration with so many braces is not allowed');
  const libraries = options.libraries ?? [];
  const std = standsForStd(code);
  checkNames(code, structure, report, libraries, { inCode: true, std });
  for (const macro of macros) {
    checkNames(macro.all, structure, report, libraries, { inCode: false, std });
    pragmaOperators(macro.all, report);
    checkMacroAssembly(macro.all, report);
    checkAttributes(macro.all, report);
  }
  checkAssembly(code, structure, report);
  checkMacroUses(code, macros, structure, report);
  checkAttributes(code, report);
  checkGlobals(code, structure, report);
  const line = checkSignature(code, structure, macros, expected, report);
  return { rejections: report.sorted(), externCLine: report.rejections.length === 1 ? line : null };
}

/**
 * The source with `extern "C"` before the wrapper, where that is the only thing the screen refuses; else null. No line moves.
 * Nothing is guessed: what comes out has passed the whole screen.
 */
export function withExternC(source: string, task: Task, dtype: Dtype, options: ScreenOptions = {}): string | null {
  const { externCLine } = screen(source, task, dtype, options);
  if (externCLine === null) return null;
  const lines = source.split('\n');
  lines[externCLine - 1] = (lines[externCLine - 1] ?? '').replace(/^[ \t]*/, (indent) => `${indent}extern "C" `);
  const mended = lines.join('\n');
  return screen(mended, task, dtype, options).rejections.length === 0 ? mended : null;
}

/** Line where brackets are nested deeper than compilers take; null = nowhere. */
function tooDeep(code: readonly Token[]): number | null {
  let depth = 0;
  for (const { kind, text, line } of code) {
    if (kind !== 'punct') continue;
    if (/^[([{]$/.test(text)) depth++;
    else if (/^[)\]}]$/.test(text)) depth--;
    if (depth > deepest) return line;
  }
  return null;
}

/** Control characters and trigraphs: they make compilers and readers see different texts. */
function characters(source: string, report: Report): void {
  source.split('\n').forEach((line, i) => {
    if (/\?\?[=/'()!<>-]/.test(line)) report.add(i + 1, 'text', 'trigraphs are not allowed');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
    if (/[\0-\x08\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069]|\r(?!$)/.test(line))
      report.add(i + 1, 'text', 'control characters are not allowed');
  });
}

/** Outside of strings and comments only plain C++ characters: no universal names, no look-alike letters. */
function oddTokens(tokens: readonly Token[], report: Report): void {
  for (const token of tokens)
    if (token.kind === 'other' || (token.kind === 'identifier' && token.text.includes('$')))
      report.add(
        token.line,
        'text',
        `the character ${JSON.stringify(token.text)} is not allowed outside of strings and comments`,
      );
}

/** Rejections as text for the Debug agent, and the first one as a reason. */
export function rejectionText(rejections: readonly Rejection[]): { reason: string; digest: string } {
  const lines = rejections.map((r) => `line ${r.line}, ${r.rule}: ${r.why}`);
  const more = lines.length > 1 ? ` (and ${lines.length - 1} more)` : '';
  return {
    reason: `${lines[0] ?? ''}${more}`,
    digest: ['The source was refused before it was built:', ...lines.slice(0, 40)].join('\n'),
  };
}
