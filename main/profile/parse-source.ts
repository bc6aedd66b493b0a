import type { SourceCounts, SourceFunction, SourceInstruction, SourceLine, SourcePage } from '../contract/index.ts';
import { quotedCells } from './quoted-cells.ts';
import { COUNT_FIELDS, type Columns, columnsOf, countsOf, emptyCounts, sumCounts } from './source-columns.ts';

/**
 * ncu's source page as CSV (`--page source --csv`). Tables follow each other, one per kernel and file, each under title rows:
 *
 *   "File Path","/…/probe.cu"
 *   "Function Name","gemm(const float *, int)"            (pages of machine code alone: "Kernel Name","gemm(…)")
 *   "Line No","Source","Address","Source","Warp Stall Sampling (All Samples)",…,"stall_wait (Not Issued)"
 *   "7","s += A[k] * B[k];","-","-","50341",…             a line, with the totals of its instructions
 *   "","","0x7f35557a0f00","      LDC R1, c[0x0][0x28]","18",…
 *
 * Other shapes: "Address","Source",… (sass) and "Line No","Source",… (cuda). Columns come and go with sections and releases.
 */
export function parseSource(text: string): SourcePage {
  const reader = new Reader();
  for (const line of text.replace(/^\uFEFF/, '').split(/\r?\n/)) reader.take(line);
  return reader.page();
}

/** A function while it is read. */
interface Building {
  readonly made: SourceFunction;
  readonly files: Set<string>;
  readonly byAddress: Map<string, number>;
  readonly byLine: Map<string, number>;
  /** Line rows seen per line: ncu's own total stands only when there was one. */
  readonly printed: Map<number, SourceCounts[]>;
}

const TITLES = ['File Path', 'File Name', 'Function Name', 'Kernel Name'];
const MAX_PROBLEMS = 20;
const ADDRESS = /^(?:0x)?[0-9a-f]{1,16}$/i;

class Reader {
  private readonly functions: Building[] = [];
  private readonly latest = new Map<string, Building>();
  private readonly messages: string[] = [];
  private readonly problems: string[] = [];
  private readonly missing = new Set<string>();
  private readonly shapes = new Set<SourcePage['shape']>();
  private unread = 0;
  private file: string | null = null;
  private name = '';
  private titled = true;
  private columns: Columns | null = null;
  private current: Building | null = null;
  private line: number | null = null;

  take(text: string): void {
    if (text.startsWith('==')) this.messages.push(text);
    if (!text.startsWith('"')) return;
    const row = quotedCells(text.trimEnd());
    if (this.title(row)) return;
    const columns = columnsOf(row);
    if (columns !== null) this.header(columns);
    else if (this.columns !== null) this.row(fitted(text, row, this.columns), this.columns);
  }

  /** "Function Name","…": the rows after it are another table's. A title not repeated stays in force. */
  private title(row: readonly string[]): boolean {
    const [key = '', value = ''] = row;
    if (!TITLES.includes(key) || row.length < 2 || row.slice(2).some((cell) => cell !== '')) return false;
    if (key.startsWith('File')) this.file = value;
    else this.name = value;
    this.titled = true;
    this.columns = null;
    return true;
  }

  private header(columns: Columns): void {
    this.columns = columns;
    this.line = null;
    this.shapes.add(columns.address < 0 ? 'cuda' : columns.line < 0 ? 'sass' : 'cuda,sass');
    const fields = columns.counts.flatMap((target) => ('field' in target ? [target.field] : []));
    for (const field of COUNT_FIELDS) if (!fields.includes(field)) this.missing.add(field);
    for (const record of ['stalls', 'stallsNotIssued', 'memory'] as const)
      if (!columns.counts.some((target) => 'record' in target && target.record === record)) this.missing.add(record);
    if (this.titled || this.current === null) this.current = this.open(columns.line < 0 ? null : this.file);
    this.titled = false;
  }

  /** The function of the table that begins. A kernel's second file joins it; the same file again is the next launch. */
  private open(file: string | null): Building {
    const last = this.latest.get(this.name);
    if (last !== undefined && file !== null && !last.files.has(file)) {
      last.files.add(file);
      return last;
    }
    const occurrence = last === undefined ? 0 : last.made.occurrence + 1;
    const opened: Building = {
      made: { name: this.name, occurrence, files: [], lines: [], instructions: [] },
      files: new Set(file === null ? [] : [file]),
      byAddress: new Map(),
      byLine: new Map(),
      printed: new Map(),
    };
    this.functions.push(opened);
    this.latest.set(this.name, opened);
    return opened;
  }

  private row(row: readonly string[] | null, columns: Columns): void {
    if (row === null) {
      this.unread++;
      return;
    }
    const address = columns.address < 0 ? '' : (row[columns.address] ?? '').trim();
    const number = columns.line < 0 ? '' : (row[columns.line] ?? '').trim();
    if (/^\d{1,9}$/.test(number)) {
      this.sourceLine(Number(number), row, columns);
      // Some releases put a line's first instruction into the line's own row.
      if (ADDRESS.test(address)) this.instruction(address, row, columns);
    } else if (number !== '' && number !== '-') this.unread++;
    else if (ADDRESS.test(address)) {
      if (number === '-') this.line = null; // machine code without line information
      this.instruction(address, row, columns);
    } else this.unread++;
  }

  private sourceLine(line: number, row: readonly string[], columns: Columns): void {
    const { made, byLine, printed } = this.current as Building;
    const key = `${line} ${this.file}`;
    let at = byLine.get(key);
    if (at === undefined) {
      at = made.lines.length;
      byLine.set(key, at);
      const text = row[columns.text] ?? '';
      made.lines.push({ file: this.file, line, text, instructions: [], counts: emptyCounts(), countsFrom: 'page' });
    }
    const own = columns.address < 0 || !ADDRESS.test((row[columns.address] ?? '').trim());
    if (own) {
      const rows = printed.get(at) ?? [];
      printed.set(at, rows);
      rows.push(countsOf(row, columns));
    }
    this.line = at;
  }

  private instruction(address: string, row: readonly string[], columns: Columns): void {
    const { made, byAddress } = this.current as Building;
    let at = byAddress.get(address);
    const read = instructionOf(address, row, columns);
    if (at === undefined) {
      at = made.instructions.length;
      byAddress.set(address, at);
      made.instructions.push(read);
    } else if (!same(made.instructions[at] as SourceInstruction, read))
      this.problem(`${made.name}: ${address} is printed twice with different counts; the first ones are kept`);
    const instruction = made.instructions[at] as SourceInstruction;
    if (this.line === null || instruction.lines.includes(this.line)) return;
    instruction.lines.push(this.line);
    (made.lines[this.line] as SourceLine).instructions.push(at);
  }

  private problem(text: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(text);
  }

  page(): SourcePage {
    const functions = this.functions.filter(({ made }) => made.lines.length + made.instructions.length > 0);
    for (const building of functions) this.finish(building);
    if (this.unread > 0) this.problem(`${this.unread} rows of the page could not be read`);
    const shape = this.shapes.has('cuda,sass') ? 'cuda,sass' : ([...this.shapes][0] ?? 'none');
    return {
      shape: functions.length === 0 ? 'none' : shape,
      functions: functions.map(({ made }) => made),
      missing: [...this.missing],
      problems: this.problems,
      messages: this.messages,
    };
  }

  /** Offsets, and each line's counts: ncu's where it printed one total, which must be the sum of the instructions. */
  private finish({ made, files, printed }: Building): void {
    made.files = [...files];
    for (const [at, line] of made.lines.entries()) {
      const rows = printed.get(at) ?? [];
      const sum = sumCounts(line.instructions.map((i) => (made.instructions[i] as SourceInstruction).counts));
      line.countsFrom = rows.length === 1 || line.instructions.length === 0 ? 'page' : 'instructions';
      line.counts = line.countsFrom === 'page' ? (rows[0] ?? emptyCounts()) : sum;
      if (rows.length === 1 && line.instructions.length > 0)
        this.compare(`${made.name}, line ${line.line}`, line.counts, sum);
    }
    const addresses = made.instructions.map((i) => parseAddress(i.address));
    let lowest = addresses[0] ?? 0n;
    for (const address of addresses) if (address < lowest) lowest = address;
    for (const [i, instruction] of made.instructions.entries()) {
      const offset = Number((addresses[i] as bigint) - lowest);
      instruction.offset = Number.isSafeInteger(offset) ? offset : null;
    }
  }

  private compare(where: string, page: SourceCounts, sum: SourceCounts): void {
    const differ = (what: string, a: number | null | undefined, b: number | null | undefined): void => {
      if (typeof a === 'number' && typeof b === 'number' && a !== b)
        this.problem(`${where}: ${what} is ${a} on the page, but its instructions add up to ${b}`);
    };
    for (const field of COUNT_FIELDS) differ(field, page[field], sum[field]);
    for (const record of ['stalls', 'stallsNotIssued', 'memory'] as const)
      for (const [key, value] of Object.entries(sum[record])) differ(key, page[record][key], value);
  }
}

const parseAddress = (text: string): bigint =>
  BigInt(text.startsWith('0x') || text.startsWith('0X') ? text : `0x${text}`);

/** "@!P0  BRA 0x7f35557a1af0" → "BRA"; "LDG.E R11, desc[UR6][R8.64]" → "LDG.E". */
const opcodeOf = (sass: string): string => /^(?:@!?\S+\s+)?([^\s;,]+)/.exec(sass)?.[1] ?? '';

function instructionOf(address: string, row: readonly string[], columns: Columns): SourceInstruction {
  const sass = (row[columns.sass] ?? '').trim();
  const [space = '', operation = '', size = ''] = columns.access.map((at) => (row[at] ?? '').trim());
  const none = [space, operation].every((cell) => cell === '' || cell === '-');
  const access = none ? null : { space, operation, size };
  return { address, offset: null, sass, opcode: opcodeOf(sass), access, lines: [], counts: countsOf(row, columns) };
}

/** Same instruction printed under another line: text and scalar counts agree. */
const same = (a: SourceInstruction, b: SourceInstruction): boolean =>
  a.sass === b.sass && COUNT_FIELDS.every((field) => a.counts[field] === b.counts[field]);

/**
 * The row's cells when there are as many as columns. ncu does not always double the quotes of source text (`printf("a","b")`): then the
 * cells right of the text are counted from the right, where only numbers and machine code stand, and what is left is the text.
 */
function fitted(line: string, row: readonly string[], columns: Columns): readonly string[] | null {
  if (row.length === columns.width) return row;
  if (columns.text < 0) return null;
  const parts = line.trimEnd().replace(/^"|"$/g, '').split('","');
  const extra = parts.length - columns.width;
  if (extra < 0) return null;
  const text = parts.slice(columns.text, columns.text + extra + 1).join('","');
  const unquote = (cell: string): string => cell.replaceAll('""', '"');
  return [...parts.slice(0, columns.text), text, ...parts.slice(columns.text + extra + 1)].map(unquote);
}

/** Instructions of a source line; of all files when `file` is left out. */
export function instructionsAt(of: SourceFunction, line: number, file?: string): SourceInstruction[] {
  const found = of.lines.filter((l) => l.line === line && (file === undefined || l.file === file));
  const indices = [...new Set(found.flatMap((l) => l.instructions))].sort((a, b) => a - b);
  return indices.map((i) => of.instructions[i] as SourceInstruction);
}

/** Source lines an instruction was made from. */
export function linesAt(of: SourceFunction, address: string): SourceLine[] {
  const found = of.instructions.find((instruction) => instruction.address === address);
  return (found?.lines ?? []).map((i) => of.lines[i] as SourceLine);
}
