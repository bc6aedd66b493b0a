import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Scratch, script } from './support.ts';

const fixtures = fileURLToPath(new URL('../fixtures/ncu', import.meta.url));
const program = fileURLToPath(new URL('./fake-ncu.cjs', import.meta.url));

export const GEMM = 'gemm_naive_kernel(const float *, const float *, float *, int)';

/** What the fake ncu (fake-ncu.cjs) finds when the target calls. Metrics not given are those of the real launch in test/fixtures/ncu. */
export interface World {
  readonly launches: readonly {
    readonly kernel: string;
    readonly grid?: string;
    readonly block?: string;
    /** Cells by metric id, as ncu prints them. */
    readonly metrics?: Readonly<Record<string, string>>;
    /** Columns that the real output at hand does not have: cell and unit. */
    readonly more?: Readonly<Record<string, readonly [cell: string, unit: string]>>;
  }[];
  /** Ids this ncu does not know. */
  readonly unknown?: readonly string[];
  /** Launches of the call before the range count for --launch-skip. */
  readonly before?: 'counted';
  /** What the nth collection says instead of profiling (the last one stands for all later ones). `anyway`: and profiles. */
  readonly runs?: readonly {
    readonly log?: string;
    readonly anyway?: boolean;
    readonly exit?: number;
    /** Never ends, and starts nothing. */
    readonly hangs?: boolean;
    /** Ends before the target is started. */
    readonly dies?: string;
    /** Takes so much memory instead, and waits. */
    readonly eatsMiB?: number;
  }[];
  /** The same for application replay, which `runs` says nothing of: it runs the target so many times (3), or says `log` after the first. */
  readonly application?: { readonly runs?: number; readonly log?: string; readonly exit?: number };
}

/** Counts of a 1024³ product in FP32, as ncu prints them when asked by name: one multiply-add per element and step. */
export const COUNTS: Readonly<Record<string, readonly [cell: string, unit: string]>> = {
  'dram__bytes.sum': ['12,582,912', 'byte'],
  ...Object.fromEntries(
    ['fadd', 'fmul', 'ffma', 'dadd', 'dmul', 'dfma', 'hadd', 'hmul', 'hfma'].map((op) => [
      `smsp__sass_thread_inst_executed_op_${op}_pred_on.sum`,
      [op === 'ffma' ? '1,073,741,824' : '0', 'inst'] as const,
    ]),
  ),
};

/** Writes the fake into a folder; its path. */
export function fakeNcu(at: Pick<Scratch, 'path'>, world: World): string {
  const body = `require(${JSON.stringify(program)}).main(${JSON.stringify(world)}, ${JSON.stringify(fixtures)});`;
  script(at as Scratch, 'ncu', body);
  return join(at.path, 'ncu');
}

/** Command lines of the collections and imports so far. */
export function ncuRuns(folder: string): { args: string[]; tmp: string; home: string; lang: string }[] {
  return readFileSync(join(folder, 'ncu-args.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
