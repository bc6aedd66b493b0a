import { printable } from '../base/printable.ts';
import type { AppError } from '../contract/index.ts';

export { printable };

/** Where the command line writes. stdout carries results, stderr everything else. */
export interface Streams {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { readonly columns?: number };
  /** stderr is a terminal: a status line may be redrawn. */
  readonly live: boolean;
  /** Each stream is coloured where it goes to a terminal itself: `2> log` and `| less` are told apart. */
  readonly color: { readonly stdout: boolean; readonly stderr: boolean };
}

export function systemStreams(env: NodeJS.ProcessEnv = process.env): Streams {
  const live = process.stderr.isTTY === true && env.TERM !== 'dumb';
  // https://no-color.org: any value that is not empty
  const colored = (stream: NodeJS.WriteStream) => stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  const color = { stdout: colored(process.stdout), stderr: colored(process.stderr) };
  return { stdout: process.stdout, stderr: process.stderr, live, color };
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Style = keyof typeof codes;
export type Paint = (style: Style, text: string) => string;

export const painter = (color: boolean): Paint => {
  if (!color) return (_style, text) => text;
  return (style, text) => `\u001b[${codes[style]}m${text}\u001b[0m`;
};

/** printable() for a line that may hold the painter's own colours: those stay, where there are colours at all. */
function safeLine(line: string, color: boolean): string {
  if (!color) return printable(line);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the painter's sequences
  const parts = line.split(/(\u001b\[(?:0|1|2|31|32|33|36)m)/);
  return parts.map((part, i) => (i % 2 === 1 ? part : printable(part))).join('');
}

/** Writes lines and one status line that is redrawn below them (terminals only). */
export class Printer {
  readonly #streams: Streams;
  /** Colours for lines of the result (`out`). */
  readonly paint: Paint;
  readonly #notePaint: Paint;
  /** What is shown comes from a recording. */
  replays = false;
  #status = '';

  constructor(streams: Streams) {
    this.#streams = streams;
    this.paint = painter(streams.color.stdout);
    this.#notePaint = painter(streams.color.stderr);
  }

  /** A line of the result, for a person. */
  out(line = ''): void {
    this.#write(safeLine(line, this.#streams.color.stdout));
  }

  /** A line of JSON Lines. */
  json(value: unknown): void {
    this.#write(JSON.stringify(value));
  }

  /** Text as it is, with its own line ends: help, usage, what a worker says. */
  raw(to: 'stdout' | 'stderr', text: string): void {
    this.#clear();
    this.#streams[to].write(text);
    this.#draw();
  }

  #write(line: string): void {
    this.#clear();
    this.#streams.stdout.write(`${line}\n`);
    this.#draw();
  }

  /** A line about what goes on. */
  note(line: string): void {
    this.#clear();
    this.#streams.stderr.write(`${safeLine(line, this.#streams.color.stderr)}\n`);
    this.#draw();
  }

  status(text: string): void {
    if (!this.#streams.live) return;
    this.#clear();
    this.#status = printable(text.replaceAll(/\s+/g, ' ')).slice(0, (this.#streams.stderr.columns ?? 80) - 1);
    this.#draw();
  }

  /** Message, cause, remedy. */
  error(error: AppError): void {
    this.status('');
    this.note(this.#notePaint('red', `Error (${error.code}): `) + printable(error.message));
    if (error.detail) this.note(printable(error.detail).replace(/^/gm, '  '));
    if (error.remedy) this.note(`  What to do: ${printable(error.remedy)}`);
  }

  #clear(): void {
    if (this.#status !== '') this.#streams.stderr.write('\r\u001b[2K');
  }

  #draw(): void {
    if (this.#status !== '') this.#streams.stderr.write(this.#status);
  }
}

/** Columns aligned by their widest cell; numbers to the right. */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = [], indent = ''): string[] {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length);
    });
  return rows.map((row) =>
    (
      indent +
      row.map((cell, i) => (right.includes(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0))).join('  ')
    ).trimEnd(),
  );
}

/** Breaks text into lines of at most `width` characters, between words. */
export function wrap(text: string, width: number, indent: string): string[] {
  const lines: string[] = [];
  for (const paragraph of text.trim().split('\n')) {
    let line = '';
    for (const word of paragraph.split(/\s+/)) {
      if (line !== '' && line.length + 1 + word.length > width) {
        lines.push(indent + line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    lines.push(indent + line);
  }
  return lines;
}
