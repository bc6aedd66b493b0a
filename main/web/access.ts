import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const fresh = (): string => randomBytes(32).toString('base64url');
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const same = (a: Buffer, b: Buffer): boolean => timingSafeEqual(a, b);

/** Wrong tokens that are looked at in a minute; after that wrong ones are turned away unread. */
const wrongPerMinute = 10;
const maxSessions = 64;

export type Login = { readonly kind: 'in'; readonly cookie: string } | { readonly kind: 'wrong' | 'used' | 'slow' };

/**
 * Who may speak to the server. A token is in the address that the server prints; it is exchanged once for a cookie that lives as long as
 * the server. Only digests are kept, and compared in constant time.
 */
export class Access {
  #token: { digest: Buffer; used: boolean };
  readonly #first: string;
  readonly #sessions: Buffer[] = [];
  #wrong: number[] = [];
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#first = fresh();
    this.#token = { digest: digest(this.#first), used: false };
    this.#now = now;
  }

  /** The first token. */
  get token(): string {
    return this.#first;
  }

  /** Another token, for another browser; the one before it ends. */
  renew(): string {
    const token = fresh();
    this.#token = { digest: digest(token), used: false };
    return token;
  }

  login(token: string): Login {
    const right = same(digest(token), this.#token.digest);
    if (right && !this.#token.used) {
      this.#token.used = true;
      const cookie = fresh();
      this.#sessions.push(digest(cookie));
      if (this.#sessions.length > maxSessions) this.#sessions.shift();
      return { kind: 'in', cookie };
    }
    const since = this.#now() - 60_000;
    this.#wrong = this.#wrong.filter((at) => at > since);
    if (this.#wrong.length >= wrongPerMinute) return { kind: 'slow' };
    this.#wrong.push(this.#now());
    return { kind: right ? 'used' : 'wrong' };
  }

  knows(cookie: string | undefined): boolean {
    if (cookie === undefined) return false;
    const given = digest(cookie);
    // Every session is compared: the time taken says nothing about which.
    return this.#sessions.map((known) => same(known, given)).includes(true);
  }
}
