import type { RunRow } from '../main/contract/index.ts';

export interface Question {
  readonly message: string;
  readonly detail: string;
  readonly buttons: readonly string[];
}

export interface ClosingDeps {
  /** Runs that go on here; none while the engine is away. */
  readonly runs: () => Promise<readonly RunRow[]>;
  readonly pause: (run: string) => Promise<unknown>;
  /** Index of the button chosen; the last one is what closing the question means. */
  readonly ask: (question: Question) => Promise<number>;
  /** Hides the window; the program goes on. */
  readonly toTray: () => void;
  /** Ends engine and program. */
  readonly end: () => Promise<void>;
  readonly pollMs?: number;
}

/** What happens when the window is closed or the program is to quit while runs are going. */
export class Closing {
  readonly #deps: ClosingDeps;
  #asking = false;
  #pausing = false;
  #ending: Promise<void> | null = null;

  constructor(deps: ClosingDeps) {
    this.#deps = deps;
  }

  /** The user wants to close or quit. One question at a time. */
  async asked(): Promise<void> {
    if (this.#asking || this.#ending) return;
    this.#asking = true;
    try {
      if (this.#pausing) await this.#askAgain();
      else await this.#askFirst();
    } finally {
      this.#asking = false;
    }
  }

  /** Ends at once and in order (the session of the system ends): runs are saved as they are. */
  end(): Promise<void> {
    this.#ending ??= this.#deps.end();
    return this.#ending;
  }

  async #askFirst(): Promise<void> {
    const runs = await this.#deps.runs();
    if (runs.length === 0) return this.end();
    const choice = await this.#deps.ask({
      message: runs.length === 1 ? `A run of ${runs[0]?.task} is going.` : `${runs.length} runs are going.`,
      detail:
        'In the tray it goes on, and you are told at its end; start CUDAMaster again to see the window. Pausing waits for the step under way (a measurement can take minutes); the run can be resumed later.',
      buttons: ['Continue in the tray', 'Pause and quit', 'Cancel'],
    });
    if (choice === 0) this.#deps.toTray();
    if (choice === 1) void this.#pauseAndEnd(runs);
  }

  async #askAgain(): Promise<void> {
    const choice = await this.#deps.ask({
      message: 'The step under way is not finished yet.',
      detail: 'Ending it now loses that step alone: it is done again when the run is resumed.',
      buttons: ['End it now', 'Wait'],
    });
    if (choice === 0) await this.end();
  }

  async #pauseAndEnd(runs: readonly RunRow[]): Promise<void> {
    this.#pausing = true;
    await Promise.all(runs.map((run) => this.#deps.pause(run.id)));
    while (!this.#ending && (await this.#deps.runs()).length > 0)
      await new Promise((resolve) => setTimeout(resolve, this.#deps.pollMs ?? 500));
    await this.end();
  }
}
