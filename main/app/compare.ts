import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { attempt } from '../base/fault.ts';
import { writeOutput } from '../base/files.ts';
import { type ComparedReport, type Comparison, compareReports } from '../bench/compare.ts';
import { comparisonCsv } from '../bench/compare-csv.ts';
import { type Narrowing, narrowed, readReport } from '../bench/compare-read.ts';
import { AppFailure, err } from '../contract/index.ts';
import { findBench } from './bench.ts';
import type { ServiceContext } from './events.ts';

export interface CompareParams extends Narrowing {
  /** "last", the id of a bench or the end of it, its folder, or its report.json. */
  readonly a: string;
  readonly b: string;
  /** File for every pair. */
  readonly csv?: string;
}

export interface CompareAnswer {
  readonly comparison: Comparison;
  /** The two reports that were read. */
  readonly reports: { readonly a: string; readonly b: string };
  readonly files: readonly string[];
}

const fault = (code: 'usage' | 'store.not-found', message: string, remedy: string): AppFailure =>
  new AppFailure(err(code, message, { remedy }).error);

/**
 * Compares two benches by their reports; runs nothing. Throws AppFailure `usage` (nothing in common, unknown task), `store.not-found`,
 * `format.invalid`, `format.newer`, `input.file`.
 */
export async function compareBenches(params: CompareParams, ctx: ServiceContext): Promise<CompareAnswer> {
  const reports = { a: await reportFile(params.a), b: await reportFile(params.b) };
  const a = await readReport(reports.a, ctx.signal);
  const b = await readReport(reports.b, ctx.signal);
  checkTasks(params.tasks, a, b);
  const comparison = compareReports(narrowed(a, params), narrowed(b, params));
  checkCommon(comparison);
  if (params.csv === undefined) return { comparison, reports, files: [] };
  await writeOutput(params.csv, comparisonCsv(comparison));
  return { comparison, reports, files: [params.csv] };
}

/** A bench of the data folder by its name, else a file, else a folder with a report. */
async function reportFile(name: string): Promise<string> {
  const remedy = 'Give "last", the id of a bench, its folder, or the report.json in it.';
  if (name.trim() === '') throw fault('usage', 'The name of a bench is empty.', remedy);
  const known = await attempt(() => findBench(name));
  if (!known.ok && known.error.code !== 'store.not-found') throw new AppFailure(known.error);
  const path = known.ok ? known.value : resolve(name);
  const found = await stat(path).catch(() => null);
  if (found !== null && !found.isDirectory()) return path;
  const names: string[] = await readdir(path).catch(() => []);
  if (names.includes('report.json')) return join(path, 'report.json');
  if (!known.ok)
    throw new AppFailure({ ...known.error, remedy: known.error.remedy?.replace(/\.$/, ', or a report.json.') });
  throw fault(
    'store.not-found',
    `The bench in ${path} has no report yet.`,
    `Write it from what has been measured: cudamaster bench resume ${path}`,
  );
}

function checkTasks(asked: readonly string[] | undefined, a: ComparedReport, b: ComparedReport): void {
  const known = new Set([a, b].flatMap((r) => [...r.entries, ...r.profiles].map(({ task }) => task)));
  const unknown = asked?.find((task) => !known.has(task));
  if (unknown !== undefined)
    throw fault(
      'usage',
      `Neither bench has anything of a task "${unknown}".`,
      known.size === 0 ? 'Neither has measured anything.' : `They have: ${[...known].sort().join(', ')}.`,
    );
}

/** Nothing to compare is a mistake of whoever asked, and is not shown as a comparison without differences. */
function checkCommon({ rows, profiles, sameMeasurement, unpaired }: Comparison): void {
  const same = sameMeasurement.reduce((sum, cell) => sum + cell.rows, 0);
  if (rows.common > 0 && same >= rows.common)
    throw fault(
      'usage',
      `All ${rows.common} rows that A and B have in common are the same measurement, stored twice.`,
      'Compare a bench with another run of it.',
    );
  if (rows.common > 0 || profiles.common > 0) return;
  const why = (from: 'A' | 'B'): string => {
    const first = unpaired.find((u) => u.in !== from);
    return first === undefined ? '' : ` (${first.cell}: ${first.why})`;
  };
  const own = { A: rows.onlyA + rows.otherDims, B: rows.onlyB + rows.otherDims };
  const each = (['A', 'B'] as const).map((x) => `${x} has ${own[x]}${own[x] === 0 ? why(x) : ''}`).join(', ');
  const dims =
    rows.otherDims > 0 ? `; ${rows.otherDims} of both are the same sizes by name, with other dimensions` : '';
  const { onlyA, onlyB } = profiles;
  const others =
    onlyA + onlyB > 0
      ? `; of profiles A has ${onlyA}, B has ${onlyB}, none of the same task, type, version and sizes`
      : '';
  throw fault(
    'usage',
    `A and B have no row in common: ${each}${dims}${others}.`,
    'Measure the same tasks, data types and sizes in both (`cudamaster bench --task --dtype --sizes`), or ask for other ones here.',
  );
}
