/**
 * Versions of every stored format. A reader accepts its own version and older ones it can upgrade;
 * a newer one is refused by name (error `format.newer`), never guessed at.
 */
export const FORMAT = {
  task: 1,
  job: 1,
  jobResult: 1,
  bundle: 1,
  recording: 1,
  history: 4,
  settings: 1,
  prices: 1,
  bench: 1,
  calibration: 1,
} as const;

export type FormatName = keyof typeof FORMAT;
