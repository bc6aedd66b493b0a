import { err, ok, type Result } from '../../contract/index.ts';

/**
 * Arithmetic of task files: numbers, names, + - * / % ( ), min max floor ceil sqrt log2 pow, sizeof(T|float|bf16|int).
 * All values are doubles; `/` is true division (write floor(a/b) where a count is wanted). Nothing else can be said in
 * it, so a task file from anywhere can be evaluated safely.
 */
export type Expr =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'name'; readonly name: string; readonly at: number }
  | { readonly kind: 'sizeof'; readonly type: SizeofType }
  | { readonly kind: 'negate'; readonly of: Expr }
  | { readonly kind: 'binary'; readonly op: BinaryOp; readonly left: Expr; readonly right: Expr; readonly at: number }
  | { readonly kind: 'call'; readonly fn: FunctionName; readonly args: readonly Expr[]; readonly at: number };

type BinaryOp = '+' | '-' | '*' | '/' | '%';
type SizeofType = 'T' | 'float' | 'bf16' | 'int';

const functions = {
  min: { arity: [1, 8], apply: (a: number[]) => Math.min(...a) },
  max: { arity: [1, 8], apply: (a: number[]) => Math.max(...a) },
  floor: { arity: [1, 1], apply: ([x]: number[]) => Math.floor(x as number) },
  ceil: { arity: [1, 1], apply: ([x]: number[]) => Math.ceil(x as number) },
  sqrt: { arity: [1, 1], apply: ([x]: number[]) => Math.sqrt(x as number) },
  log2: { arity: [1, 1], apply: ([x]: number[]) => Math.log2(x as number) },
  pow: { arity: [2, 2], apply: ([x, y]: number[]) => (x as number) ** (y as number) },
} as const;
type FunctionName = keyof typeof functions;

/** Names that a dimension cannot have. */
export const reservedNames: readonly string[] = [...Object.keys(functions), 'sizeof'];

const sizeofTypes: readonly string[] = ['T', 'float', 'bf16', 'int'];

interface Token {
  readonly kind: 'number' | 'name' | 'symbol' | 'end';
  readonly text: string;
  /** 1-based column. */
  readonly at: number;
}

class ExprError extends Error {}

const fail = (at: number, what: string): never => {
  throw new ExprError(`column ${at}: ${what}`);
};

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|([-+*/%(),]))/y;
  let end = 0;
  while (text.slice(end).trim() !== '') {
    pattern.lastIndex = end;
    const match = pattern.exec(text);
    if (!match) {
      const at = end + text.slice(end).search(/\S/);
      return fail(at + 1, `"${text[at]}" is not part of an expression`);
    }
    const [whole, number, name, symbol] = match;
    const word = (number ?? name ?? symbol) as string;
    tokens.push({
      kind: number !== undefined ? 'number' : name !== undefined ? 'name' : 'symbol',
      text: word,
      at: end + whole.length - word.length + 1,
    });
    end += whole.length;
  }
  tokens.push({ kind: 'end', text: '', at: text.length + 1 });
  return tokens;
}

class Parser {
  private readonly tokens: readonly Token[];
  private next = 0;

  constructor(text: string) {
    this.tokens = tokenize(text);
  }

  parse(): Expr {
    const expr = this.sum();
    const rest = this.peek();
    if (rest.kind !== 'end') fail(rest.at, `"${rest.text}" after the end of the expression`);
    return expr;
  }

  private peek(): Token {
    return this.tokens[this.next] as Token;
  }

  private take(): Token {
    const token = this.peek();
    if (token.kind !== 'end') this.next++;
    return token;
  }

  private isSymbol(...texts: string[]): boolean {
    const token = this.peek();
    return token.kind === 'symbol' && texts.includes(token.text);
  }

  private expect(symbol: string): void {
    const token = this.take();
    if (token.kind !== 'symbol' || token.text !== symbol)
      fail(
        token.at,
        `"${symbol}" expected${token.kind === 'end' ? ', but the expression ends' : `, not "${token.text}"`}`,
      );
  }

  private sum(): Expr {
    return this.chain(() => this.product(), '+', '-');
  }

  private product(): Expr {
    return this.chain(() => this.unary(), '*', '/', '%');
  }

  /** Left-associative chain of one precedence level. */
  private chain(operand: () => Expr, ...ops: BinaryOp[]): Expr {
    let left = operand();
    while (this.isSymbol(...ops)) {
      const op = this.take();
      left = { kind: 'binary', op: op.text as BinaryOp, left, right: operand(), at: op.at };
    }
    return left;
  }

  private unary(): Expr {
    if (!this.isSymbol('-', '+')) return this.primary();
    const sign = this.take().text;
    const of = this.unary();
    return sign === '-' ? { kind: 'negate', of } : of;
  }

  private primary(): Expr {
    const token = this.take();
    if (token.kind === 'number') return { kind: 'number', value: Number(token.text) };
    if (token.kind === 'symbol' && token.text === '(') {
      const inner = this.sum();
      this.expect(')');
      return inner;
    }
    if (token.kind !== 'name')
      return fail(token.at, token.kind === 'end' ? 'the expression ends too early' : `unexpected "${token.text}"`);
    if (!this.isSymbol('(')) return { kind: 'name', name: token.text, at: token.at };
    return token.text === 'sizeof' ? this.sizeof() : this.call(token);
  }

  private sizeof(): Expr {
    this.expect('(');
    const type = this.take();
    if (!sizeofTypes.includes(type.text)) fail(type.at, `sizeof knows ${sizeofTypes.join(', ')}`);
    this.expect(')');
    return { kind: 'sizeof', type: type.text as SizeofType };
  }

  private call(name: Token): Expr {
    if (!Object.hasOwn(functions, name.text))
      fail(name.at, `unknown function "${name.text}" (known: ${reservedNames.join(', ')})`);
    const fn = name.text as FunctionName;
    this.expect('(');
    const args = [this.sum()];
    while (this.isSymbol(',')) {
      this.take();
      args.push(this.sum());
    }
    this.expect(')');
    const [least, most] = functions[fn].arity;
    if (args.length < least || args.length > most)
      fail(name.at, `${fn} takes ${least === most ? least : `${least} to ${most}`} arguments, not ${args.length}`);
    return { kind: 'call', fn, args, at: name.at };
  }
}

/** Variables of an evaluation: the dimensions, and the bytes of T. */
export interface Scope {
  readonly dims: Readonly<Record<string, number>>;
  readonly sizeofT: number;
}

const attempt = <T>(text: string, work: () => T): Result<T> => {
  try {
    return ok(work());
  } catch (cause) {
    if (cause instanceof ExprError) return err('input.task', `expression "${text}", ${cause.message}`);
    throw cause;
  }
};

/** Parses; the error names the column. */
export const parseExpr = (text: string): Result<Expr> => attempt(text, () => new Parser(text).parse());

/** Names that an expression uses, each once, in order of first use. */
export function namesIn(expr: Expr): string[] {
  const found = new Set<string>();
  const visit = (e: Expr): void => {
    if (e.kind === 'name') found.add(e.name);
    else if (e.kind === 'negate') visit(e.of);
    else if (e.kind === 'binary') [e.left, e.right].forEach(visit);
    else if (e.kind === 'call') e.args.forEach(visit);
  };
  visit(expr);
  return [...found];
}

function binary(op: BinaryOp, a: number, b: number, at: number): number {
  if ((op === '/' || op === '%') && b === 0) fail(at, 'division by zero');
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
  }
}

function evaluate(expr: Expr, scope: Scope): number {
  switch (expr.kind) {
    case 'number':
      return expr.value;
    case 'sizeof':
      return { T: scope.sizeofT, float: 4, bf16: 2, int: 4 }[expr.type];
    case 'name':
      if (!Object.hasOwn(scope.dims, expr.name))
        return fail(expr.at, `unknown name "${expr.name}" (known: ${Object.keys(scope.dims).join(', ')})`);
      return scope.dims[expr.name] as number;
    case 'negate':
      return -evaluate(expr.of, scope);
    case 'binary':
      return binary(expr.op, evaluate(expr.left, scope), evaluate(expr.right, scope), expr.at);
    case 'call': {
      const value = functions[expr.fn].apply(expr.args.map((arg) => evaluate(arg, scope)));
      return Number.isNaN(value) ? fail(expr.at, `${expr.fn} of these arguments is not a number`) : value;
    }
  }
}

/** Value of an expression, a finite double. */
export function evalExpr(text: string, scope: Scope): Result<number> {
  return attempt(text, () => {
    const value = evaluate(new Parser(text).parse(), scope);
    if (!Number.isFinite(value)) throw new ExprError(`value ${value} is not finite`);
    return value === 0 ? 0 : value; // no negative zero
  });
}

/** Value of an expression that counts something: an integer that doubles hold exactly. */
export function evalInteger(text: string, scope: Scope): Result<number> {
  const value = evalExpr(text, scope);
  if (value.ok && !Number.isSafeInteger(value.value))
    return err(
      'input.task',
      `expression "${text}": ${value.value} is not an integer below 2^53 (floor or ceil missing?)`,
    );
  return value;
}
