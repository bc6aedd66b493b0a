import { readInput } from '../base/input.ts';
import { holdsSecret } from '../base/redact.ts';
import {
  AppFailure,
  err,
  FORMAT,
  type Recording,
  recordingSchema,
  type StepResponse,
  stepResponseSchema,
  verdictIn,
} from '../contract/index.ts';
import type { ContentFiles } from './content.ts';
import { readJson } from './damage.ts';
import type { Database } from './db/database.ts';
import type { RunRecord, StoredEvent } from './runs.ts';
import { storable } from './secrets.ts';

/** A recording must stay small enough to attach to a report. */
export const recordingLimit = 2 * 1024 * 1024;
/** What is kept of a tool's output when the whole recording would be too large: its beginning and end. */
const shortLog = 4 * 1024;

/** The recording of a run: its chat exchanges and job results by position. Nothing else (no paths, no settings, no keys). */
export async function exportRecording(
  db: Database,
  content: ContentFiles,
  run: RunRecord,
  note: string,
  eventsOf: (run: string) => Promise<readonly StoredEvent[]>,
): Promise<Recording> {
  const rows = await db.all<{ position: string; request_hash: string; body: string | null; content: string | null }>(
    "SELECT position, request_hash, body, content FROM steps WHERE run = ? AND state = 'done' ORDER BY ordinal",
    [run.id],
  );
  const steps: Recording['steps'] = [];
  for (const row of rows) {
    // Cleaned again: this process may know keys that the one which stored it did not.
    const kept = await readJson(content, run.id, `step ${row.position}`, row, (v) => stepResponseSchema.parse(v));
    const response = storable(kept);
    steps.push({ position: row.position, requestHash: row.request_hash, response });
  }
  return {
    format: 'cudamaster-recording',
    version: FORMAT.recording,
    programVersion: run.programVersion,
    note,
    config: run.config,
    rootSeed: run.rootSeed,
    originHash: run.originHash,
    taskHash: run.taskHash,
    steps,
    verdicts: (await eventsOf(run.id)).flatMap((event) => verdictIn(event) ?? []),
  };
}

/** Text of a recording, at most 2 MB; tool logs are shortened if they must be. Throws input.recording when it is too large anyway. */
export function recordingText(recording: Recording): string {
  let text = `${JSON.stringify(recording)}\n`;
  if (Buffer.byteLength(text) > recordingLimit) {
    const steps = recording.steps.map((s) => ({ ...s, response: shortened(s.response) }));
    text = `${JSON.stringify({ ...recording, steps })}\n`;
  }
  if (holdsSecret(text))
    throw new AppFailure(err('internal', 'The recording would have held a key; it was not written.').error);
  const bytes = Buffer.byteLength(text);
  if (bytes <= recordingLimit) return text;
  const largest = recording.steps
    .map((s) => ({ position: s.position, bytes: Buffer.byteLength(JSON.stringify(s)) }))
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, 3);
  throw new AppFailure(
    err('input.recording', `The recording would be ${(bytes / 1e6).toFixed(1)} MB; the limit is 2 MB.`, {
      remedy: 'Record a run with fewer rounds or sizes.',
      detail: largest.map((l) => `${l.position}: ${(l.bytes / 1e6).toFixed(2)} MB`).join(', '),
    }).error,
  );
}

function shortened(response: StepResponse): StepResponse {
  if (response.kind !== 'job') return response;
  const cut = (text: string) =>
    text.length <= shortLog
      ? text
      : `${text.slice(0, shortLog / 2)}\n[… ${text.length - shortLog} characters left out of the recording …]\n${text.slice(-shortLog / 2)}`;
  const steps = response.result.steps.map((s) => ({ ...s, stdout: cut(s.stdout), stderr: cut(s.stderr) }));
  return { ...response, result: { ...response.result, steps } };
}

/** Ours are at most 2 MB; somebody's pretty-printed one may be larger. */
const readLimit = 64 * 1024 * 1024;

/** Reads a recording. Throws input.file, input.recording, format.newer, cancelled. Nothing in it is run. */
export async function readRecording(file: string, signal?: AbortSignal): Promise<Recording> {
  return parseRecording(await readInput(file, { limit: readLimit, signal }), file);
}

export function parseRecording(text: string, file: string): Recording {
  const broken = (message: string, detail?: string) =>
    new AppFailure(
      err('input.recording', message, { remedy: 'Make it with `cudamaster record RUN --out FILE`.', detail }).error,
    );
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw broken(`${file} is not a recording: it is no JSON.`, String(error));
  }
  const head = data as { format?: unknown; version?: unknown } | null;
  if (head?.format !== 'cudamaster-recording') throw broken(`${file} is not a recording of CUDAMaster.`);
  if (typeof head.version === 'number' && head.version > FORMAT.recording)
    throw new AppFailure(
      err(
        'format.newer',
        `${file} was written by a newer CUDAMaster (recording format ${head.version}, this one reads up to ${FORMAT.recording}).`,
        {
          remedy: 'Use the newer CUDAMaster.',
        },
      ).error,
    );
  const parsed = recordingSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  const first = parsed.error.issues[0];
  throw broken(`${file} is damaged.`, first ? `${first.path.join('.')}: ${first.message}` : undefined);
}
