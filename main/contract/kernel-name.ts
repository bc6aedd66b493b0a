/**
 * Bare kernel name of a demangled signature (ncu) or a mangled symbol (CUPTI): no namespaces, template arguments, return type, parameters.
 *
 *   "void ns::gemm<int (4), float>(const T2 *, int)" → "gemm"; "_ZN2ns4gemmILi4EfEEvPKT0_i" → "gemm"; "dot_kernel" → "dot_kernel"
 */
export function kernelBaseName(name: string): string {
  const mangled = /^_Z/.test(name) ? fromMangled(name) : null;
  if (mangled !== null) return mangled;
  const bare = beforeParameters(stripNested(name.replaceAll('(anonymous namespace)', 'anon'), '<', '>'));
  return bare.trim().split(/\s+/).pop()?.split('::').pop() ?? name;
}

/** Text with every balanced open…close part taken out. */
function stripNested(text: string, open: string, close: string): string {
  let depth = 0;
  let out = '';
  for (const ch of text) {
    if (ch === open) depth++;
    else if (ch === close && depth > 0) depth--;
    else if (depth === 0) out += ch;
  }
  return out;
}

const beforeParameters = (text: string): string => {
  const at = text.indexOf('(');
  return at < 0 ? text : text.slice(0, at);
};

/** Last name component of an Itanium-mangled symbol; null when it is not understood. */
function fromMangled(symbol: string): string | null {
  let at = 2;
  const nested = symbol[at] === 'N';
  if (nested) at++;
  let last: string | null = null;
  for (;;) {
    const rest = symbol.slice(at);
    const skip = /^(?:St|S[abisod]|S[0-9A-Z]*_|L(?=\d)|[rVK](?=\d))/.exec(rest);
    const digits = /^\d+/.exec(rest);
    if (digits !== null) {
      const length = Number(digits[0]);
      const start = at + digits[0].length;
      last = symbol.slice(start, start + length);
      at = start + length;
      if (!nested) break;
    } else if (skip !== null && last === null) at += skip[0].length;
    else if (rest.startsWith('I') && nested) break;
    else break;
  }
  return last;
}
