import type { TimeResult } from '../../contract/index.ts';
import { PeerFault, type Reply } from './wire.ts';

/** Answers of the runner as typed values. The process that writes them holds the candidate and may lie, so every field is looked at. */

export type Peaks = NonNullable<TimeResult['peaks']>;

/** GPU activities of one call under one name. */
export interface ActivityGroup {
  readonly kind: 'kernel' | 'memcpy' | 'memset';
  readonly name: string;
  /** How many in this call, and their summed duration. */
  readonly n: number;
  readonly ns: number;
  readonly grid?: number[];
  readonly block?: number[];
  readonly regs?: number;
  readonly shs?: number;
  readonly shd?: number;
}

export interface CallReply {
  readonly wrapperNs: number | null;
  readonly spanNs: number | null;
  readonly eventNs: number | null;
  readonly late: number;
  /** Gated calls: activities not in order with the caller's work on the default stream, before and after. */
  readonly early: number;
  readonly unjoined: number;
  readonly dropped: number;
  readonly acts: readonly ActivityGroup[];
  /** Records of the call before that came after its answer: its span was incomplete. */
  readonly stragglers: number;
  /** Host threads of the process before and after. */
  readonly threads: readonly [number, number];
  /** Names of the host threads that are there after the call and were not before. */
  readonly newThreads: readonly string[];
  readonly cuda: string | null;
}

export interface CheckReply {
  readonly guards: readonly { buf: number | string; side: string; offset: number }[];
  readonly inputs: readonly { buf: number | string; mismatches: number; first: number }[];
}

export interface ClocksReply {
  readonly smMHz: number | null;
  readonly memMHz: number | null;
  /** Compute processes besides the runner. */
  readonly foreign: readonly { pid: number; name: string }[];
  /** false: the driver gave no list (NVML is missing or refuses), so that `foreign` says nothing. */
  readonly looked: boolean;
}

function record(value: unknown, command: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new PeerFault('protocol', command, `no object in ${command}`);
  return value as Record<string, unknown>;
}

const list = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter((v) => typeof v === 'object' && v !== null) : [];

export function optionalNumber(json: Readonly<Record<string, unknown>>, key: string): number | null {
  const value = json[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function requiredNumber(json: Readonly<Record<string, unknown>>, key: string, command: string): number {
  const value = optionalNumber(json, key);
  if (value === null) throw new PeerFault('protocol', command, `no number "${key}" in the answer to ${command}`);
  return value;
}

function numbers(value: unknown): number[] | undefined {
  return Array.isArray(value) && value.every((v) => typeof v === 'number') ? value : undefined;
}

function activityGroup(json: Record<string, unknown>): ActivityGroup {
  const kind = json.kind;
  if (kind !== 'kernel' && kind !== 'memcpy' && kind !== 'memset')
    throw new PeerFault('protocol', 'call', 'a GPU activity of unknown kind');
  return {
    kind,
    name: String(json.name ?? '').slice(0, 500),
    n: requiredNumber(json, 'n', 'call'),
    ns: requiredNumber(json, 'ns', 'call'),
    grid: numbers(json.grid),
    block: numbers(json.block),
    regs: optionalNumber(json, 'regs') ?? undefined,
    shs: optionalNumber(json, 'shs') ?? undefined,
    shd: optionalNumber(json, 'shd') ?? undefined,
  };
}

export function callReply({ json }: Reply): CallReply {
  const threads = numbers(json.threads);
  if (threads?.length !== 2) throw new PeerFault('protocol', 'call', 'no "threads" in the answer to call');
  // A count that is missing is not zero: nothing could then be said against the call.
  const count = (key: string): number => requiredNumber(json, key, 'call');
  return {
    wrapperNs: optionalNumber(json, 'wrapperNs'),
    spanNs: optionalNumber(json, 'spanNs'),
    eventNs: optionalNumber(json, 'eventNs'),
    late: count('late'),
    early: count('early'),
    unjoined: count('unjoined'),
    dropped: count('dropped'),
    stragglers: count('stragglers'),
    acts: Array.isArray(json.acts) && json.acts.length > 0 ? list(json.acts).map(activityGroup) : [],
    threads: [threads[0] as number, threads[1] as number],
    newThreads: Array.isArray(json.newThreads) ? json.newThreads.map(String) : [],
    cuda: typeof json.cuda === 'string' ? json.cuda : null,
  };
}

export function checkReply({ json }: Reply): CheckReply {
  const name = (v: unknown): number | string => (typeof v === 'number' ? v : String(v));
  if (!Array.isArray(json.guards) || !Array.isArray(json.inputs))
    throw new PeerFault('protocol', 'check', 'an incomplete answer to check');
  return {
    guards: list(json.guards).map((g) => ({
      buf: name(g.buf),
      side: String(g.side),
      offset: requiredNumber(g, 'offset', 'check'),
    })),
    inputs: list(json.inputs).map((i) => ({
      buf: name(i.buf),
      mismatches: requiredNumber(i, 'mismatches', 'check'),
      first: requiredNumber(i, 'first', 'check'),
    })),
  };
}

export function clocksReply({ json }: Reply): ClocksReply {
  return {
    smMHz: optionalNumber(json, 'smMHz'),
    memMHz: optionalNumber(json, 'memMHz'),
    foreign: list(json.foreign).map((f) => ({ pid: Number(f.pid), name: String(f.name ?? '') })),
    looked: typeof json.selfSeen === 'boolean',
  };
}

export function peaksReply({ json }: Reply): Peaks {
  const peaks = record(json.peaks, 'peaks');
  return {
    readBytesPerS: requiredNumber(peaks, 'readBytesPerS', 'peaks'),
    writeBytesPerS: requiredNumber(peaks, 'writeBytesPerS', 'peaks'),
    copyBytesPerS: requiredNumber(peaks, 'copyBytesPerS', 'peaks'),
    fp32FlopsPerS: requiredNumber(peaks, 'fp32FlopsPerS', 'peaks'),
    emptySpanNs: requiredNumber(peaks, 'emptySpanNs', 'peaks'),
    ...pipesOf(peaks.pipes),
  };
}

/** Rates by pipe; what is no positive number was not measured. */
function pipesOf(value: unknown): Pick<Peaks, 'pipeFlopsPerS'> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  const rates = Object.entries(value).filter(
    ([, rate]) => typeof rate === 'number' && Number.isFinite(rate) && rate > 0,
  );
  return rates.length === 0 ? {} : { pipeFlopsPerS: Object.fromEntries(rates) as Record<string, number> };
}
