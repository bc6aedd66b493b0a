import type { SessionPlan } from '../contract/index.ts';

type TimePlan = Extract<SessionPlan, { mode: 'time' }>;
type Tools = Extract<SessionPlan, { mode: 'sanitize' }>['tools'];

/** Every number that an evaluation chooses, in one place. Measured or argued where it is used; changing one changes job hashes. */
export const defaults = {
  verify: { seeds: 3 },
  time: {
    /**
     * How L2 is emptied before each timed call. `write` leaves dirty lines that the call has to write back first (0.8 us of 5.3 on an
     * H200, 10 of 42), `read` leaves clean ones: docs/results/timing-facts-h200.md, made by build/measure/timing-facts.ts.
     */
    flush: 'read' as TimePlan['flush'],
    /** Spans behind the gate: what the GPU needs, not how fast the host launches (that is wrapper time). */
    gate: true,
    /** Random positions checked after each timed call. */
    positions: 8,
    /** A first look: spans alone, one process; it decides nothing but whether to look properly. */
    nominate: {
      processes: 1,
      soloProcesses: 0,
      blocks: { min: 8, max: 20, budgetMs: 100 },
      quantities: ['span'] as TimePlan['quantities'],
    },
    confirm: {
      processes: 3,
      soloProcesses: 2,
      blocks: { min: 8, max: 30, budgetMs: 120 },
      quantities: ['wrapper', 'span'] as TimePlan['quantities'],
    },
    baseline: {
      processes: 3,
      soloProcesses: 0,
      blocks: { min: 8, max: 30, budgetMs: 120 },
      quantities: ['wrapper', 'span'] as TimePlan['quantities'],
    },
    /**
     * Baselines of a whole suite: some 800 sizes must fit minutes, so each gets fewer blocks. Three processes all the same, since their
     * spread is what an interval needs most (bootstrap.ts).
     */
    suite: {
      processes: 3,
      soloProcesses: 0,
      blocks: { min: 6, max: 16, budgetMs: 20 },
      quantities: ['wrapper', 'span'] as TimePlan['quantities'],
    },
    /**
     * At the `large` sizes a call takes milliseconds: launching it is no part worth a pass, and two processes differ little. The judge needs
     * seconds for one content of some tasks, so of each process the calls of the first block are checked.
     */
    suiteLarge: {
      processes: 2,
      soloProcesses: 0,
      blocks: { min: 5, max: 12, budgetMs: 60 },
      quantities: ['span'] as TimePlan['quantities'],
      checkedBlocks: 1,
    },
    /** A first estimate of R above this earns a confirming measurement. Below the acceptance margin, so that luck refuses few. */
    nominateAbove: 1.005,
  },
  sanitize: {
    tools: ['memcheck', 'racecheck', 'synccheck', 'initcheck'] as Tools,
    /** Calls per size and kind of load: a race that shows in one of ten calls is met in 48 with 99 % probability. */
    races: { calls: 8 },
  },
  accept: {
    /** Lower bound of R that a new best must exceed. */
    margin: 1.01,
    /** Error probability of the one-sided bounds, before correction for the number of candidates tried. */
    alpha: 0.01,
    /** A size below this share of the best's speed, beyond noise, makes the result a trade-off. */
    worstSize: 0.95,
    /** Below this share of the physical floor a time is not believed. */
    floorShare: 0.95,
    /** Origin slower beside the candidate than alone by more than this, beyond noise, is interference. */
    interferenceMargin: 1.01,
    /** Blocks a process needs at a size to count, and processes a figure needs. */
    minBlocks: 4,
    minProcesses: 2,
    /** Level of the intervals that are shown. */
    level: 0.95,
    resamples: 10_000,
  },
  limits: {
    /** nvcc of a heavily templated file takes minutes; more than this is "too heavy to compile". */
    build: { wallMs: 180_000, memoryMiB: 8_192, outputBytes: 1 << 20 },
    verify: { wallMs: 600_000, memoryMiB: 16_384, outputBytes: 1 << 20 },
    time: { wallMs: 900_000, memoryMiB: 16_384, outputBytes: 1 << 20 },
    sanitize: { wallMs: 600_000, memoryMiB: 16_384, outputBytes: 1 << 22 },
    profile: { wallMs: 300_000, memoryMiB: 16_384, outputBytes: 16 << 20 },
  },
} as const;
