import type { Command } from 'commander';
import type { BinAnswer, PurgeAnswer } from '../app/index.ts';
import { err, exitCodeOf, type Result, type VersionRow } from '../contract/index.ts';
import { answer, contextOf, type Session } from './answers.ts';
import { askYes } from './ask.ts';
import type { Finish } from './commands.ts';
import { bytesText, ratioText } from './figures.ts';
import { wrap } from './output.ts';

/** A version without an outcome is under way, or was never measured: its run ended before. */
export const outcomeText = ({ outcome, unmeasured }: VersionRow): string =>
  outcome ?? (unmeasured ? 'not measured' : 'under way');

/** "260719-1432-k7qf:r1.a0 (dot_product fp32, accepted, 1.90×)" */
const named = (v: VersionRow): string =>
  `${v.id} (${v.task} ${v.dtype}, ${outcomeText(v)}${v.score === null ? '' : `, ${ratioText(v.score)}`})`;

const counted = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`;

function binnedLines(versions: readonly VersionRow[], name: string, deleted: boolean): string[] {
  if (versions.length === 0)
    return [
      `All versions of ${name} ${deleted ? 'are in the bin already' : 'are out of the bin'}: nothing was changed.`,
    ];
  const rows = versions.map((v) => `  ${named(v)}`);
  const [one] = versions;
  const pinned = versions.filter((v) => v.pinned).length;
  if (!deleted)
    return versions.length === 1 && one
      ? [`${named(one)} is back in the history.`]
      : [`${counted(versions.length, 'version')} of ${name} are back in the history:`, ...rows];
  return [
    ...(versions.length === 1 && one
      ? [`${named(one)} is in the bin.`]
      : [`${counted(versions.length, 'version')} of ${name} are in the bin:`, ...rows]),
    'Nothing is lost: the run keeps its whole record.',
    `Back: cudamaster restore ${name}`,
    `For good: cudamaster purge (a run whose versions are all in the bin${pinned > 0 ? '; a pinned one stays until `cudamaster unpin`' : ''})`,
  ];
}

/** A version, or with a run's name all versions of it. */
async function bin(s: Session, name: string, deleted: boolean): Promise<number> {
  if (name.includes(':')) {
    const result = await s.host.services.editVersion({ version: name, edit: { deleted } }, contextOf(s));
    return answer(
      s,
      result,
      (v) => v,
      (v) => binnedLines([v], v.id, deleted),
      () => 0,
    );
  }
  const result: Result<BinAnswer> = await s.host.services.binRun({ run: name, deleted }, contextOf(s));
  return answer(
    s,
    result,
    (v) => v,
    (v) => binnedLines(v.versions, v.run, deleted),
    () => 0,
  );
}

function planLines({ bin }: PurgeAnswer): string[] {
  const going = bin.filter((b) => b.kept === null);
  const versions = going.reduce((sum, b) => sum + b.versions, 0);
  const bytes = going.reduce((sum, b) => sum + b.bytes, 0);
  return [
    ...(going.length === 0
      ? ['Nothing can be deleted for good.']
      : [
          `To be deleted for good: ${counted(going.length, 'run')} with ${counted(versions, 'version')}, ${bytesText(bytes)} of files`,
          ...going.map(
            (b) =>
              `  ${b.run}  ${b.kind}  ${b.task} ${b.dtype}  ${counted(b.versions, 'version')}, ${bytesText(b.bytes)}`,
          ),
        ]),
    ...keptLines(bin),
  ];
}

const keptLines = (bin: PurgeAnswer['bin']): string[] =>
  bin.flatMap((b) => (b.kept === null ? [] : wrap(`Kept: ${b.run} (${b.task} ${b.dtype}): ${b.kept}.`, 110, '')));

function purgedLines(v: PurgeAnswer): string[] {
  if (v.dryRun) return [...planLines(v), 'Nothing was deleted (--dry-run).'];
  if (v.purged.length === 0)
    return ['Nothing was deleted: no run has all its versions in the bin.', ...keptLines(v.bin)];
  const versions = v.purged.reduce((sum, p) => sum + p.versions, 0);
  return [
    `Deleted for good: ${counted(v.purged.length, 'run')} with ${counted(versions, 'version')}`,
    ...v.purged.map((p) => `  ${p.run}  ${counted(p.versions, 'version')}, ${bytesText(p.bytes)}`),
    `Freed: ${bytesText(v.freedBytes)} of files; ${bytesText(v.reusableBytes)} inside the history's file are used by new runs`,
    ...(v.laterBytes > 0
      ? [`${bytesText(v.laterBytes)} more go with the daily clean-up, since a run is under way.`]
      : []),
    'The two newest daily backups beside the history hold it until newer ones take their place.',
    ...keptLines(v.bin),
    ...v.left.map((fault) => `Not deleted: ${fault.message} ${fault.detail ?? ''}`.trimEnd()),
  ];
}

interface PurgeOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** What would go is shown before; only that goes, and only after a yes. */
async function purge(s: Session, names: readonly string[], o: PurgeOptions): Promise<number> {
  const tell = (result: Result<PurgeAnswer>): number =>
    answer(
      s,
      result,
      (v) => v,
      purgedLines,
      (v) => (v.left[0] ? exitCodeOf(v.left[0].code) : 0),
    );
  const runs = names.length === 0 ? undefined : names;
  const plan = await s.host.services.purge({ runs, dryRun: true }, contextOf(s));
  if (!plan.ok || o.dryRun === true) return tell(plan);
  const going = plan.value.bin.filter((b) => b.kept === null).map((b) => b.run);
  if (going.length === 0) return tell({ ok: true, value: { ...plan.value, dryRun: false } });
  if (o.yes !== true) {
    const ask = askYes(s, 'Delete them for good? [y/N] ');
    if (ask === undefined)
      return tell(
        err(
          'usage',
          `Nothing was deleted: ${counted(going.length, 'run')} would go for good, and that needs your word.`,
          {
            remedy: 'Add --yes; --dry-run shows what would go.',
            detail: going.join('\n'),
          },
        ),
      );
    if (!(await ask(planLines(plan.value)))) return tell(err('cancelled', 'Nothing was deleted.'));
  }
  const done = await s.host.services.purge({ runs: going }, contextOf(s));
  const kept = plan.value.bin.filter((b) => b.kept !== null);
  return tell(done.ok ? { ok: true, value: { ...done.value, bin: [...done.value.bin, ...kept] } } : done);
}

/** delete, restore, purge. */
export function binCommands(program: Command, open: () => Session, finish: Finish): void {
  program
    .command('delete <version>')
    .description('put a version into the bin, or with the name of a run all its versions; nothing of the run is lost')
    .action(async (version: string) => finish(await bin(open(), version, true)));
  program
    .command('restore <version>')
    .description('take a version out of the bin, or with the name of a run all its versions')
    .action(async (version: string) => finish(await bin(open(), version, false)));
  program
    .command('purge [runs...]')
    .description(
      'empty the bin for good: every run whose versions are all in it goes with its record and files, unless one is pinned; with names, those runs alone',
    )
    .option('--dry-run', 'say what would go, and delete nothing')
    .option('--yes', 'delete without asking; needed where nobody can be asked (scripts, --json)')
    .action(async (runs: string[], o: PurgeOptions) => finish(await purge(open(), runs, o)));
}
