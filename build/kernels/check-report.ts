/** What `check:kernels` found, counted and written down. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `warns`: compiles with a warning. `absent`: a header is not on this machine. `unknown`: nvcc does not know the architecture. `open`: not checked yet. */
export type State = 'ok' | 'warns' | 'FAILS' | 'absent' | 'unknown' | 'open';

export interface Unit {
  readonly name: string;
  readonly kind: 'origin' | 'library';
  readonly source: string;
  /** Wrappers that the shared library exports. */
  readonly symbols: readonly string[];
  /** The library it asks; empty for an origin. */
  readonly title: string;
}

export interface Found {
  readonly unit: Pick<Unit, 'name' | 'kind' | 'title'>;
  /** By architecture. */
  readonly states: Readonly<Record<string, State>>;
  readonly words: string;
  readonly seconds: number;
}

export interface Tally {
  readonly ok: number;
  readonly failed: number;
  readonly absent: number;
  readonly open: number;
}

export interface Count {
  readonly arch: string;
  readonly known: boolean;
  readonly origins: Tally;
  readonly libraries: Tally;
}

/** Counts per architecture; a kernel that warns compiles. */
export function summary(found: readonly Found[], wanted: readonly string[], known: readonly string[]): Count[] {
  const tally = (kind: Unit['kind'], arch: string): Tally => {
    const states = found.filter(({ unit }) => unit.kind === kind).map((f) => f.states[arch]);
    const count = (...of: State[]): number => states.filter((s) => s !== undefined && of.includes(s)).length;
    return { ok: count('ok', 'warns'), failed: count('FAILS'), absent: count('absent'), open: count('open') };
  };
  return wanted.map((arch) => ({
    arch,
    known: known.includes(arch),
    origins: tally('origin', arch),
    libraries: tally('library', arch),
  }));
}

/** Where a vendor's header states its version: file, library, macros from the major number on. */
const versions = [
  ['cublas_api.h', 'cuBLAS', ['CUBLAS_VER_MAJOR', 'CUBLAS_VER_MINOR', 'CUBLAS_VER_PATCH']],
  ['cusparse.h', 'cuSPARSE', ['CUSPARSE_VER_MAJOR', 'CUSPARSE_VER_MINOR', 'CUSPARSE_VER_PATCH']],
  ['cudnn_version.h', 'cuDNN', ['CUDNN_MAJOR', 'CUDNN_MINOR', 'CUDNN_PATCHLEVEL']],
  ['cufft.h', 'cuFFT', ['CUFFT_VER_MAJOR', 'CUFFT_VER_MINOR', 'CUFFT_VER_PATCH']],
  ['cccl/cuda/__cccl_config', 'CCCL (CUB, Thrust)', []],
] as const;

/** Vendors' headers in these folders with their versions: "cuBLAS 13.1.1". A header without one is named alone. */
export function vendorHeaders(dirs: readonly string[]): string[] {
  return versions.flatMap(([file, title, macros]) => {
    const dir = dirs.find((candidate) => existsSync(join(candidate, file)));
    if (dir === undefined) return [];
    const text = readFileSync(join(dir, file), 'utf8');
    const numbers = macros.map((macro) => new RegExp(`#\\s*define\\s+${macro}\\s+(\\d+)`).exec(text)?.[1]);
    return [numbers.length === 0 || numbers.includes(undefined) ? title : `${title} ${numbers.join('.')}`];
  });
}

export interface Report {
  readonly command: string;
  /** YYYY-MM-DD, UTC. */
  readonly date: string;
  readonly nvcc: string;
  readonly compiler: string;
  readonly headers: readonly string[];
  readonly found: readonly Found[];
  readonly counts: readonly Count[];
  /** How many kernels there are; more than were found if the check was stopped. */
  readonly units: number;
}

/** The result as Markdown: counts per architecture, libraries one by one, every word that a compiler said. */
export function reportText(report: Report): string {
  const { found, counts } = report;
  const archs = counts.map(({ arch }) => arch);
  const libraries = found.filter(({ unit }) => unit.kind === 'library');
  const absent = libraries.filter(({ states }) => Object.values(states).includes('absent'));
  const remarks = found.filter(({ words, states }) => words !== '' && !Object.values(states).includes('absent'));
  const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  const cells = ({ known, origins, libraries: l }: Count): (string | number)[] =>
    known
      ? [origins.ok, origins.failed, origins.open, l.ok, l.failed, l.absent, l.open]
      : ['nvcc does not know it', '–', '–', '–', '–', '–', '–'];
  return [
    '# Origins and library arms on every supported architecture',
    '',
    `Written by \`${report.command}\` on ${report.date}: nvcc ${report.nvcc}, ${report.compiler}. Built as the`,
    'harness builds them (`armCompileArgs`), for all architectures in one call of nvcc; a library.cu with the wrappers of both data types at once.',
    `Nothing was run, and vendors’ libraries were not linked. ${found.length === report.units ? `All ${report.units} kernels are listed.` : `**Stopped early: ${found.length} of ${report.units} are here.**`}`,
    '',
    `Headers: ${report.headers.length > 0 ? report.headers.join(', ') : 'none of a vendor’s library'}.`,
    '',
    row([
      'architecture',
      'origins compile',
      'do not',
      'not checked',
      'libraries compile',
      'do not',
      'headers absent',
      'not checked',
    ]),
    '|---|---|---|---|---|---|---|---|',
    ...counts.map((count) => row([count.arch, ...cells(count)])),
    '',
    '## Libraries',
    '',
    row(['task', 'library', ...archs]),
    `|---|---|${archs.map(() => '---|').join('')}`,
    ...libraries.map(({ unit, states }) =>
      row([unit.name.replace(/ library$/, ''), unit.title, ...archs.map((arch) => states[arch] ?? 'unknown')]),
    ),
    '',
    absent.length === 0
      ? 'None was skipped.'
      : `Skipped, since a header is not on this machine: ${absent.map(({ unit, words }) => `${unit.name.replace(/ library$/, '')} (${words.replace(' is not here', '')})`).join(', ')}.`,
    '',
    '## What the compiler said',
    '',
    remarks.length === 0
      ? 'Nothing: no error, no warning.'
      : remarks
          .map(({ unit, words }) => `- ${unit.name}: \`${words.replaceAll('`', "'").replaceAll('\n', ' | ')}\``)
          .join('\n'),
    '',
  ].join('\n');
}
