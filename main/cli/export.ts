import { type Command, Option } from 'commander';
import { historySorts } from '../app/index.ts';
import { dtypes, outcomes, type VersionRow } from '../contract/index.ts';
import { answer, contextOf, type Session } from './answers.ts';
import { binCommands, outcomeText } from './bin.ts';
import type { Finish } from './commands.ts';
import { ratioText } from './figures.ts';
import { table } from './output.ts';

/** One line per version; what is missing is a dash. */
function historyTable(rows: readonly VersionRow[]): string[] {
  if (rows.length === 0) return ['No version matches.'];
  const lines = rows.map((v) => [
    v.id,
    v.task,
    v.dtype,
    outcomeText(v),
    ratioText(v.score),
    v.bottleneck ?? '–',
    v.maxUlp === null ? '–' : v.maxUlp.toPrecision(3),
    v.gpu ?? '–',
    v.at.slice(0, 16).replace('T', ' '),
    `${v.pinned ? '* ' : ''}${v.note.replaceAll(/\s+/g, ' ').slice(0, 60)}`,
  ]);
  return table([
    ['version', 'task', 'dtype', 'outcome', 'score', 'bottleneck', 'ulp', 'GPU', 'when (UTC)', 'note'],
    ...lines,
  ]);
}

function exportCommand(program: Command, open: () => Session, finish: Finish): void {
  program
    .command('export <version>')
    .description(
      'write a ZIP with a version, its origin, a test program that needs only nvcc, and a report; RUN means its best version',
    )
    .requiredOption('--out <file>', 'ZIP file to write')
    .option(
      '--origin',
      'the origin of the run; without it a run in which nothing was accepted is refused (exit code 4)',
    )
    .action(async (version, o) => {
      const s = open();
      const result = await s.host.services.exportVersion({ version, out: o.out, origin: o.origin }, contextOf(s));
      finish(
        answer(
          s,
          result,
          (v) => v,
          (v) => [
            `${v.file}: ${v.version}, ${v.files.length} files, ${(v.bytes / 1024).toFixed(1)} KiB`,
            `sha256 ${v.sha256}`,
          ],
          () => 0,
        ),
      );
    });
}

function listCommand(program: Command, open: () => Session, finish: Finish): void {
  program
    .command('history')
    .description('list the versions of all kernels')
    .option('--task <id>', 'of one task')
    .addOption(new Option('--dtype <type>', 'of one data type').choices([...dtypes]))
    .addOption(new Option('--outcome <name>', 'with one outcome').choices([...outcomes, 'bad-reply']))
    .addOption(new Option('--sort <by>', 'order').choices([...historySorts]).default('newest'))
    .option('--deleted', 'those in the bin (see delete, restore, purge)')
    .action(async (o) => {
      const s = open();
      const result = await s.host.services.history(o, contextOf(s));
      finish(
        answer(
          s,
          result,
          (versions) => ({ versions }),
          historyTable,
          () => 0,
        ),
      );
    });
}

type Edit = { note?: string; pinned?: boolean };

/** Commands that change what the user keeps beside a version: all take the version first. */
const edits: readonly (readonly [string, string, (text: string) => Edit])[] = [
  ['note <version> <text>', 'write a note beside a version (an empty text removes it)', (note) => ({ note })],
  ['pin <version>', 'pin a version: its run is never deleted for good', () => ({ pinned: true })],
  ['unpin <version>', 'take the pin away', () => ({ pinned: false })],
];

/** export, history, note, pin, unpin, delete, restore, purge. */
export function versionCommands(program: Command, open: () => Session, finish: Finish): void {
  exportCommand(program, open, finish);
  listCommand(program, open, finish);
  for (const [usage, description, editOf] of edits) {
    const command = program.command(usage).description(description);
    command.action(async (version: string, ...rest: unknown[]) => {
      const s = open();
      const edit = editOf(typeof rest[0] === 'string' ? rest[0] : '');
      const result = await s.host.services.editVersion({ version, edit }, contextOf(s));
      finish(
        answer(
          s,
          result,
          (v) => v,
          (v) => historyTable([v]),
          () => 0,
        ),
      );
    });
  }
  binCommands(program, open, finish);
}
