/** The figures as a table: on the terminal, and as docs/results/bench-ui.md. */
import { availableParallelism, cpus } from 'node:os';
import { median } from './probes.ts';

export interface Line {
  readonly what: string;
  readonly goal: number;
  readonly unit: 'ms' | 'kB';
  readonly takes: readonly number[];
  /** `processor`: of the page's main thread alone; the others are what a user waits, and grow with the machine's other work. */
  readonly clock: 'wall' | 'processor' | 'size';
  readonly note?: string;
}

export const missed = ({ takes, goal }: Line): boolean => !(median(takes) <= goal);

const clocks = { wall: 'wall', processor: 'main thread’s processor time', size: '–' } as const;
const figure = (n: number): string => (n >= 100 ? n.toFixed(0) : n.toFixed(1));

function cellsOf(line: Line): string[] {
  const { what, goal, unit, takes, clock, note } = line;
  const spread = takes.length === 1 ? '' : ` (${figure(Math.min(...takes))} … ${figure(Math.max(...takes))})`;
  return [
    what,
    clocks[clock],
    `≤ ${goal} ${unit}`,
    `${figure(median(takes))} ${unit}${spread}`,
    (missed(line) ? 'MISSED' : 'met') + (note === undefined ? '' : `; ${note}`),
  ];
}

const HEAD = ['What', 'Clock', 'Goal', 'Measured: median (range)', 'Verdict'];

/** Figures of a busy machine are those of its other work as well. */
const machineText = (load: number): string =>
  `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unnamed processor'}; load average before measuring ${load.toFixed(1)}.${
    load > 0.5 * availableParallelism()
      ? ' The machine was busy with other work: its wall times hold that work, processor times do not.'
      : ''
  }`;

export function print(lines: readonly Line[], load: number): void {
  const table = [HEAD, ...lines.map(cellsOf)];
  const widths = HEAD.slice(1).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  for (const row of table)
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  console.error(machineText(load));
}

export function asMarkdown(lines: readonly Line[], load: number): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    '# Speed of the screens',
    '',
    `Made by \`npm run bench:ui\` on ${new Date().toISOString().slice(0, 10)}, in Chromium without a window or GPU, 1440 × 900, through`,
    `\`cudamaster serve\` over a generated history. ${machineText(load)}`,
    '',
    row(HEAD),
    row(HEAD.map(() => '---')),
    ...lines.map((line) => row(cellsOf(line))),
    '',
    'A wall time that is missed with its processor time far below the goal was spent waiting for a processor, by the page, the browser’s',
    'other processes or the server; both are stated, and a miss is a miss until an idle machine shows otherwise.',
    '',
  ].join('\n');
}
