import type { Token } from './lex.ts';

/** A function definition found in the code. Positions index the code tokens. */
export interface FunctionDef {
  readonly name: string;
  readonly line: number;
  /** First token of the declaration and position of its name. */
  readonly start: number;
  readonly nameAt: number;
  /** Parentheses of the parameters. */
  readonly open: number;
  readonly close: number;
  /** Braces of the body. */
  readonly body: readonly [number, number];
  readonly device: boolean;
  readonly host: boolean;
  readonly global: boolean;
  /** Inside extern "C". */
  readonly externC: boolean;
}

/** A statement at namespace or class scope that is no function definition: [first, last] tokens, without the closing ";". */
export interface Statement {
  readonly from: number;
  readonly to: number;
  readonly scope: 'namespace' | 'class';
  readonly externC: boolean;
}

export interface Structure {
  readonly functions: readonly FunctionDef[];
  readonly statements: readonly Statement[];
  /** For each class by name its body's braces. */
  readonly classes: ReadonlyMap<string, readonly [number, number]>;
  /** Lines of brackets that do not match. */
  readonly unbalanced: readonly number[];
  /** Lines where one declaration has more braces than declarations have. */
  readonly oversized: readonly number[];
}

/** The innermost function whose body holds a position; functions found are those at namespace and class scope. */
export const functionAt = (structure: Structure, i: number): FunctionDef | undefined =>
  structure.functions.find((f) => f.body[0] < i && i < f.body[1]);

/** Braces of one declaration: each is looked at together with all that stands before it. */
const mostBraces = 64;

const opening: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** For each opening bracket the position of its closing one. */
export function matching(code: readonly Token[]): { pairs: ReadonlyMap<number, number>; unbalanced: number[] } {
  const pairs = new Map<number, number>();
  const stack: number[] = [];
  const unbalanced: number[] = [];
  code.forEach((token, i) => {
    if (token.kind !== 'punct') return;
    if (token.text in opening) stack.push(i);
    else if (token.text === ')' || token.text === ']' || token.text === '}') {
      const open = stack.pop();
      if (open === undefined || opening[(code[open] as Token).text] !== token.text) unbalanced.push(token.line);
      else pairs.set(open, i);
    }
  });
  for (const open of stack) unbalanced.push((code[open] as Token).line);
  return { pairs, unbalanced };
}

/** Macros of the language extension that take parentheses before a function's own. */
const decorations = new Set([
  '__launch_bounds__',
  '__cluster_dims__',
  '__block_size__',
  '__maxnreg__',
  '__attribute__',
  '__declspec',
  'alignas',
  'decltype',
  'noexcept',
  'requires',
  'sizeof',
  'throw',
  'explicit',
]);

class Parser {
  private readonly code: readonly Token[];
  private readonly pairs: ReadonlyMap<number, number>;
  readonly functions: FunctionDef[] = [];
  readonly statements: Statement[] = [];
  readonly classes = new Map<string, readonly [number, number]>();
  readonly oversized: number[] = [];

  constructor(code: readonly Token[], pairs: ReadonlyMap<number, number>) {
    this.code = code;
    this.pairs = pairs;
  }

  private text(i: number): string {
    return this.code[i]?.text ?? '';
  }

  /** Declarations between two positions. */
  scope(from: number, to: number, kind: 'namespace' | 'class', externC: boolean): void {
    let start = from;
    let braces = 0;
    for (let i = from; i < to; i++) {
      const text = this.text(i);
      if (text === ';') {
        if (i > start) this.statements.push({ from: start, to: i - 1, scope: kind, externC });
        start = i + 1;
        braces = 0;
      } else if (text === '(' || text === '[') i = this.skip(i, to);
      else if (text === '{') {
        const end = this.skip(i, to);
        const last = ++braces > mostBraces;
        if (last) this.oversized.push(this.code[i]?.line ?? 0);
        if (last || this.block(start, i, end, externC)) {
          start = end + 1;
          braces = 0;
        }
        i = end;
      } else if (text === ':' && kind === 'class' && /^(public|private|protected)$/.test(this.text(i - 1)))
        start = i + 1;
    }
    if (start < to) this.statements.push({ from: start, to: to - 1, scope: kind, externC });
  }

  private skip(i: number, to: number): number {
    return Math.min(this.pairs.get(i) ?? to, to);
  }

  /** What a "{" opens. true: the declaration ends with its "}". */
  private block(start: number, open: number, close: number, externC: boolean): boolean {
    const words: string[] = [];
    for (let i = start; i < open; i++) {
      words.push(this.text(i));
      if (/^[([]$/.test(this.text(i))) i = this.skip(i, open);
    }
    if (words.includes('namespace')) {
      this.scope(open + 1, close, 'namespace', externC);
      return true;
    }
    if (words[0] === 'extern' && /^(u8|u|U|L)?"C(\+\+)?"$/.test(words[1] ?? '') && words.length === 2) {
      this.scope(open + 1, close, 'namespace', words[1] === '"C"');
      return true;
    }
    const fn = this.functionHead(start, open);
    if (fn !== null) {
      this.addFunction(start, fn, open, close, externC);
      return true;
    }
    const at = words.findIndex((word) => /^(struct|class|union)$/.test(word));
    if (at >= 0 && !words.includes('=')) {
      const name = this.className(start, open);
      this.classes.set(name, [open, close]);
      this.scope(open + 1, close, 'class', false);
      // "struct A {…} a;" declares a variable too: the statement goes on.
      return false;
    }
    return false; // enum, initialiser, requires: up to ";"
  }

  private className(start: number, open: number): string {
    let name = '';
    for (let i = start; i < open; i++) {
      const token = this.code[i] as Token;
      if (token.text === ':' || token.text === '<') break;
      if (/^[([]$/.test(token.text)) i = this.skip(i, open);
      else if (
        token.kind === 'identifier' &&
        !/^(struct|class|union|final|alignas|__align__|__attribute__|template|typename|static|typedef|const)$/.test(
          token.text,
        )
      )
        name = token.text;
    }
    return name;
  }

  /** Position of the name and parentheses of a function whose body opens at `open`, or null. */
  private functionHead(start: number, open: number): { nameAt: number; open: number; close: number } | null {
    let unclosed = 0;
    for (let i = start; i < open; i++) {
      const text = this.text(i);
      if (text === '=' && this.text(i - 1) !== 'operator') return null;
      // A list without an end is searched to the end of the head: not again for each of thousands.
      if (text === '<' && this.text(i - 1) === 'template' && unclosed < mostBraces) {
        const end = this.angle(i, open);
        if (end === i) unclosed++;
        i = end;
        continue;
      }
      if (text !== '(') {
        if (text === '[') i = this.skip(i, open);
        continue;
      }
      const close = this.skip(i, open);
      const name = this.code[i - 1];
      const isName = name?.kind === 'identifier' && !decorations.has(name.text);
      const isOperator = this.text(i - 2) === 'operator' || this.text(i - 3) === 'operator' || name?.text === '>';
      if (i - 1 >= start && (isName || isOperator)) return { nameAt: i - 1, open: i, close };
      i = close;
    }
    return null;
  }

  /** End of a template parameter list that opens at `i`. */
  private angle(i: number, to: number): number {
    let depth = 0;
    for (let k = i; k < to; k++) {
      const text = this.text(k);
      if (text === '<') depth++;
      else if (text === '>') depth--;
      else if (text === '>>') depth -= 2;
      else if (text === '(' || text === '[') k = this.skip(k, to);
      if (depth <= 0) return k;
    }
    return i;
  }

  private addFunction(
    start: number,
    head: { nameAt: number; open: number; close: number },
    open: number,
    close: number,
    externC: boolean,
  ): void {
    const words = new Set<string>();
    for (let i = start; i < head.nameAt; i++) words.add(this.text(i));
    const name = this.code[head.nameAt] as Token;
    const direct = words.has('extern') && this.code.slice(start, head.nameAt).some((t) => t.text === '"C"');
    this.functions.push({
      name: name.text,
      line: name.line,
      start,
      nameAt: head.nameAt,
      open: head.open,
      close: head.close,
      body: [open, close],
      device: words.has('__device__'),
      host: words.has('__host__'),
      global: words.has('__global__'),
      externC: externC || direct,
    });
  }
}

/** Functions, classes and other declarations of a translation unit. Approximate where macros hide structure; the checks refuse on doubt. */
export function structureOf(code: readonly Token[]): Structure {
  const { pairs, unbalanced } = matching(code);
  const parser = new Parser(code, pairs);
  parser.scope(0, code.length, 'namespace', false);
  const { functions, statements, classes, oversized } = parser;
  return { functions, statements, classes, unbalanced, oversized };
}
