import { normalizeType, withoutComments } from './signature.ts';

/** A parameter as the source declares it: `const float * __restrict__ X` → type `const float*`, name `X`. */
export interface DeclaredParam {
  readonly type: string;
  /** Empty where the declaration has none, or none that could be read. */
  readonly name: string;
  /** The declaration on one line, for messages. */
  readonly text: string;
}

export interface WrapperDefinition {
  readonly name: string;
  readonly params: readonly DeclaredParam[];
}

const identifier = /^[A-Za-z_]\w*$/;

function declaredParam(declaration: string): DeclaredParam {
  const text = declaration.trim().split(/\s+/).join(' ');
  const words = text
    .replace(/\b__restrict__\b|\b__restrict\b|\brestrict\b/g, ' ')
    .replace(/\*/g, ' * ')
    .trim()
    .split(/\s+/);
  const last = words.at(-1) as string;
  const named = words.length > 1 && identifier.test(last) && last !== 'const';
  return { type: normalizeType(declaration), name: named ? last : '', text };
}

/** What stands between the last `;`, `{`, `}` or `"C"` and a position: the words before `void`. At most 200 characters. */
function wordsBefore(text: string, at: number): { readonly words: string; readonly external: boolean } {
  const before = text.slice(Math.max(0, at - 200), at);
  const start = Math.max(...[';', '{', '}', '"'].map((end) => before.lastIndexOf(end)));
  return { words: before.slice(start + 1), external: before.slice(0, start + 1).endsWith('"C"') };
}

/**
 * Definitions `extern "C" void NAME(…) {` of a CUDA source in order, alone or inside `extern "C" { … }`; of several of one name (under
 * #if) the first. Kernels, device functions and what only its own file sees are no wrappers. Linear in the length of the source.
 */
export function wrappersIn(source: string): WrapperDefinition[] {
  const text = withoutComments(source);
  const pattern = /\bextern\s+"C"\s*\{|\bvoid\s+(\w+)\s*\(([^()]*)\)\s*(?:noexcept\s*)?\{|[{}]/g;
  const found = new Map<string, WrapperDefinition>();
  let depth = 0;
  /** Depths inside the open `extern "C" {` blocks. */
  const blocks: number[] = [];
  for (const match of text.matchAll(pattern)) {
    const [whole, name, list] = match;
    if (whole === '}') {
      if (blocks.at(-1) === depth) blocks.pop();
      depth = Math.max(0, depth - 1);
      continue;
    }
    if (name !== undefined && !found.has(name)) {
      const { words, external } = wordsBefore(text, match.index);
      const internal = /\b(?:__global__|__device__|static|inline)\b/.test(words);
      if ((external || blocks.at(-1) === depth) && !internal) {
        const inner = (list as string).trim();
        const params = inner === '' || inner === 'void' ? [] : inner.split(',').map(declaredParam);
        found.set(name, { name, params });
      }
    }
    depth++;
    if (whole.startsWith('extern')) blocks.push(depth);
  }
  return [...found.values()];
}
