/** Values of keys seen in this process. They are kept only here, only in memory. */
const secrets = new Set<string>();

/** Names of fields as redact() leaves them: plain data repeats a few names thousands of times. */
const redactedKeys = new Map<string, string>();
const mostKeys = 2000;
/** The shortest text that any shape below matches: "a://:x@". */
const shortestShape = 7;

/**
 * Shapes that are keys whoever made them. Each keeps what tells the reader which kind of key stood there. Parts that may begin anywhere
 * in a long word are bounded: without a bound the search is quadratic in the word's length (40 KB of one letter took 3 s).
 */
const shapes: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----)){0,20000}-----END [A-Z ]{0,40}PRIVATE KEY-----/g,
    '[private key]',
  ],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [redacted]'],
  // Keys of this kind are longer than names in code that happen to begin so (sk-first_offset).
  [/\b(sk|rk|pk)-[A-Za-z0-9_-]{16,}/g, '$1-[redacted]'],
  [/\b(hf|gsk|xai|nvapi|ghp|gho|ghs|github_pat|glpat|AIza)([-_]?)[A-Za-z0-9_-]{16,}/g, '$1$2[redacted]'],
  [/\b(eyJ[A-Za-z0-9_-]{8,1024})\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g, '[redacted token]'],
  [
    /((?:api[-_ ]?key|access[-_ ]?token|auth[-_ ]?token|secret|password|passwd|authorization|x-api-key)["']?\s*[:=]\s*["']?)(?!\[redacted)[^\s"',;&}]{4,}/gi,
    '$1[redacted]',
  ],
  // Of the scheme its last letter is enough: a search that begins at every letter of a word takes long.
  [/([a-z0-9+.-]:\/\/[^\s/:@]{0,256}:)[^\s/@]{1,256}@/gi, '$1[redacted]@'],
];

/** Makes a value a secret for the life of this process. Values under 4 characters are ignored: they would blank out half the text. */
export function registerSecret(value: string): void {
  const trimmed = value.trim();
  if (trimmed.length < 4) return;
  secrets.add(trimmed);
  redactedKeys.clear();
}

/** True when the text holds a registered secret, as it is or URL-encoded. */
export function holdsSecret(text: string): boolean {
  for (const secret of secrets) if (text.includes(secret) || text.includes(encodeURIComponent(secret))) return true;
  return false;
}

/** Removes registered secrets only: shapes of keys also fit code and words of the user's, which stay. */
export const withoutSecrets = (text: string): string => (holdsSecret(text) ? redact(text) : text);

/** True when any secret is registered: without one, texts need not be looked through for them. */
export const knowsSecrets = (): boolean => secrets.size > 0;

/** True for names under which keys are usually kept (OPENAI_API_KEY, HF_TOKEN, AWS_SECRET_ACCESS_KEY …). */
export function isSecretName(name: string): boolean {
  return /(^|[_.-])(API[_-]?KEY|KEY|APIKEY|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASS|CREDENTIALS?|AUTH|COOKIE|PRIVATE)([_.-]|$)/i.test(
    name,
  );
}

/** Removes registered secrets and everything of a key's shape from a text. */
export function redact(text: string): string {
  let out = text;
  // Longest first: a secret that contains another must vanish whole.
  for (const secret of [...secrets].sort((a, b) => b.length - a.length)) {
    out = out.replaceAll(secret, '[redacted]');
    const encoded = encodeURIComponent(secret);
    if (encoded !== secret) out = out.replaceAll(encoded, '[redacted]');
  }
  if (out.length < shortestShape) return out;
  for (const [shape, instead] of shapes) out = out.replace(shape, instead);
  return out;
}

function redactedKey(key: string): string {
  const known = redactedKeys.get(key);
  if (known !== undefined) return known;
  const out = redact(key);
  if (redactedKeys.size >= mostKeys) redactedKeys.clear();
  redactedKeys.set(key, out);
  return out;
}

/**
 * redact() for every string inside plain data, keys included; values under key-like names vanish whole.
 * `before`: what else is done to every value first.
 */
export function redactDeep<T>(value: T, before?: (text: string) => string): T {
  if (typeof value === 'string') return redact(before ? before(value) : value) as T;
  if (Array.isArray(value))
    return value.map((v) => (typeof v === 'number' || v === null ? v : redactDeep(v, before))) as T;
  if (value !== null && typeof value === 'object') {
    const out: Record<string, unknown> = {};
    for (const [key, inner] of Object.entries(value))
      out[redactedKey(key)] = typeof inner === 'string' && isSecretName(key) ? '[redacted]' : redactDeep(inner, before);
    return out as T;
  }
  return value;
}
