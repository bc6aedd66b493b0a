import type { Macro } from './directives.ts';
import { stringText, type Token } from './lex.ts';
import type { Report } from './report.ts';
import { allowedAttributes, refusedPtx } from './rules.ts';
import { functionAt, type Structure } from './scopes.ts';

const isAsm = (text: string): boolean => /^(asm|__asm|__asm__)$/.test(text);

/** Assembly must be inline PTX, written out, in a function for the device alone. */
export function checkAssembly(code: readonly Token[], structure: Structure, report: Report): void {
  for (const [i, token] of code.entries()) {
    if (!isAsm(token.text)) continue;
    const refuse = (why: string): void => report.add(token.line, 'asm', why);
    const fn = functionAt(structure, i);
    if (fn === undefined) refuse('assembly outside of a function is not allowed');
    else if (!(fn.device || fn.global) || fn.host)
      refuse(`assembly in ${fn.name} is not allowed: only in functions that are __device__ or __global__ alone`);
    const text = asmText(code, i);
    if (pastesConstant(code, i)) refuse(pasted);
    if (text === null) refuse('assembly must be a plain string literal');
    else ptx(text, refuse);
  }
}

const pasted = 'the constraint "C" is not allowed: it makes text of constants';

/** Whether the operands of the assembly at `i` hold a "C" constraint, by which nvcc puts a constant array's text into the template. */
function pastesConstant(code: readonly Token[], i: number): boolean {
  let depth = 0;
  for (let k = i + 1; k < code.length; k++) {
    const token = code[k] as Token;
    if (token.text === '(') depth++;
    else if (token.text === ')' && --depth === 0) return false;
    else if (depth === 1 && token.kind === 'string' && code[k + 1]?.text === '(' && stringText(token).includes('C'))
      return true;
  }
  return false;
}

/** Macros that hold assembly, themselves or through others. */
function assemblers(macros: readonly Macro[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const { name, all } of macros) if (all.some((t) => isAsm(t.text) || found.has(t.text))) found.add(name);
  }
  return found;
}

/** A macro's assembly is held to what assembly is: used in functions for the device alone. */
export function checkMacroUses(
  code: readonly Token[],
  macros: readonly Macro[],
  structure: Structure,
  report: Report,
): void {
  const names = assemblers(macros);
  for (const [i, token] of code.entries()) {
    if (token.kind !== 'identifier' || !names.has(token.text)) continue;
    const fn = functionAt(structure, i);
    if (fn === undefined || fn.host || !(fn.device || fn.global))
      report.add(
        token.line,
        'asm',
        `${token.text} holds assembly: only in functions that are __device__ or __global__ alone`,
      );
  }
}

function ptx(text: string, refuse: (why: string) => void): void {
  for (const [pattern, why] of refusedPtx) if (pattern.test(text)) refuse(why);
}

/** The template string behind asm [volatile] "("; null when it is not made of literals alone. */
function asmText(code: readonly Token[], i: number): string | null {
  let k = i + 1;
  while (/^(volatile|__volatile__|__volatile|inline|goto)$/.test(code[k]?.text ?? '')) k++;
  if (code[k]?.text !== '(') return null;
  let text = '';
  let literals = 0;
  for (k++; k < code.length; k++) {
    const token = code[k] as Token;
    if (token.kind === 'string') {
      text += stringText(token);
      literals++;
    } else if (token.text === ':' || token.text === ')' || token.text === '::') break;
    else return null;
  }
  return literals > 0 ? text : null;
}

/** Assembly in macro texts: only written out, since where it lands is not known. */
export function checkMacroAssembly(tokens: readonly Token[], report: Report): void {
  for (const [i, token] of tokens.entries()) {
    if (!isAsm(token.text)) continue;
    const text = asmText(tokens, i);
    const refuse = (why: string): void => report.add(token.line, 'asm', why);
    if (pastesConstant(tokens, i)) refuse(pasted);
    if (text === null) refuse('assembly in a macro must be a plain string literal');
    else ptx(text, refuse);
  }
}

/** `__attribute__((…))`, `__declspec(…)` and `[[…]]`: known harmless ones only. */
export function checkAttributes(code: readonly Token[], report: Report): void {
  code.forEach((token, i) => {
    if (/^(__attribute__|__attribute|__declspec)$/.test(token.text)) checkList(code, i + 1, token.line, report);
    if (token.text === '[' && code[i + 1]?.text === '[' && code[i - 1]?.text !== 'operator')
      checkList(code, i, token.line, report);
  });
}

/** Identifiers at the outer levels of an attribute list; arguments in further parentheses are not looked at. */
function checkList(code: readonly Token[], from: number, line: number, report: Report): void {
  let depth = 0;
  const outer = code[from]?.text === '[' ? 2 : code[from + 1]?.text === '(' ? 2 : 1;
  for (let k = from; k < code.length; k++) {
    const token = code[k] as Token;
    if (/^[([]$/.test(token.text)) depth++;
    else if (/^[)\]]$/.test(token.text)) {
      depth--;
      if (depth === 0) return;
    } else if (token.kind === 'identifier' && depth === outer) {
      const name = token.text.replace(/^__|__$/g, '');
      // [[gnu::constructor]]: the namespace is one of the allowed words.
      if (!allowedAttributes.has(name) && code[k + 1]?.text !== '::')
        report.add(line, 'attribute', `the attribute ${token.text} is not allowed`);
    }
  }
}
