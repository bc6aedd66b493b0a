import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';

export interface Reply {
  // biome-ignore lint/suspicious/noExplicitAny: replies of many shapes, asserted field by field
  readonly json: any;
  readonly blob: Buffer;
}

let serial = 0;

/** A runner or judge under test, driven over its socket. */
export class Program {
  readonly child: ChildProcess;
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  private readonly socket: Socket;
  private received = Buffer.alloc(0);
  private waiting: (() => void) | null = null;

  private constructor(child: ChildProcess, socket: Socket) {
    this.child = child;
    this.socket = socket;
    this.exited = new Promise((resolve) => child.on('exit', (code, signal) => resolve({ code, signal })));
    socket.on('data', (data) => {
      this.received = Buffer.concat([this.received, data]);
      this.waiting?.();
    });
    socket.on('close', () => this.waiting?.());
    socket.on('error', () => this.waiting?.());
  }

  static async start(program: string, cwd: string): Promise<Program> {
    const name = `s${serial++}`;
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(cwd, name), resolve));
    const connection = new Promise<Socket>((resolve) => server.once('connection', resolve));
    const child = spawn(program, [name], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
    const early = new Promise<never>((_, reject) => {
      child.once('exit', (code, signal) => reject(new Error(`ended before connecting: ${code ?? signal}`)));
      child.once('error', reject);
    });
    early.catch(() => undefined);
    const socket = await Promise.race([connection, early]);
    server.close();
    return new Program(child, socket);
  }

  send(text: string, blob: Buffer = Buffer.alloc(0)): void {
    const body = Buffer.from(text, 'utf8');
    const head = Buffer.alloc(8);
    head.writeUInt32LE(body.length, 0);
    head.writeUInt32LE(blob.length, 4);
    this.socket.write(Buffer.concat([head, body, blob]));
  }

  sendRaw(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  /** The next reply; null when the program closed the stream. */
  async reply(): Promise<Reply | null> {
    for (;;) {
      if (this.received.length >= 8) {
        const [text, blob] = [this.received.readUInt32LE(0), this.received.readUInt32LE(4)];
        if (this.received.length >= 8 + text + blob) {
          const json = JSON.parse(this.received.toString('utf8', 8, 8 + text));
          const bytes = Buffer.from(this.received.subarray(8 + text, 8 + text + blob));
          this.received = this.received.subarray(8 + text + blob);
          return { json, blob: bytes };
        }
      }
      if (this.socket.destroyed || this.socket.readableEnded) return null;
      await new Promise<void>((resolve) => {
        this.waiting = resolve;
      });
    }
  }

  /** Sends `command NONCE tail` and checks that the reply carries the nonce. */
  async ask(command: string, tail = '', blob?: Buffer): Promise<Reply> {
    const nonce = (serial++).toString(16).padStart(16, '0');
    this.send(`${command} ${nonce}${tail ? ` ${tail}` : ''}`, blob);
    const reply = await this.reply();
    if (!reply) throw new Error(`no reply to ${command}`);
    if (reply.json.nonce !== nonce) throw new Error(`wrong nonce in ${JSON.stringify(reply.json)}`);
    return reply;
  }

  /** As ask, for commands that must succeed. */
  async ok(command: string, tail = '', blob?: Buffer): Promise<Reply> {
    const reply = await this.ask(command, tail, blob);
    if (!reply.json.ok) throw new Error(`${command} ${tail}: ${JSON.stringify(reply.json)}`);
    return reply;
  }

  async quit(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    await this.ask('quit').catch(() => this.child.kill('SIGKILL'));
    await this.exited;
  }
}

export const positionsBlob = (positions: readonly number[]): Buffer => {
  const out = Buffer.alloc(positions.length * 8);
  positions.forEach((p, i) => {
    out.writeBigUInt64LE(BigInt(p), i * 8);
  });
  return out;
};
