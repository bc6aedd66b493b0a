import type { Complaint } from './adapt.ts';
import { retryAfterMs } from './retry-after.ts';

/** What an endpoint's refusal means, told apart by status, code and words: servers agree on none of the three alone. */
export type Fault =
  | { readonly kind: 'parameter'; readonly complaint: Complaint; readonly message: string }
  | {
      readonly kind: 'context';
      readonly limit: number | null;
      readonly prompt: number | null;
      readonly message: string;
    }
  | { readonly kind: 'quota' | 'auth' | 'refused' | 'not-found'; readonly message: string }
  | { readonly kind: 'redirect'; readonly to: string; readonly message: string }
  | { readonly kind: 'rate' | 'overloaded'; readonly waitMs: number | null; readonly message: string };

interface Said {
  readonly message: string;
  readonly code: string;
  readonly param: string;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Message, code and parameter of an error body: OpenAI's form, FastAPI's `detail`, a bare string, or plain text. */
export function readErrorBody(body: string): Said {
  let data: unknown;
  try {
    data = JSON.parse(body);
  } catch {
    return { message: body.trim().slice(0, 2000), code: '', param: '' };
  }
  const top = (typeof data === 'object' && data !== null ? data : {}) as Record<string, unknown>;
  const inner = top.error ?? top.detail ?? top;
  if (typeof inner === 'string') return { message: inner, code: text(top.code), param: '' };
  if (Array.isArray(inner)) {
    const first = (inner[0] ?? {}) as Record<string, unknown>;
    const at = Array.isArray(first.loc) ? String(first.loc.at(-1)) : '';
    return { message: `${at}: ${text(first.msg)}`, code: text(first.type), param: at };
  }
  const e = inner as Record<string, unknown>;
  return {
    message: text(e.message) || JSON.stringify(inner).slice(0, 2000),
    code: `${text(e.code)} ${text(e.type)}`.trim(),
    param: text(e.param),
  };
}

const number = (match: RegExpExecArray | null): number | null =>
  match?.[1] === undefined ? null : Number(match[1].replaceAll(',', ''));

const isContext = (s: Said): boolean =>
  /context_length_exceeded|exceed_context_size/.test(s.code) ||
  /maximum context length|context (length|window|size)|prompt (is )?too long|exceeds? the (available |model'?s )?context|n_ctx|no user query found in messages/i.test(
    s.message,
  );

function contextFault(s: Said): Fault {
  const limit = number(/(?:context (?:length|window|size)[^0-9]{0,40}|n_ctx[^0-9]{0,10})([\d,]+)/i.exec(s.message));
  const prompt =
    number(/(?<![\d,])([\d,]{1,24}) in the messages/i.exec(s.message)) ??
    number(/(?<![\d,])([\d,]{1,24}) (?:input|prompt) tokens/i.exec(s.message)) ??
    number(/(?:prompt|request)[^0-9]{0,40}([\d,]+) tokens/i.exec(s.message));
  return { kind: 'context', limit, prompt, message: s.message };
}

const complains =
  /unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra (input|field)|additional propert|invalid|too large|at most|must be|only the default/i;

function complaintOf(s: Said): Complaint | null {
  if (
    /role[^.]{0,40}(does )?not support[^.]{0,20}system|system (role|message)s?[^.]{0,30}not (be )?(supported|allowed)/i.test(
      s.message,
    )
  )
    return { param: 'system', cap: null };
  const order = ['stream_options', 'max_completion_tokens', 'max_tokens', 'temperature', 'reasoning_effort'] as const;
  // "Unsupported parameter: 'max_tokens' … Use 'max_completion_tokens' instead": the one named first is meant.
  const named = order
    .map((param) => ({ param, at: s.param === param ? -1 : s.message.search(new RegExp(`\\b${param}\\b`)) }))
    .filter(({ param, at }) => at >= 0 || s.param === param)
    .sort((x, y) => x.at - y.at)[0];
  if (named === undefined || !complains.test(`${s.code} ${s.message}`)) return null;
  const length = named.param === 'max_tokens' || named.param === 'max_completion_tokens';
  const cap = length
    ? (number(/at most ([\d,]+)/i.exec(s.message)) ??
      number(/range[^[(]{0,80}[[(]\s{0,8}\d{1,24}\s{0,8},\s{0,8}([\d,]{1,24})\s{0,8}[\])]/i.exec(s.message)) ??
      number(/(?:less than or equal to|<=|maximum (?:value )?(?:is|of))\s*([\d,]+)/i.exec(s.message)))
    : null;
  return { param: named.param, cap };
}

const isQuota = (status: number, s: Said): boolean =>
  status === 402 ||
  /insufficient_quota|billing|insufficient_balance/.test(s.code) ||
  /insufficient (quota|balance|credit|fund)|out of credit|payment required|billing hard limit/i.test(s.message);

/**
 * Classifies an error answer. `status` 0: the error came inside a stream that began well.
 * A 429 is a spent quota or a rate limit; the two want opposite behaviour.
 */
export function classify(status: number, body: string, headers: Headers): Fault {
  const said = readErrorBody(body);
  const message = said.message === '' ? `status ${status} without a text` : said.message;
  if (status >= 300 && status < 400) return { kind: 'redirect', to: headers.get('location') ?? '?', message };
  if (isQuota(status, said)) return { kind: 'quota', message };
  if (isContext(said) || status === 413) return contextFault({ ...said, message });
  if (status === 400 || status === 422 || status === 0) {
    const complaint = complaintOf(said);
    if (complaint !== null) return { kind: 'parameter', complaint, message };
  }
  if (status === 401 || status === 403) return { kind: 'auth', message };
  if (status === 404) return { kind: 'not-found', message };
  const waitMs = retryAfterMs(headers);
  if (status === 429 || (status === 0 && /rate.?limit/i.test(`${said.code} ${message}`))) {
    // "exceeded your current quota" without a time to come back is a spent quota whatever its code.
    if (waitMs === null && /exceeded your current quota/i.test(message)) return { kind: 'quota', message };
    return { kind: 'rate', waitMs, message };
  }
  if (status >= 500 || status === 408 || status === 425 || status === 0) return { kind: 'overloaded', waitMs, message };
  return { kind: 'refused', message };
}
