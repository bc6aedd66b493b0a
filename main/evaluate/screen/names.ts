import type { Token } from './lex.ts';
import type { Report } from './report.ts';
import {
  allowedBuiltins,
  cudaConstants,
  cudaFunctions,
  refusedCuda,
  refusedFamilies,
  refusedNames,
  refusedStd,
  softNames,
} from './rules.ts';
import { functionAt, type Structure } from './scopes.ts';

const has = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

/** Why a name is refused wherever it stands, or null. */
function nameFault(name: string): { rule: string; why: string } | null {
  const hard = has(refusedNames, name);
  if (hard !== undefined) return { rule: 'name', why: `${name}: ${hard}` };
  if (/^cuda[A-Z]/.test(name)) {
    if (cudaFunctions.has(name) || cudaConstants.some((pattern) => pattern.test(name))) return null;
    const why =
      refusedCuda.find(([pattern]) => pattern.test(name))?.[1] ?? 'it is not on the list of allowed runtime functions';
    return { rule: 'cuda', why: `${name}: ${why}` };
  }
  if (name.startsWith('__builtin_') && !allowedBuiltins.test(name))
    return { rule: 'name', why: `${name}: this compiler builtin is not allowed` };
  const family = refusedFamilies.find(([pattern]) => pattern.test(name));
  return family === undefined ? null : { rule: 'name', why: `${name}: ${family[1]}` };
}

/** Libraries that the task allows lift the refusal of their names. */
const lifted = (name: string, libraries: readonly string[]): boolean =>
  libraries.some((library) => name.toLowerCase().startsWith(library.toLowerCase()));

/** Names that stand for std: its aliases, and namespaces into which a file may have taken it. */
export function standsForStd(code: readonly Token[]): ReadonlySet<string> {
  const at = (i: number): string => code[i]?.text ?? '';
  const out = new Set<string>();
  const taken = code.some((t, i) => t.text === 'using' && at(i + 1) === 'namespace' && /^(std|::)$/.test(at(i + 2)));
  code.forEach((token, i) => {
    if (token.text !== 'namespace') return;
    const target = at(i + 3) === '::' ? i + 4 : i + 3;
    if (at(i + 2) === '=' && at(target) === 'std' && at(target + 1) === ';') out.add(at(i + 1));
    if (taken && at(i + 2) === '{') out.add(at(i + 1));
  });
  return out;
}

/**
 * Checks every identifier of a run of tokens: code, or a macro's text (`inCode` false), of which it is not known where it lands. `std`:
 * see standsForStd.
 */
export function checkNames(
  tokens: readonly Token[],
  structure: Structure,
  report: Report,
  libraries: readonly string[],
  { inCode, std }: { readonly inCode: boolean; readonly std: ReadonlySet<string> },
): void {
  // A file says the same few names over and over.
  const faults = new Map<string, ReturnType<typeof nameFault>>();
  const faultOf = (name: string): ReturnType<typeof nameFault> => {
    const known = faults.get(name);
    if (known !== undefined) return known;
    const fault = nameFault(name);
    faults.set(name, fault);
    return fault;
  };
  tokens.forEach((token, i) => {
    if (token.kind !== 'identifier') return;
    const before = tokens[i - 1]?.text ?? '';
    const qualifier =
      before === '::' ? (tokens[i - 2]?.kind === 'identifier' ? (tokens[i - 2]?.text ?? '') : '') : null;
    const fault = faultOf(token.text);
    if (fault !== null && !lifted(token.text, libraries)) report.add(token.line, fault.rule, fault.why);
    else if (qualifier !== null && (qualifier === 'std' || std.has(qualifier))) standard(token, report);
    else if (Object.hasOwn(softNames, token.text)) {
      const named = qualifier !== null && qualifier !== ''; // tile::read
      if (!named && !(qualifier === null && isOwn(tokens, i, structure, inCode))) soft(tokens, i, report);
    }
  });
}

function standard(token: Token, report: Report): void {
  const why = has(refusedStd, token.text);
  if (why !== undefined) report.add(token.line, 'name', `std::${token.text}: ${why}`);
}

/** A word that is also a function of the C library: refused as a call, as an address, and behind a global "::". */
function soft(tokens: readonly Token[], i: number, report: Report): void {
  const token = tokens[i] as Token;
  const before = tokens[i - 1]?.text ?? '';
  if (before === '.' || before === '->') return;
  report.add(token.line, 'name', `${token.text}: ${softNames[token.text]}`);
}

/** A device function of the file, where it is declared or called by the device, or a variable of that name that is not called. */
function isOwn(tokens: readonly Token[], i: number, structure: Structure, inCode: boolean): boolean {
  const name = (tokens[i] as Token).text;
  const own = structure.functions.some((f) => f.name === name && f.device && !f.host && !f.global);
  const caller = inCode ? functionAt(structure, i) : undefined;
  // In host code the same name means the C library's.
  if (own && inCode && (caller === undefined || ((caller.device || caller.global) && !caller.host))) return true;
  if (tokens[i + 1]?.text === '(') return definesMember(tokens, i);
  return tokens.some((t, k) => t.text === name && declaresAt(tokens, k));
}

/** `void write(int x) const {`: a member function being defined; calling it goes through an object. */
function definesMember(tokens: readonly Token[], i: number): boolean {
  const before = tokens[i - 1];
  const typed = before?.kind === 'identifier' ? !/^(return|case|goto|throw|else|do|in)$/.test(before.text) : false;
  if (!typed && !/^[*&>]$/.test(before?.text ?? '')) return false;
  let depth = 0;
  for (let k = i + 1; k < tokens.length; k++) {
    const { text } = tokens[k] as Token;
    if (text === '(') depth++;
    else if (text === ')' && --depth === 0) return /^(const|noexcept|\{)$/.test(tokens[k + 1]?.text ?? '');
  }
  return false;
}

function declaresAt(tokens: readonly Token[], i: number): boolean {
  const before = tokens[i - 1];
  const after = tokens[i + 1]?.text ?? '';
  if (!/^[=;,)[{:]$/.test(after)) return false;
  if (before?.kind === 'identifier') return !/^(return|case|goto|throw|else|do|in)$/.test(before.text);
  // "float* open;" declares, "x = &open;" takes an address.
  return (before?.text === '*' || before?.text === '&' || before?.text === '>') && tokens[i - 2]?.kind === 'identifier';
}
