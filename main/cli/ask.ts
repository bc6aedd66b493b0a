import { createInterface } from 'node:readline/promises';
import type { Session } from './answers.ts';

/**
 * Asks the person at the terminal a question that only "y" or "yes" agrees to; undefined where nobody can be asked, or where only JSON
 * may be written. Ctrl-C and the end of input are a no.
 */
export function askYes(
  { printer, json, signal }: Pick<Session, 'printer' | 'json' | 'signal'>,
  question: string,
): ((before: readonly string[]) => Promise<boolean>) | undefined {
  if (json || process.stdin.isTTY !== true || process.stderr.isTTY !== true) return undefined;
  return async (before) => {
    printer.status('');
    for (const line of before) printer.note(line);
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    // Without it the end of input would leave the question open for good.
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    try {
      return /^y(es)?$/i.test((await Promise.race([lines.question(question, { signal }), ended])).trim());
    } catch {
      return false;
    } finally {
      lines.close();
    }
  };
}
