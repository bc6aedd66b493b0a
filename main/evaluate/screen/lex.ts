/**
 * C++ tokens as the compiler sees them: line splices undone (not inside raw strings), comments dropped, raw strings, digraphs and
 * encoding prefixes understood. The screen reads tokens, never text: what stands in a comment or a string is not code, and what a
 * splice or a digraph hides is.
 */
export type TokenKind = 'identifier' | 'number' | 'string' | 'char' | 'punct' | 'header' | 'other';

export interface Token {
  readonly kind: TokenKind;
  /** Text after splicing; digraphs as the characters they stand for. Strings: with quotes. */
  readonly text: string;
  /** Line of the first character, from 1. */
  readonly line: number;
  /** First on its (logical) line. */
  readonly first: boolean;
}

export interface LexFault {
  readonly line: number;
  readonly message: string;
}

export interface Lexed {
  readonly tokens: readonly Token[];
  readonly faults: readonly LexFault[];
}

const digraphs: Readonly<Record<string, string>> = {
  '<:': '[',
  ':>': ']',
  '<%': '{',
  '%>': '}',
  '%:': '#',
  '%:%:': '##',
};

const punctuators = [
  ['%:%:', '<<=', '>>=', '...', '->*', '<=>'],
  ['<:', ':>', '<%', '%>', '%:', '##', '::', '->', '++', '--', '<<', '>>', '<=', '>=', '==', '!=', '&&', '||'],
  ['+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '.*'],
].flat();

/** Characters with which a punctuator of several may begin. */
const longStarts = new Set(punctuators.map((p) => p[0] as string));

const plainPunct = /[-+*/%^&|~!=<>()[\]{}.,:;?#]/;

const isDigit = (c: string): boolean => c >= '0' && c <= '9';
const isNameStart = (c: string): boolean => /[A-Za-z_$]/.test(c);
const isName = (c: string): boolean => /[A-Za-z0-9_$]/.test(c);
const prefixes = new Set(['u8', 'u', 'U', 'L']);
/** Runs of plain characters, which are taken at once: no splice is in them, and none of their characters ends or begins anything. */
const runs = {
  name: /[A-Za-z0-9_$]+/y,
  blank: /[ \t\f\v]+/y,
  lineComment: /[^\n\\]+/y,
  /** Without newlines, which are counted. */
  blockComment: /[^*\n\\]+/y,
};

class Lexer {
  private readonly source: string;
  private at = 0;
  private line = 1;
  private first = true;
  /** Directive at the start of the current logical line, for header names. */
  private directive: string | null = null;
  readonly tokens: Token[] = [];
  readonly faults: LexFault[] = [];

  constructor(source: string) {
    this.source = source;
  }

  run(): Lexed {
    while (this.skipBlank()) this.token();
    return { tokens: this.tokens, faults: this.faults };
  }

  private fault(message: string, line = this.line): void {
    this.faults.push({ line, message });
  }

  /** Skips splices: a backslash, blanks (as gcc allows), a newline. */
  private splice(): void {
    for (;;) {
      if (this.source[this.at] !== '\\') return;
      const match = /^\\[ \t\f\v]*\n/.exec(this.source.slice(this.at, this.at + 200));
      if (match === null) return;
      this.at += match[0].length;
      this.line++;
    }
  }

  /** Current character after splicing; '' at the end. */
  private peek(): string {
    this.splice();
    return this.source[this.at] ?? '';
  }

  /** Up to n characters ahead after splicing, without moving. */
  private ahead(n: number): string {
    const { at, line } = this;
    let text = '';
    while (text.length < n && this.peek() !== '') text += this.take();
    this.at = at;
    this.line = line;
    return text;
  }

  private take(): string {
    const c = this.peek();
    if (c !== '') {
      this.at++;
      if (c === '\n') this.line++;
    }
    return c;
  }

  /** Takes the run of characters that stands here, if any. */
  private takeRun(run: RegExp): string {
    run.lastIndex = this.at;
    const found = run.exec(this.source)?.[0] ?? '';
    this.at += found.length;
    return found;
  }

  /** Blanks, newlines, comments. false at the end. */
  private skipBlank(): boolean {
    for (;;) {
      const c = this.peek();
      if (c === '') return false;
      const two = c === '/' ? this.ahead(2) : '';
      if (c === '\n') {
        this.take();
        this.first = true;
        this.directive = null;
      } else if (c === ' ' || c === '\t' || c === '\f' || c === '\v') this.takeRun(runs.blank);
      else if (two === '//') this.lineComment();
      else if (two === '/*') this.blockComment();
      else return true;
    }
  }

  private lineComment(): void {
    while (this.peek() !== '' && this.peek() !== '\n') if (this.takeRun(runs.lineComment) === '') this.take();
  }

  private blockComment(): void {
    const start = this.line;
    this.take();
    this.take();
    while (this.ahead(2) !== '*/')
      if (this.takeRun(runs.blockComment) === '' && this.take() === '') {
        this.fault('comment without an end', start);
        return;
      }
    this.take();
    this.take();
  }

  private push(kind: TokenKind, text: string, line: number): void {
    const first = this.first;
    this.first = false;
    if (first && text === '#') this.directive = '';
    else if (this.directive === '' && kind === 'identifier') this.directive = text;
    this.tokens.push({ kind, text, line, first });
  }

  private token(): void {
    const { line } = this;
    const c = this.peek();
    if (this.directive !== null && /^(include|include_next|import|embed)$/.test(this.directive) && c === '<') {
      this.header(line);
      return;
    }
    if (isNameStart(c)) {
      this.name(line);
      return;
    }
    if (isDigit(c) || (c === '.' && isDigit(this.ahead(2)[1] ?? ''))) {
      this.number(line);
      return;
    }
    if (c === '"') {
      this.push('string', this.quoted('"', line), line);
      return;
    }
    if (c === "'") {
      this.push('char', this.quoted("'", line), line);
      return;
    }
    this.punct(line);
  }

  private header(line: number): void {
    let text = '';
    while (this.peek() !== '' && this.peek() !== '\n' && this.peek() !== '>') text += this.take();
    if (this.peek() === '>') text += this.take();
    this.push('header', text, line);
  }

  private name(line: number): void {
    let text = '';
    while (isName(this.peek())) text += this.takeRun(runs.name);
    const quote = this.peek();
    const raw = text.endsWith('R') && (text === 'R' || prefixes.has(text.slice(0, -1)));
    if (quote === '"' && raw) {
      this.rawString(text, line);
      return;
    }
    if ((quote === '"' || quote === "'") && prefixes.has(text)) {
      const literal = this.quoted(quote, line);
      this.push(quote === '"' ? 'string' : 'char', `${text}${literal}`, line);
      return;
    }
    this.push('identifier', text, line);
  }

  private number(line: number): void {
    // The last character is kept apart: asking a growing text for it copies the text each time.
    let last = this.take();
    let text = last;
    for (;;) {
      const c = this.peek();
      const sign = /[eEpP]/.test(last) && /[+-]/.test(c);
      const separator = c === "'" && isName(this.ahead(2)[1] ?? '');
      if (!sign && !separator && !isName(c) && c !== '.') break;
      last = this.take();
      text += last;
    }
    this.push('number', text, line);
  }

  /** A literal with its quotes; escapes are kept as written. */
  private quoted(quote: string, line: number): string {
    let text = this.take();
    for (;;) {
      const c = this.peek();
      if (c === '' || c === '\n') {
        this.fault(`${quote === '"' ? 'string' : 'character'} without an end`, line);
        return text;
      }
      text += this.take();
      if (c === '\\') text += this.take();
      else if (c === quote) return text;
    }
  }

  /** Inside a raw string splices are text. */
  private rawString(prefix: string, line: number): void {
    const match = /^"([^()\\\s]{0,16})\(/.exec(this.source.slice(this.at, this.at + 20));
    if (match === null) {
      this.fault('malformed raw string', line);
      this.take();
      return;
    }
    const close = `)${match[1]}"`;
    const end = this.source.indexOf(close, this.at + match[0].length);
    const stop = end < 0 ? this.source.length : end + close.length;
    if (end < 0) this.fault('raw string without an end', line);
    const text = this.source.slice(this.at, stop);
    this.line += text.split('\n').length - 1;
    this.at = stop;
    this.push('string', `${prefix}${text}`, line);
  }

  private punct(line: number): void {
    const c = this.peek();
    if (!longStarts.has(c) && plainPunct.test(c)) {
      this.take();
      this.push('punct', c, line);
      return;
    }
    const ahead = this.ahead(4);
    // [lex.pptoken]: "<::" is "<" "::" unless a ":" or ">" follows.
    const split = ahead.startsWith('<::') && ahead[3] !== ':' && ahead[3] !== '>';
    const found = split ? undefined : punctuators.find((p) => ahead.startsWith(p));
    const text = found ?? this.peek();
    for (let i = 0; i < text.length; i++) this.take();
    const known = found !== undefined || plainPunct.test(text);
    this.push(known ? 'punct' : 'other', digraphs[text] ?? text, line);
  }
}

/** Tokenises C++ source. Newlines may be \n or \r\n. */
export const lex = (source: string): Lexed => new Lexer(source.replace(/^\uFEFF/, '').replace(/\r\n/g, '\n')).run();

/** Content of plain string literals put together, escapes of newline and tab undone; raw strings as they are. */
export function stringText(token: Token): string {
  const raw = /^(?:u8|u|U|L)?R"([^()\\\s]{0,16})\(([\s\S]*)\)\1"$/.exec(token.text);
  if (raw !== null) return raw[2] as string;
  const inner = token.text.replace(/^(?:u8|u|U|L)?"/, '').replace(/"$/, '');
  return inner.replace(/\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)/g, (_, e: string) => {
    if (e[0] === 'x') return String.fromCharCode(Number.parseInt(e.slice(1), 16) & 0xff);
    if (/^[0-7]/.test(e)) return String.fromCharCode(Number.parseInt(e, 8) & 0xff);
    return ({ n: '\n', t: '\t', r: '\r' } as Record<string, string>)[e] ?? e;
  });
}
