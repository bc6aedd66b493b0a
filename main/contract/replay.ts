/**
 * How ncu makes the passes that one launch needs. kernel: it repeats the launch in place, its memory saved and restored in between;
 * application: every pass is another run of the program, whose launches are matched by name, grid and order.
 */
export const replays = ['kernel', 'application'] as const;
export type Replay = (typeof replays)[number];

/** The same in words, for everything that people read. Absent: kernel replay, as in all older results. */
export const replayWords = (replay: Replay | undefined): string =>
  replay === 'application' ? 'application replay (every pass is another run of the program)' : 'kernel replay';
