/**
 * Arithmetic of the data files: numbers, names, + - * /, unary minus, parentheses, min(…), max(…), ceil(…). A pure function of its names;
 * throws only on a formula that is no formula (a mistake in a data file, found by its test).
 */
export interface Formula {
  readonly names: readonly string[];
  /** null: division by zero, or out of range. */
  readonly value: (of: Readonly<Record<string, number>>) => number | null;
}

type Node = (of: Readonly<Record<string, number>>) => number;

const TOKEN = /\s*(?:(\d+(?:\.\d+)?)|([A-Za-z]\w*)|([-+*/(),]))/y;
const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
  min: Math.min,
  max: Math.max,
  ceil: Math.ceil,
};

export function formula(text: string): Formula {
  const parser = new Parser(text);
  const node = parser.all();
  return {
    names: [...parser.names],
    value: (of) => {
      const value = node(of);
      return Number.isFinite(value) ? value : null;
    },
  };
}

class Parser {
  readonly names = new Set<string>();
  private readonly tokens: string[] = [];
  private at = 0;

  constructor(text: string) {
    let from = 0;
    while (from < text.trimEnd().length) {
      TOKEN.lastIndex = from;
      const match = TOKEN.exec(text);
      if (match === null) throw new Error(`"${text}": not understood at ${from}`);
      this.tokens.push(match[1] ?? match[2] ?? (match[3] as string));
      from = TOKEN.lastIndex;
    }
  }

  all(): Node {
    const node = this.sum();
    if (this.at < this.tokens.length) throw new Error(`"${this.tokens.join(' ')}": unexpected ${this.tokens[this.at]}`);
    return node;
  }

  private sum(): Node {
    let left = this.product();
    for (;;) {
      const [a, plus] = [left, this.next('+')];
      if (!plus && !this.next('-')) return left;
      const b = this.product();
      left = plus ? (of) => a(of) + b(of) : (of) => a(of) - b(of);
    }
  }

  private product(): Node {
    let left = this.factor();
    for (;;) {
      const [a, times] = [left, this.next('*')];
      if (!times && !this.next('/')) return left;
      const b = this.factor();
      left = times ? (of) => a(of) * b(of) : (of) => a(of) / b(of);
    }
  }

  private factor(): Node {
    if (this.next('-')) {
      const inner = this.factor();
      return (of) => -inner(of);
    }
    if (this.next('(')) {
      const inner = this.sum();
      this.expect(')');
      return inner;
    }
    const token = this.tokens[this.at++] ?? '';
    if (/^\d/.test(token)) {
      const value = Number(token);
      return () => value;
    }
    if (!/^\w/.test(token)) throw new Error(`"${this.tokens.join(' ')}": a value is missing`);
    if (!this.next('(')) {
      this.names.add(token);
      return (of) => of[token] ?? Number.NaN;
    }
    return this.call(token);
  }

  private call(name: string): Node {
    const of = FUNCTIONS[name];
    if (of === undefined) throw new Error(`"${this.tokens.join(' ')}": unknown function ${name}`);
    const values = [this.sum()];
    while (this.next(',')) values.push(this.sum());
    this.expect(')');
    return (names) => of(...values.map((value) => value(names)));
  }

  private next(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at++;
    return true;
  }

  private expect(token: string): void {
    if (!this.next(token)) throw new Error(`"${this.tokens.join(' ')}": ${token} is missing`);
  }
}
