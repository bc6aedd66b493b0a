/**
 * Collects a stream up to a cap. Past it the middle is dropped: a compiler's first error and a program's last words
 * are both worth more than what lies between.
 */
export class CappedText {
  private readonly headMax: number;
  private readonly tailMax: number;
  private readonly head: Buffer[] = [];
  private readonly tail: Buffer[] = [];
  private headBytes = 0;
  private tailBytes = 0;
  private dropped = 0;

  constructor(capBytes: number) {
    this.headMax = Math.ceil(capBytes / 2);
    this.tailMax = Math.floor(capBytes / 2);
  }

  add(chunk: Buffer): void {
    const room = this.headMax - this.headBytes;
    const first = chunk.subarray(0, Math.max(0, room));
    const rest = chunk.subarray(first.length);
    if (first.length > 0) {
      this.head.push(Buffer.from(first));
      this.headBytes += first.length;
    }
    if (rest.length === 0) return;
    this.tail.push(Buffer.from(rest));
    this.tailBytes += rest.length;
    this.trim();
  }

  private trim(): void {
    while (this.tailBytes > this.tailMax) {
      const oldest = this.tail[0] as Buffer;
      const excess = this.tailBytes - this.tailMax;
      const cut = Math.min(excess, oldest.length);
      if (cut === oldest.length) this.tail.shift();
      else this.tail[0] = oldest.subarray(cut);
      this.tailBytes -= cut;
      this.dropped += cut;
    }
  }

  /** What was kept, as UTF-8, with the cut said. */
  text(): string {
    const head = Buffer.concat(this.head);
    const tail = Buffer.concat(this.tail);
    if (this.dropped === 0) return Buffer.concat([head, tail]).toString('utf8');
    const from = startOfCharacter(tail);
    const to = endOfCharacters(head);
    const cut = this.dropped + from + (head.length - to);
    const said = `\n[… ${cut} bytes cut here: output limit …]\n`;
    return head.toString('utf8', 0, to) + said + tail.toString('utf8', from);
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Offset of the first byte that begins a UTF-8 character. */
function startOfCharacter(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && isContinuation(bytes[at])) at++;
  return at;
}

/** Length without a character that the cut split. */
function endOfCharacters(bytes: Buffer): number {
  let at = bytes.length;
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (isContinuation(byte)) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (needs > back) at = bytes.length - back;
    break;
  }
  return at;
}
