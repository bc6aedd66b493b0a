import { describe, expect, it } from 'vitest';
import { Prng } from '../../main/base/random.ts';
import { evalExpr, evalInteger, namesIn, parseExpr } from '../../main/evaluate/task/expr.ts';

const scope = { dims: { N: 5, M: 12, rows: 7 }, sizeofT: 2 };
const value = (text: string): number | string => {
  const result = evalExpr(text, scope);
  return result.ok ? result.value : result.error.message;
};

describe('expressions', () => {
  it.each([
    ['1+2*3', 7],
    ['(1+2)*3', 9],
    ['10-4-3', 3],
    ['100/10/5', 2],
    ['7/2', 3.5],
    ['floor(7/2)', 3],
    ['ceil(N/2)', 3],
    ['17 % N', 2],
    ['-N*-2', 10],
    ['--2', 2],
    ['+N', 5],
    ['min(N,M,3)', 3],
    ['max(N, M)', 12],
    ['sqrt(16)+log2(8)', 7],
    ['pow(2,10)', 1024],
    ['N*sizeof(T)+sizeof(float)+sizeof(bf16)+sizeof(int)', 20],
    ['1e3+.5', 1000.5],
    [' rows+1 ', 8],
    ['0*-1', 0],
  ])('%s = %d', (text, want) => expect(value(text)).toBe(want));

  it.each([
    ['2*(N', 'column 5: ")" expected, but the expression ends'],
    ['N $ 2', 'column 3: "$" is not part of an expression'],
    ['2 3', 'column 3: "3" after the end'],
    ['foo(1)', 'column 1: unknown function "foo"'],
    ['1+K', 'column 3: unknown name "K" (known: N, M, rows)'],
    ['N/(M-12)', 'column 2: division by zero'],
    ['N%0', 'column 2: division by zero'],
    ['sqrt(0-1)', 'column 1: sqrt of these arguments is not a number'],
    ['', 'column 1: the expression ends too early'],
    ['min()', 'column 5: unexpected ")"'],
    ['pow(2)', 'column 1: pow takes 2 arguments, not 1'],
    ['sizeof(double)', 'column 8: sizeof knows T, float, bf16, int'],
    ['1e400', 'not finite'],
    ['log2(0)', 'not finite'],
    ['constructor', 'unknown name "constructor"'],
    ['toString(1)', 'unknown function "toString"'],
    ['__proto__', 'unknown name "__proto__"'],
    ['N;process', 'column 2: ";" is not part'],
  ])('refuses %s, saying where', (text, want) => expect(value(text)).toContain(want));

  it('demands whole numbers where something is counted', () => {
    expect(evalInteger('M/4', scope)).toEqual({ ok: true, value: 3 });
    const fraction = evalInteger('N/2', scope);
    expect(fraction.ok ? '' : fraction.error.message).toContain('2.5 is not an integer');
    expect(evalInteger('pow(2,53)', scope).ok).toBe(false);
  });

  it('lists the names it uses', () => {
    const parsed = parseExpr('min(N, rows)*sizeof(T) - N');
    expect(parsed.ok && namesIn(parsed.value)).toEqual(['N', 'rows']);
  });

  /** A random expression as our text and as JavaScript, which evaluates it independently. */
  function random(prng: Prng, depth: number): { text: string; js: string } {
    const kind = depth === 0 ? prng.int(0, 2) : prng.int(0, 7);
    if (kind === 0) {
      const literal = prng.pick(['0', '1', '3', '2.5', '1e2', '.25']);
      return { text: literal, js: literal };
    }
    if (kind === 1) {
      const name = prng.pick(['N', 'M', 'rows']);
      return { text: name, js: `d.${name}` };
    }
    if (kind === 2) return { text: 'sizeof(T)', js: '2' };
    const a = random(prng, depth - 1);
    const b = random(prng, depth - 1);
    if (kind === 3) return { text: `-(${a.text})`, js: `(-(${a.js}))` };
    if (kind === 4) {
      const fn = prng.pick(['min', 'max']);
      return { text: `${fn}( ${a.text},${b.text} )`, js: `Math.${fn}(${a.js},${b.js})` };
    }
    if (kind === 5) {
      const fn = prng.pick(['floor', 'ceil']);
      return { text: `${fn}(${a.text})`, js: `Math.${fn}(${a.js})` };
    }
    const op = prng.pick(['+', '-', '*', '/', '%']);
    // Operands in brackets only sometimes: precedence must agree with JavaScript's, which has the same levels.
    const bare = prng.int(0, 1) === 1;
    return bare
      ? { text: `${a.text} ${op} ${b.text}`, js: `${a.js} ${op} ${b.js}` }
      : { text: `((${a.text})${op}(${b.text}))`, js: `((${a.js})${op}(${b.js}))` };
  }

  it('agrees with JavaScript on 5000 random expressions', () => {
    const prng = new Prng('expr');
    let finite = 0;
    for (let i = 0; i < 5000; i++) {
      const { text, js } = random(prng, 4);
      const want = new Function('d', `return ${js}`)(scope.dims) as number;
      const got = evalExpr(text, scope);
      if (Number.isFinite(want) && got.ok) {
        finite++;
        expect(got.value, text).toBe(want === 0 ? 0 : want);
      } else if (!got.ok) {
        expect(got.error.message, text).toMatch(/division by zero|not finite|not a number/);
      }
      if (!Number.isFinite(want)) expect(got.ok, text).toBe(false);
    }
    expect(finite).toBeGreaterThan(2000);
  });

  it('never throws, whatever the text', () => {
    const prng = new Prng('garbage');
    const alphabet = [...'0123456789.eE+-*/%(), NMTxyz_$"\'\\\n\u00e4', 'min(', 'sizeof(', 'pow(', 'N'];
    for (let i = 0; i < 20000; i++) {
      const text = Array.from({ length: prng.int(0, 24) }, () => prng.pick(alphabet)).join('');
      const result = evalExpr(text, scope);
      if (!result.ok) expect(result.error.code).toBe('input.task');
    }
    expect(evalExpr('('.repeat(400), scope).ok).toBe(false);
    expect(evalExpr(`${'-'.repeat(399)}1`, scope)).toEqual({ ok: true, value: -1 });
  });
});
