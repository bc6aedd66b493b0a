import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileFault } from '../base/fault.ts';
import { writeFileAtomic } from '../base/files.ts';
import { type ChatOutcome, type ChatProvider, type ChatRequest, err, ok, type Result } from '../contract/index.ts';

export interface ManualOptions {
  /** The run's folder for prompts and answers; made on demand. */
  readonly dir: string;
  /** Asks a person at once (paste on the screen or the terminal). null = no answer now: the run parks. */
  readonly ask?: (question: { position: string; prompt: string; path: string }) => Promise<string | null>;
}

const safe = (position: string): string => position.replace(/[^A-Za-z0-9._-]/g, '_');

/** The prompt as a person reads and copies it. */
export function promptText(request: ChatRequest, position: string): string {
  const head = [
    `# Prompt ${position}`,
    '',
    'Give the two parts below to a model of your choice (the second alone, after the first, where there is no system field).',
    `Its answer may be up to ${request.maxTokens} tokens long. Save the whole answer beside this file, as \`*.answer.md\`.`,
  ];
  const titles = { system: 'SYSTEM', user: 'USER', assistant: 'ANSWER SO FAR' } as const;
  const parts = request.messages.map((m) => {
    const rule = '='.repeat(30);
    return `${rule} ${titles[m.role]} ${rule}\n\n${m.content.trimEnd()}\n`;
  });
  return `${head.join('\n')}\n\n${parts.join('\n')}`;
}

/** `NNN-<position>`: a position keeps the number it got first, whatever is resumed when. */
async function baseName(dir: string, position: string): Promise<string> {
  const names = (await readdir(dir)).filter((n) => n.endsWith('.prompt.md'));
  const suffix = `-${safe(position)}.prompt.md`;
  const mine = names.find((n) => /^\d{3,}-/.test(n) && n.slice(n.indexOf('-')) === suffix);
  if (mine !== undefined) return mine.slice(0, -'.prompt.md'.length);
  const highest = Math.max(0, ...names.map((n) => Number.parseInt(n, 10)).filter(Number.isFinite));
  return `${String(highest + 1).padStart(3, '0')}-${safe(position)}`;
}

/** Two screens may answer at the same time: each writes its own file, one after the other takes the place. */
const writeWhole = (path: string, text: string): Promise<void> => writeFileAtomic(path, text, 0o644);

const readIf = async (path: string): Promise<string | null> => (existsSync(path) ? readFile(path, 'utf8') : null);

/** Drops a byte-order mark and Windows line ends: answers come from any editor. */
const cleaned = (text: string): string => text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');

async function answerOf(request: ChatRequest, position: string, options: ManualOptions): Promise<Result<ChatOutcome>> {
  const started = performance.now();
  await mkdir(options.dir, { recursive: true });
  const base = join(options.dir, await baseName(options.dir, position));
  const paths = { prompt: `${base}.prompt.md`, answer: `${base}.answer.md` };
  const prompt = promptText(request, position);
  const before = await readIf(paths.prompt);
  const warnings: string[] = [];
  let answer = cleaned((await readIf(paths.answer)) ?? '');
  // An answer to another question than the one asked now is used, and said.
  if (before !== null && before !== prompt && answer.trim() !== '')
    warnings.push('The prompt has changed since this answer was written; the answer was used as it is.');
  if (before !== prompt) await writeWhole(paths.prompt, prompt);
  if (answer.trim() === '' && options.ask !== undefined) {
    answer = cleaned((await options.ask({ position, prompt, path: paths.prompt })) ?? '');
    if (answer.trim() !== '') await writeWhole(paths.answer, answer);
  }
  if (answer.trim() === '') {
    const how = `Give the prompt in ${paths.prompt} to a model and save its answer as ${paths.answer}, then resume the run.`;
    return ok({ kind: 'parked', waiting: { for: 'answer', path: paths.prompt, how } });
  }
  return ok({
    kind: 'done',
    reply: {
      text: answer,
      reasoning: '',
      finish: 'stop',
      usage: { promptTokens: null, completionTokens: null },
      model: 'manual',
      provider: 'manual',
      wallMs: performance.now() - started,
      costUsd: null,
      ...(warnings.length > 0 ? { warnings } : {}),
    },
  });
}

/**
 * A person carries prompts and answers: the prompt becomes a file `NNN-<position>.prompt.md`, the answer is read from
 * `NNN-<position>.answer.md` once that is there and not empty; until then the run is parked. No key, no network.
 * Errors: `env.not-writable`, `env.disk-full` when the folder cannot be used.
 */
export function manualProvider(options: ManualOptions): ChatProvider {
  return {
    name: 'manual',
    async chat(request, { position, signal }) {
      if (signal?.aborted) return err('cancelled', 'Cancelled before the prompt was written.');
      try {
        return await answerOf(request, position, options);
      } catch (fault) {
        // Of the disk, and told as such: the step stays open, and resuming the run asks it once more.
        return { ok: false, error: fileFault(fault, options.dir, 'Writing the prompt to').error };
      }
    },
  };
}

/**
 * Gives an answer for a position from outside (a screen, `cudamaster answer`): writes the answer file of a prompt that waits.
 * Errors: `store.not-found` when no prompt of that position is there; `env.*` when it cannot be written: the prompt still waits then.
 */
export async function giveAnswer(dir: string, position: string, answer: string): Promise<Result<string>> {
  const names = existsSync(dir) ? await readdir(dir) : [];
  const prompt = names.find((n) => n.replace(/^\d+-/, '') === `${safe(position)}.prompt.md`);
  if (prompt === undefined)
    return err('store.not-found', `No prompt waits for an answer at ${position}.`, { detail: dir });
  if (answer.trim() === '') return err('usage', 'The answer is empty.');
  const path = join(dir, prompt.replace(/\.prompt\.md$/, '.answer.md'));
  try {
    await writeWhole(path, answer);
  } catch (fault) {
    return { ok: false, error: fileFault(fault, path, 'Writing').error };
  }
  return ok(path);
}
