import type { Macro } from './directives.ts';
import type { Token } from './lex.ts';
import type { Report } from './report.ts';
import type { FunctionDef, Structure } from './scopes.ts';

const kernelSuffix = '_kernel_optimized';

/** Names of types by alias: `using T = float;`, `typedef float T;`, `#define T float`. */
function aliases(code: readonly Token[], macros: readonly Macro[]): Map<string, string> {
  const found = new Map<string, string>();
  code.forEach(({ text }, i) => {
    if (text !== 'using' && text !== 'typedef') return;
    const [a, b, c, d] = [1, 2, 3, 4].map((k) => code[i + k]?.text ?? '') as [string, string, string, string];
    if (text === 'using' && b === '=' && d === ';') found.set(a, c);
    if (text === 'typedef' && c === ';') found.set(b, a);
  });
  for (const macro of macros)
    if (macro.params === null && macro.body.length === 1) found.set(macro.name, macro.body[0]?.text ?? '');
  return found;
}

const ignored = /^(__restrict__|__restrict|restrict|register|struct|volatile|__grid_constant__)$/;

/** One parameter's tokens → canonical type: `const float* const __restrict__ x` → "const float*". */
function typeOf(tokens: readonly Token[], alias: ReadonlyMap<string, string>): string {
  const words = tokens.map((t) => t.text).filter((text) => !ignored.test(text));
  const equals = words.indexOf('=');
  const own = equals < 0 ? words : words.slice(0, equals);
  const star = own.findIndex((word) => word === '*' || word === '&' || word === '[');
  const head = star < 0 ? own : own.slice(0, star);
  const isConst = star >= 0 && head.includes('const');
  const base = head.filter((word) => word !== 'const');
  // Before "[", and without a star, the name is the last word, unless there is only the type.
  if (
    (star < 0 || own[star] === '[') &&
    base.length > 1 &&
    !/^(int|long|short|char|double|unsigned|signed)$/.test(base.at(-1) ?? '')
  )
    base.pop();
  const stars =
    star < 0
      ? ''
      : own
          .slice(star)
          .filter((word) => /^[*&[]$/.test(word))
          .join('')
          .replaceAll('[', '*');
  return `${isConst ? 'const ' : ''}${canonical(base, alias)}${stars}`;
}

function canonical(words: readonly string[], alias: ReadonlyMap<string, string>): string {
  let name = words.filter((word) => word !== 'std' && word !== '::').join(' ');
  for (let depth = 0; depth < 4 && alias.has(name); depth++) name = alias.get(name) as string;
  if (name === 'nv_bfloat16') return '__nv_bfloat16';
  if (name === 'int32_t' || name === 'signed int' || name === 'signed') return 'int';
  if (name === 'long int' || name === 'signed long') return 'long';
  return name;
}

function parameters(code: readonly Token[], fn: FunctionDef, alias: ReadonlyMap<string, string>): string[] {
  const list: Token[][] = [[]];
  let depth = 0;
  for (const token of code.slice(fn.open + 1, fn.close)) {
    if (/^[([{<]$/.test(token.text)) depth++;
    else if (/^[)\]}>]$/.test(token.text)) depth--;
    if (token.text === ',' && depth === 0) list.push([]);
    else list.at(-1)?.push(token);
  }
  if (list.length === 1 && ((list[0] as Token[]).length === 0 || list[0]?.[0]?.text === 'void')) {
    if ((list[0] as Token[]).length <= 1) return [];
  }
  return list.map((tokens) => typeOf(tokens, alias));
}

export interface Expected {
  /** Name of the wrapper. */
  readonly name: string;
  /** Canonical parameter types in order. */
  readonly types: readonly string[];
  /** The declaration, for messages. */
  readonly declaration: string;
}

/** Wrapper and kernels: names, types, order, linkage. When extern "C" is all that the wrapper lacks: the line its definition begins, else null. */
export function checkSignature(
  code: readonly Token[],
  structure: Structure,
  macros: readonly Macro[],
  expected: Expected,
  report: Report,
): number | null {
  kernels(structure, report);
  const alias = aliases(code, macros);
  const wrappers = structure.functions.filter((f) => f.name === expected.name);
  const add = (line: number, why: string): void => report.add(line, 'signature', why);
  const [wrapper, second] = wrappers;
  if (wrapper === undefined) {
    add(
      1,
      `no definition of ${expected.name} was found; expected: ${expected.declaration}${similar(structure, expected.name)}`,
    );
    return null;
  }
  if (second !== undefined) add(second.line, `${expected.name} is defined twice`);
  const before = code.slice(wrapper.start, wrapper.nameAt).map((t) => t.text);
  if (wrapper.global || wrapper.device)
    add(wrapper.line, `${expected.name} must be a host function that launches the kernels`);
  if (before.includes('static') || before.includes('template'))
    add(wrapper.line, `${expected.name} must be neither static nor a template`);
  if (!before.includes('void')) add(wrapper.line, `${expected.name} must return void`);
  const found = parameters(code, wrapper, alias);
  const same = found.length === expected.types.length && found.every((type, i) => type === expected.types[i]);
  if (!same) add(wrapper.line, `${expected.name} takes (${found.join(', ')}), expected (${expected.types.join(', ')})`);
  if (wrapper.externC) return null;
  const only =
    same &&
    second === undefined &&
    before.includes('void') &&
    !wrapper.global &&
    !wrapper.device &&
    !before.includes('static');
  add(
    wrapper.line,
    `${expected.name} lacks extern "C"${only ? '; nothing else is wrong with its declaration' : ''}: ${expected.declaration}`,
  );
  const head = code[wrapper.start];
  return only && head?.first === true ? head.line : null;
}

function similar(structure: Structure, name: string): string {
  const host = structure.functions.filter((f) => !f.device && !f.global).map((f) => f.name);
  const close = host.filter((found) => found.includes(name.replace(/_optimized$/, '')) || name.includes(found));
  return close.length > 0 ? `; found ${close.join(', ')}` : '';
}

function kernels(structure: Structure, report: Report): void {
  const found = structure.functions.filter((f) => f.global);
  for (const kernel of found)
    if (!kernel.name.endsWith(kernelSuffix))
      report.add(kernel.line, 'signature', `the kernel ${kernel.name} must be named …${kernelSuffix}`);
}
