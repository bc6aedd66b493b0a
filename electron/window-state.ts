import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { writeFileAtomic } from '../main/base/files.ts';

const coordinate = z.number().int().min(-100_000).max(100_000);
const stateSchema = z.object({
  version: z.literal(1),
  x: coordinate,
  y: coordinate,
  width: z.number().int().min(200).max(100_000),
  height: z.number().int().min(200).max(100_000),
  maximized: z.boolean(),
});
export type WindowState = z.infer<typeof stateSchema>;

export interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export const firstSize = { width: 1440, height: 900 } as const;
/** So much of a window must be on a screen that it can be taken hold of, pixels. */
const grip = 80;

/** Where the window was; null: first start, damaged file, or the screen it was on is gone. */
export function readWindowState(file: string, screens: readonly Area[]): WindowState | null {
  let state: WindowState;
  try {
    state = stateSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
  const seen = screens.some(
    (s) =>
      Math.min(state.x + state.width, s.x + s.width) - Math.max(state.x, s.x) >= grip &&
      state.y >= s.y - 1 &&
      state.y <= s.y + s.height - grip,
  );
  return seen ? state : null;
}

export async function keepWindowState(file: string, state: Omit<WindowState, 'version'>): Promise<void> {
  await writeFileAtomic(file, `${JSON.stringify({ version: 1, ...state })}\n`);
}
