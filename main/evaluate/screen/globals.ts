import type { Token } from './lex.ts';
import type { Report } from './report.ts';
import type { Statement, Structure } from './scopes.ts';

const deviceMemory = /^(__constant__|__device__|__shared__)$/;
/** Statements that declare no object with code behind it. */
const harmless =
  /^(asm|__asm|__asm__|using|typedef|friend|static_assert|namespace|enum|template|concept|public|private|protected)$/;
/** Library types whose default construction does nothing that matters. */
const plainTypes = new Set(
  'mutex once_flag recursive_mutex atomic atomic_flag atomic_int atomic_bool vector map unordered_map array string optional pair tuple unique_ptr shared_ptr'.split(
    ' ',
  ),
);
const basicTypes =
  /^(void|bool|char|short|int|long|float|double|unsigned|signed|size_t|ssize_t|ptrdiff_t|u?int(8|16|32|64)_t|u?intptr_t|auto|dim3|(float|double|int|uint|short|ushort|char|uchar|long|ulong)[1-4]|__nv_bfloat16|nv_bfloat16|__nv_bfloat162|nv_bfloat162|__half|half|half2|__half2|cuda\w+_t|cudaDeviceProp)$/;

/**
 * Objects at namespace scope whose initialisation runs code when the library is loaded. Constants, literals, null pointers and empty
 * library containers are fine; calls, lambdas and types of one's own with constructors are not.
 */
export function checkGlobals(code: readonly Token[], structure: Structure, report: Report): void {
  for (const statement of structure.statements) checkStatement(code, structure, statement, report);
}

function checkStatement(code: readonly Token[], structure: Structure, statement: Statement, report: Report): void {
  if (isTypeOnly(code, structure, statement)) return;
  const tokens = withoutClassBodies(code, structure, statement);
  const words = tokens.map((t) => t.text);
  const first = tokens[0];
  if (first === undefined || harmless.test(first.text)) return;
  if (words.some((word) => word === 'constexpr' || word === 'constinit' || deviceMemory.test(word))) return;
  if (statement.scope === 'class' && !(words.includes('static') && words.includes('inline'))) return;
  if (words.includes('extern') && !words.includes('=')) {
    foreign(tokens, structure, report);
    return;
  }
  const split = words.findIndex((word) => word === '=' || word === '{');
  const head = split < 0 ? tokens : tokens.slice(0, split);
  if (split < 0 && head.some((t) => t.text === '(')) {
    declaratorWithParentheses(head, structure, report);
    return;
  }
  if (split >= 0 && runsCode(tokens.slice(split))) {
    refuse(first, report);
    return;
  }
  if (ownTypeWithCode(code, structure, head) || !knownType(head, structure)) refuse(first, report);
}

function refuse(token: Token, report: Report): void {
  report.add(
    token.line,
    'global',
    'an object at namespace scope may not run code when the library is loaded: make it a constant, or a static inside the wrapper',
  );
}

/** A class that is defined or announced, without an object of it. */
function isTypeOnly(code: readonly Token[], structure: Structure, { from, to }: Statement): boolean {
  if (code[to]?.text === '}' && [...structure.classes.values()].some(([, close]) => close === to)) return true;
  return /^(struct|class|union)$/.test(code[from]?.text ?? '') && to === from + 1;
}

/** Class bodies inside the statement are scopes of their own. */
function withoutClassBodies(code: readonly Token[], structure: Structure, { from, to }: Statement): Token[] {
  const bodies = [...structure.classes.values()].filter(([open, close]) => open >= from && close <= to);
  return code
    .slice(from, to + 1)
    .filter((_, k) => !bodies.some(([open, close]) => from + k >= open && from + k <= close));
}

/** Calls, lambdas, new: anything that is not a literal, a name, a cast to a built-in type or an operator. */
function runsCode(tokens: readonly Token[]): boolean {
  return tokens.some((token, i) => {
    const next = tokens[i + 1]?.text ?? '';
    if (token.text === 'new' || token.text === '[') return !isSubscript(tokens, i) || token.text === 'new';
    if (token.kind !== 'identifier') return false;
    if (next === '(' || next === '<')
      return (
        !/^(sizeof|alignof|static_cast|reinterpret_cast|const_cast)$/.test(token.text) && !basicTypes.test(token.text)
      );
    return next === '{' && !basicTypes.test(token.text);
  });
}

const isSubscript = (tokens: readonly Token[], i: number): boolean => {
  const before = tokens[i - 1];
  return before !== undefined && (before.kind === 'identifier' || before.text === ']');
};

/**
 * Without "=" or "{": a function declared ahead, or an object with constructor arguments. Function parameters are types; a literal or
 * a lone name inside means arguments.
 */
function declaratorWithParentheses(head: readonly Token[], structure: Structure, report: Report): void {
  const open = head.findIndex(
    (t, i) =>
      t.text === '(' &&
      head[i - 1]?.kind === 'identifier' &&
      !/^(__launch_bounds__|__attribute__|alignas)$/.test(head[i - 1]?.text ?? ''),
  );
  if (open < 0) {
    refuse(head[0] as Token, report);
    return;
  }
  const name = head[open - 1] as Token;
  const before = head.slice(0, open - 1);
  if (before.length === 0) {
    report.add(name.line, 'global', `${name.text}(…) stands outside of any function`);
    return;
  }
  const inside = head.slice(
    open + 1,
    head.findLastIndex((t) => t.text === ')'),
  );
  const isFunction =
    inside.length === 0 ||
    inside.some(
      (t) => /^[*&]$/.test(t.text) || basicTypes.test(t.text) || structure.classes.has(t.text) || t.text === 'const',
    );
  const isArguments = inside.some((t) => t.kind === 'number' || t.kind === 'string' || t.text === '(');
  if (!isFunction || isArguments) {
    refuse(head[0] as Token, report);
    return;
  }
  const isDevice = before.some((t) => /^(__device__|__global__)$/.test(t.text));
  if (!isDevice && !structure.functions.some((f) => f.name === name.text))
    report.add(
      name.line,
      'declaration',
      `${name.text} is declared here but not defined: functions of other libraries are not allowed`,
    );
}

function foreign(tokens: readonly Token[], structure: Structure, report: Report): void {
  if (tokens.some((t) => /^__(shared|constant|device)__$/.test(t.text))) return;
  const open = tokens.findIndex((t) => t.text === '(');
  const name = tokens[open - 1];
  if (open > 0 && name !== undefined && structure.functions.some((f) => f.name === name.text)) return;
  report.add(
    (tokens[0] as Token).line,
    'declaration',
    'declarations of functions or objects that are defined elsewhere are not allowed',
  );
}

/** A type of this file with a constructor, destructor or initialised members that call something. */
function ownTypeWithCode(code: readonly Token[], structure: Structure, head: readonly Token[]): boolean {
  return head.some((token) => {
    const body = token.kind === 'identifier' ? structure.classes.get(token.text) : undefined;
    if (body === undefined) return false;
    const inside = code.slice(body[0] + 1, body[1]);
    return inside.some((t, i) => (t.text === token.text && inside[i + 1]?.text === '(') || t.text === '~');
  });
}

/** Types that are known to be constructed without running code of note: built in, plain library ones, the file's own. */
function knownType(head: readonly Token[], structure: Structure): boolean {
  const names = head.filter((t) => t.kind === 'identifier');
  if (names.length < 2 && !head.some((t) => t.text === '*'))
    return names.length === 0 || structure.classes.has(names[0]?.text ?? '');
  return (
    names
      .slice(0, -1)
      .some(
        (t) =>
          basicTypes.test(t.text) ||
          plainTypes.has(t.text) ||
          structure.classes.has(t.text) ||
          /^(struct|class|union|enum)$/.test(t.text),
      ) || head.some((t) => t.text === '*')
  );
}
