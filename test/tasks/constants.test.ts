import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { summarize } from '../../build/measure-constants.ts';
import { unwrap } from '../../main/contract/index.ts';
import { loadTask, taskIds } from '../../main/evaluate/task/index.ts';

const root = join(import.meta.dirname, '../..');

describe('error constants', () => {
  it('are summarized so that no verification is forgotten', () => {
    const row = (problem: string, variant: string, correct: boolean, c: number, fails: boolean, broken = 0) => ({
      problem,
      variant,
      correct,
      c,
      rms: c / 10,
      broken,
      fails,
    });
    const runs = [
      [
        row('verify/0', 'a', true, 1, false),
        row('verify/3', 'a', true, 3, false),
        row('verify/0', 'b', false, 5, true),
        row('verify/3', 'b', false, 900, true),
      ],
      [
        row('verify/0', 'a', true, 2, false),
        row('verify/3', 'a', true, 1, false),
        row('verify/0', 'b', false, 0, false),
        row('verify/3', 'b', false, 7, false, 0),
      ],
    ];
    expect(summarize(runs, (id) => id === 'verify/3')).toEqual([
      { variant: 'a', correct: true, c: 3, cDrawn: 1, rms: 0.3, problem: 'verify/3', failed: 0 },
      { variant: 'b', correct: false, c: 7, cDrawn: 0, rms: 0.7, problem: 'verify/3', failed: 1 },
    ]);
  });

  it('in the published table are those in force', () => {
    const table = readFileSync(join(root, 'docs/error-constants.md'), 'utf8');
    for (const id of taskIds(root)) {
      const { task } = unwrap(loadTask(root, id));
      for (const dtype of task.dtypes) {
        for (const [index, tolerance] of (task.tolerance[dtype] ?? []).entries()) {
          const heading = `${id}, ${dtype}${index === 0 ? '' : `, ${tolerance.output}`}\n`;
          const section = table.split('\n## ').find((part) => part.startsWith(heading)) ?? '';
          const want =
            tolerance.rounding === 'exact'
              ? 'Bit equality is demanded.'
              : `c = ${tolerance.c}, RMS bound ${tolerance.rms};`;
          expect(section, `${heading}: run build/measure-constants.ts --write`).toContain(want);
          for (const [, must, failed, runs] of section.matchAll(/\| (pass|fail) \|.* (\d+)\/(\d+) \|$/gm))
            expect(failed, section).toBe(must === 'pass' ? '0' : runs);
        }
      }
    }
  });

  it('let correct versions of spmv_csr pass and find wrong ones, measured anew', () => {
    const output = execFileSync(
      process.execPath,
      [join(root, 'build/measure-constants.ts'), '--runs', '1', '--task', 'spmv_csr'],
      { encoding: 'utf8' },
    );
    expect(output).toContain('Every correct version passed and every wrong one failed, each time.');
  }, 120_000);
});
