/**
 * Compiles every origin, in both data types, and every library.cu for each GPU architecture that is supported, with the harness's own
 * options; no GPU is needed. Prints a table and what failed; exit code 1 if an origin or a library whose headers are here does not
 * compile. A library whose headers are missing is stated and skipped; `--include` names further folders of headers (a vendor's library
 * that lies elsewhere). `--report` writes the result as a document. With `--keep` what was found is kept after every kernel, and a kernel
 * that has not changed since, nor compilers and headers, is not compiled again: so a check can be made in parts. With `--kept` nothing is compiled: the report is of what is kept.
 * Usage: npm run check:kernels -- [--arch sm_80,sm_90] [--task ID,ID] [--only origins|libraries] [--include DIR,DIR] [--jobs N]
 *        [--keep FILE [--kept]] [--json FILE] [--report FILE]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { setResourceRoot } from '../main/base/paths.ts';
import { unwrap } from '../main/contract/index.ts';
import { libraryTitle } from '../main/evaluate/libraries.ts';
import { libraryName, listTasks, originName } from '../main/evaluate/task/index.ts';
import { resolveTools } from '../main/toolchain/index.ts';
import { check, Kept } from './kernels/check-compile.ts';
import { type Found, reportText, summary, type Unit, vendorHeaders } from './kernels/check-report.ts';

const archs = ['sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90', 'sm_120'];
const root = join(import.meta.dirname, '..');
setResourceRoot(root);

const { values } = parseArgs({
  options: {
    arch: { type: 'string', default: archs.join(',') },
    task: { type: 'string' },
    only: { type: 'string' },
    include: { type: 'string' },
    keep: { type: 'string' },
    kept: { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'string' },
    report: { type: 'string' },
  },
});
const wanted = values.arch.split(',');
const tasks = values.task?.split(',') ?? null;
const tools = unwrap(await resolveTools({ require: 'nvcc' }));
const known = wanted.filter((arch) => tools.archs.length === 0 || tools.archs.includes(arch));
const includes = values.include?.split(',') ?? [];
const folder = mkdtempSync(join(tmpdir(), 'cm-check-'));
const headers = vendorHeaders([...tools.includeDirs, ...includes, join(tools.toolkit ?? '', 'include')]);
const setting = { tools, folder, includes, headers, keptAlone: values.kept };
const kept = new Kept(values.keep ?? null);

const units = listTasks(root).flatMap(({ id, loaded }): Unit[] => {
  if (tasks !== null && !tasks.includes(id)) return [];
  const { task, origin, library } = unwrap(loaded);
  const origins = task.dtypes.map(
    (dtype): Unit => ({
      name: `${id} ${dtype}`,
      kind: 'origin',
      source: origin[dtype],
      symbols: [originName(task, dtype)],
      title: '',
    }),
  );
  const libraries: Unit[] =
    library === null
      ? []
      : [
          {
            name: `${id} library`,
            kind: 'library',
            source: library,
            symbols: task.dtypes.map((dtype) => libraryName(task, dtype)),
            title: libraryTitle(library),
          },
        ];
  return [...(values.only === 'libraries' ? [] : origins), ...(values.only === 'origins' ? [] : libraries)];
});

const found: Found[] = [];
let next = 0;
// Ctrl-C: what is done is reported.
process.once('SIGINT', () => {
  next = units.length;
});
await Promise.all(
  Array.from({ length: Math.max(1, Number(values.jobs)) }, async () => {
    for (let at = next++; at < units.length; at = next++) {
      found[at] = await check(units[at] as Unit, String(at), known, kept, setting);
      if (process.stderr.isTTY) process.stderr.write(`\r${at + 1}/${units.length} `);
      else process.stderr.write(`${at + 1}/${units.length} ${units[at]?.name} ${found[at]?.seconds.toFixed(1)} s\n`);
    }
  }),
);
rmSync(folder, { recursive: true, force: true });

const counts = summary(found, wanted, known);
console.log(`nvcc ${tools.machine.nvcc}, ${tools.machine.hostCompiler}\n`);
console.log(`| kernel | ${wanted.join(' | ')} | s |\n|---|${wanted.map(() => '---|').join('')}---|`);
for (const { unit, states, seconds } of found)
  console.log(
    `| ${unit.name} | ${wanted.map((arch) => states[arch] ?? 'unknown').join(' | ')} | ${seconds.toFixed(1)} |`,
  );
const remarks = found.filter(({ words }) => words !== '');
if (remarks.length > 0) console.log(`\n${remarks.map(({ unit, words }) => `${unit.name}: ${words}`).join('\n')}`);
console.log('');
for (const row of counts)
  console.log(
    row.known
      ? `${row.arch}: origins ${row.origins.ok} compile, ${row.origins.failed} do not; libraries ${row.libraries.ok} compile, ${row.libraries.failed} do not, ${row.libraries.absent} lack their headers here${row.origins.open + row.libraries.open > 0 ? `; not checked: ${row.origins.open} origins, ${row.libraries.open} libraries` : ''}`
      : `${row.arch}: this nvcc does not know it (it makes ${tools.archs.join(', ')})`,
  );
if (values.json)
  writeFileSync(
    values.json,
    JSON.stringify(
      found.map(({ unit, ...rest }) => ({ name: unit.name, kind: unit.kind, ...rest })),
      null,
      1,
    ),
  );
if (values.report) {
  mkdirSync(dirname(values.report), { recursive: true });
  const options = [
    ['--arch', values.arch === archs.join(',') ? undefined : values.arch],
    ['--task', values.task],
    ['--only', values.only],
    ['--include', values.include === undefined ? undefined : includes.map(() => 'DIR').join(',')],
    ['--keep', values.keep === undefined ? undefined : values.kept ? 'FILE --kept' : 'FILE'],
    ['--jobs', values.jobs],
    ['--report', 'FILE'],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]));
  const text = reportText({
    command: `npm run check:kernels -- ${options.join(' ')}`,
    date: new Date().toISOString().slice(0, 10),
    nvcc: tools.machine.nvcc ?? 'unknown',
    compiler: tools.machine.hostCompiler ?? 'unknown',
    headers,
    found,
    counts,
    units: units.length,
  });
  writeFileSync(values.report, text);
}
const failed = found.some(({ states }) => Object.values(states).includes('FAILS'));
process.exitCode = failed || units.length === 0 || found.length < units.length ? 1 : 0;
