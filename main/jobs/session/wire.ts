import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';

/**
 * Frames of the harness protocol (kernels/harness/PROTOCOL.md): u32 textLength, u32 blobLength, text, blob; little endian.
 * The peer may be hostile: sizes are capped, every reply must repeat the nonce of its request, every request has a time limit.
 */
const HEADER = 8;
const MAX_TEXT = 8 * 1024 * 1024;
const MAX_BLOB = 256 * 1024 * 1024;

export interface Frame {
  readonly text: string;
  readonly blob: Buffer;
}

export function encodeFrame(text: string, blob?: Buffer): Buffer {
  const textBytes = Buffer.byteLength(text);
  const out = Buffer.allocUnsafe(HEADER + textBytes + (blob?.length ?? 0));
  out.writeUInt32LE(textBytes, 0);
  out.writeUInt32LE(blob?.length ?? 0, 4);
  out.write(text, HEADER);
  blob?.copy(out, HEADER + textBytes);
  return out;
}

/** Cuts a byte stream into frames. `push` returns null once the stream cannot be frames of ours (a length beyond the caps). */
export class FrameReader {
  private chunks: Buffer[] = [];
  private held = 0;

  push(chunk: Buffer): Frame[] | null {
    this.chunks.push(chunk);
    this.held += chunk.length;
    const frames: Frame[] = [];
    for (;;) {
      const size = this.nextSize();
      if (size === null) return null;
      if (size === undefined || this.held < size) return frames;
      frames.push(this.take(size));
    }
  }

  /** Whole size of the frame at the front; undefined = header not there yet; null = impossible. */
  private nextSize(): number | null | undefined {
    if (this.held < HEADER) return undefined;
    if ((this.chunks[0] as Buffer).length < HEADER) this.chunks = [Buffer.concat(this.chunks)];
    const front = this.chunks[0] as Buffer;
    const text = front.readUInt32LE(0);
    const blob = front.readUInt32LE(4);
    return text > MAX_TEXT || blob > MAX_BLOB ? null : HEADER + text + blob;
  }

  private take(size: number): Frame {
    if ((this.chunks[0] as Buffer).length < size) this.chunks = [Buffer.concat(this.chunks)];
    const front = this.chunks[0] as Buffer;
    const text = HEADER + front.readUInt32LE(0);
    const frame = { text: front.toString('utf8', HEADER, text), blob: front.subarray(text, size) };
    this.held -= size;
    if (front.length === size) this.chunks.shift();
    else this.chunks[0] = front.subarray(size);
    return frame;
  }
}

/** Why a request got no usable answer. `refused` concerns one request; the others end the channel. */
export class PeerFault extends Error {
  readonly kind: 'refused' | 'closed' | 'timeout' | 'protocol';
  /** Command that failed (first token). */
  readonly command: string;
  /** Error code of a refusal: cuda, load, usage, memory, io, cupti. */
  readonly code: string;

  constructor(kind: PeerFault['kind'], command: string, message: string, code = '') {
    super(message);
    this.name = 'PeerFault';
    this.kind = kind;
    this.command = command;
    this.code = code;
  }
}

export interface Reply {
  readonly json: Readonly<Record<string, unknown>>;
  readonly blob: Buffer;
}

interface Pending {
  readonly command: string;
  readonly nonce: string;
  readonly limitMs: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (fault: PeerFault) => void;
}

let noncePool = Buffer.alloc(0);
let nonceAt = 0;
/** Unpredictable, and cheap: one system call for 512 of them. */
function newNonce(): string {
  if (nonceAt >= noncePool.length) {
    noncePool = randomBytes(8 * 512);
    nonceAt = 0;
  }
  nonceAt += 8;
  return noncePool.toString('hex', nonceAt - 8, nonceAt);
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * One connection to a peer. Requests are answered in order, so several may be under way (pipelining); the limit of each counts from
 * the moment when it became the oldest one. After a fault other than `refused` every request, pending or new, fails with that fault.
 */
export class Channel {
  private readonly socket: Socket;
  private readonly reader = new FrameReader();
  private readonly pending: Pending[] = [];
  private head = 0;
  private headSince = 0;
  private timer: NodeJS.Timeout | null = null;
  private corked = false;
  private broken: PeerFault | null = null;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => this.onData(chunk));
    socket.on('error', (cause) => this.fail('closed', `the connection broke: ${cause.message}`));
    socket.on('close', () => this.fail('closed', 'the process ended without an answer'));
  }

  get fault(): PeerFault | null {
    return this.broken;
  }

  /** Requests not answered yet. */
  get outstanding(): number {
    return this.pending.length - this.head;
  }

  /**
   * Sends `command nonce tail` (tail: further tokens and lines). Rejects with PeerFault only. The promise may be left unawaited:
   * its failure is then seen by the next request.
   */
  request(command: string, tail: string, limitMs: number, blob?: Buffer): Promise<Reply> {
    const promise = new Promise<Reply>((resolve, reject) => {
      if (this.broken) {
        reject(this.broken);
        return;
      }
      const nonce = newNonce();
      this.pending.push({ command, nonce, limitMs, resolve, reject });
      if (this.outstanding === 1) this.watchHead();
      this.write(encodeFrame(tail === '' ? `${command} ${nonce}` : `${command} ${nonce} ${tail}`, blob));
    });
    promise.catch(() => undefined);
    return promise;
  }

  /** Drops the connection; pending requests fail as closed. */
  close(): void {
    this.fail('closed', 'the connection was closed');
  }

  /** All frames of one turn of the event loop leave in one system call. */
  private write(frame: Buffer): void {
    if (!this.corked) {
      this.corked = true;
      this.socket.cork();
      queueMicrotask(() =>
        queueMicrotask(() => {
          this.corked = false;
          this.socket.uncork();
        }),
      );
    }
    this.socket.write(frame);
  }

  private onData(chunk: Buffer): void {
    const frames = this.reader.push(chunk);
    if (!frames) {
      this.fail('protocol', 'bytes on the control channel that are no frame');
      return;
    }
    for (const frame of frames) if (!this.broken) this.onFrame(frame);
  }

  private onFrame(frame: Frame): void {
    const request = this.pending[this.head];
    if (!request) {
      this.fail('protocol', 'an answer that nobody asked for');
      return;
    }
    let json: unknown;
    try {
      json = JSON.parse(frame.text);
    } catch {
      json = null;
    }
    if (!isRecord(json) || json.nonce !== request.nonce) {
      this.fail('protocol', `an answer to ${request.command} that is no JSON object or does not repeat the nonce`);
      return;
    }
    this.advance();
    if (json.ok === true) request.resolve({ json, blob: frame.blob });
    else
      request.reject(
        new PeerFault('refused', request.command, text(json.message, 'no reason given'), text(json.error, 'usage')),
      );
  }

  private advance(): void {
    this.head++;
    if (this.head > 256) {
      this.pending.splice(0, this.head);
      this.head = 0;
    }
    if (this.outstanding > 0) this.watchHead();
  }

  /** One timer for the channel, moved only when it fires: per-request timers would cost more than the requests. */
  private watchHead(): void {
    const limit = (this.pending[this.head] as Pending).limitMs;
    this.headSince = performance.now();
    if (this.timer && this.timerAt <= this.headSince + limit) return;
    this.arm(limit);
  }

  private timerAt = 0;
  private arm(ms: number): void {
    if (this.timer) clearTimeout(this.timer);
    this.timerAt = performance.now() + ms;
    this.timer = setTimeout(() => this.onTimer(), Math.ceil(ms));
  }

  private onTimer(): void {
    this.timer = null;
    const request = this.pending[this.head];
    if (!request || this.broken) return;
    const left = this.headSince + request.limitMs - performance.now();
    if (left <= 0) this.fail('timeout', `no answer to ${request.command} within ${formatSeconds(request.limitMs)}`);
    else this.arm(left);
  }

  private fail(kind: 'closed' | 'timeout' | 'protocol', message: string): void {
    if (this.broken) return;
    const requests = this.pending.splice(0).slice(this.head);
    this.head = 0;
    this.broken = new PeerFault(kind, requests[0]?.command ?? '', message);
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.socket.destroy();
    for (const request of requests) request.reject(this.broken);
  }
}

const text = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value.slice(0, 2000) : otherwise;

export const formatSeconds = (ms: number): string => `${Number((ms / 1000).toPrecision(3))} s`;
