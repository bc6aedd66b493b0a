import { parse } from 'csv-parse/sync';
import type { Launch, MetricValue } from '../contract/index.ts';
import { quotedCells } from './quoted-cells.ts';
import { idOfLabel } from './table2.ts';
import { baseUnit } from './units.ts';

/**
 * Both CSV shapes of ncu:
 *
 * wide (`--page raw`), one row per launch, a units row whose cells may be empty:
 *   "ID",…,"Kernel Name",…,"Block Size","Grid Size","Device","CC","gpu__time_duration.sum",…
 *   "","","","","","","","","","","","ns",…
 *   "0",…,"gemm(const float *, int)",…,"(16, 16, 1)","(64, 64, 1)","0","9.0","421,088",…
 *
 * long (`--page details`), one row per metric, named by label, or by id when `--metrics` asked for it:
 *   "ID",…,"CC","Section Name","Metric Name","Metric Unit","Metric Value",…
 *
 * Around and between the rows: `==PROF==` and `==WARNING==` lines and whatever the profiled program prints.
 */
export interface ParsedProfile {
  readonly shape: 'wide' | 'long' | 'none';
  readonly launches: Launch[];
  /** ncu's own lines (`==…==`), in order: warnings and errors live there. */
  readonly messages: string[];
}

const LEADING = [
  'ID',
  'Process ID',
  'Process Name',
  'Host Name',
  'Kernel Name',
  'Kernel Time',
  'Context',
  'Stream',
  'Block Size',
  'Grid Size',
  'Device',
  'CC',
];

/** ncu writes each record on one line; a line that is no CSV (program output) yields null. */
function cells(line: string): string[] | null {
  if (!line.startsWith('"')) return null;
  const quoted = quotedCells(line);
  if (quoted.length > 0) return quoted;
  try {
    return (parse(line, { relax_column_count: true }) as string[][])[0] ?? null;
  } catch {
    return null;
  }
}

/**
 * Reads launches from what ncu printed. Never throws: text without a table has shape 'none' and no launches.
 * Values are in base units; a cell without a number is "not available" with the reason, never zero.
 */
export function parseRaw(text: string): ParsedProfile {
  const messages: string[] = [];
  let header: string[] | null = null;
  let units: string[] | null = null;
  const rows: { header: string[]; units: string[] | null; row: string[] }[] = [];
  // A lone \r too: programs draw their progress with it, and what reads CSV takes the square of a run of them.
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line.startsWith('==')) {
      messages.push(line);
      continue;
    }
    const row = cells(line);
    if (row === null) continue;
    if (row[0] === 'ID' && row.includes('Kernel Name')) {
      header = row;
      units = null;
    } else if (header !== null && fits(header, row)) {
      if (row[0] === '') units = row;
      else if (/^\d+$/.test(row[0] ?? '')) rows.push({ header, units, row });
    }
  }
  if (header === null) return { shape: 'none', launches: [], messages };
  const long = header.includes('Metric Name');
  return { shape: long ? 'long' : 'wide', launches: long ? longLaunches(rows) : rows.map(wideLaunch), messages };
}

/** Wide rows have the header's width; rows of the long shape end after the value (ncu 2025.3 leaves the rule columns out). */
function fits(header: readonly string[], row: readonly string[]): boolean {
  const value = header.indexOf('Metric Value');
  return value < 0 ? row.length === header.length : row.length > value && row.length <= header.length;
}

interface Row {
  readonly header: readonly string[];
  readonly units: readonly string[] | null;
  readonly row: readonly string[];
}

const cell = ({ header, row }: Row, name: string): string => row[header.indexOf(name)] ?? '';

function head(row: Row): Omit<Launch, 'metrics'> {
  return {
    index: Number(cell(row, 'ID')),
    kernel: cell(row, 'Kernel Name'),
    grid: triple(cell(row, 'Grid Size')),
    block: triple(cell(row, 'Block Size')),
    cc: cell(row, 'CC'),
  };
}

function wideLaunch(row: Row): Launch {
  const metrics: Record<string, MetricValue> = {};
  row.header.forEach((name, at) => {
    if (!LEADING.includes(name)) metrics[name] = metricValue(row.row[at] ?? '', row.units?.[at] ?? '');
  });
  return { ...head(row), metrics };
}

/** Rows of one launch share ID; a label is turned into its metric id where Table 2 knows it, else kept as "section/label". */
function longLaunches(rows: readonly Row[]): Launch[] {
  const byId = new Map<string, Launch>();
  for (const row of rows) {
    const id = cell(row, 'ID');
    const launch = byId.get(id) ?? { ...head(row), metrics: {} };
    byId.set(id, launch);
    const name = cell(row, 'Metric Name');
    if (name === '') continue; // a rule's row
    const unit = cell(row, 'Metric Unit');
    const section = cell(row, 'Section Name');
    const key = name.includes('__') ? name : (idOfLabel(section, name, unit) ?? `${section}/${name}`);
    launch.metrics[key] ??= metricValue(cell(row, 'Metric Value'), unit);
  }
  return [...byId.values()];
}

/** "(16, 16, 1)" → [16, 16, 1]. */
function triple(text: string): number[] {
  return (text.match(/\d+/g) ?? []).map(Number);
}

const NUMBER = /^-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** One cell. Reasons are worded for people: they travel to the prompt and to the chart. */
export function metricValue(text: string, unit: string): MetricValue {
  const cleaned = text.replace(/^\(!\)\s*/, '').trim();
  if (cleaned === '') return { available: false, reason: 'ncu left the cell empty' };
  if (/^(n\/a|no data|-?nan|-?inf)$/i.test(cleaned)) return { available: false, reason: `ncu reports "${cleaned}"` };
  if (!NUMBER.test(cleaned)) return { available: false, reason: `not a number: "${cleaned.slice(0, 60)}"` };
  const base = baseUnit(unit);
  const value = Number(cleaned.replaceAll(',', '')) * base.factor;
  if (!Number.isFinite(value)) return { available: false, reason: `out of range: "${cleaned.slice(0, 60)}"` };
  return { available: true, value, unit: base.unit };
}
