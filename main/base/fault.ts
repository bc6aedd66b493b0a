import { type AppError, AppFailure, err, type Result } from '../contract/index.ts';
import { redact, withoutSecrets } from './redact.ts';

const codeOf = (fault: unknown): string | undefined =>
  typeof fault === 'object' && fault !== null && 'code' in fault && typeof fault.code === 'string'
    ? fault.code
    : undefined;

/** Turns a failed file operation into the error the user should see: full disk, unwritable folder, or what it was. */
export function fileFault(fault: unknown, path: string, doing: string): AppFailure {
  if (fault instanceof AppFailure) return fault;
  const code = codeOf(fault);
  const detail = redact(fault instanceof Error ? fault.message : String(fault));
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new AppFailure({
      code: 'env.disk-full',
      message: `The disk is full: ${doing} ${path} failed.`,
      remedy: 'Free some space on that disk, or set CUDAMASTER_HOME to a folder on another one.',
      detail,
    });
  if (
    code === 'EACCES' ||
    code === 'EPERM' ||
    ['EROFS', 'ENOTDIR', 'EEXIST', 'ELOOP', 'ENAMETOOLONG'].includes(code ?? '')
  )
    return new AppFailure({
      code: 'env.not-writable',
      message: `The folder of ${path} cannot be written.`,
      remedy: 'Give yourself write permission there, or set CUDAMASTER_HOME to a writable folder.',
      detail,
    });
  return new AppFailure({ code: 'internal', message: `${doing} ${path} failed.`, detail });
}

/** Any thrown thing as an AppError: AppFailure keeps its own, everything else is `internal` with its stack as detail. */
export function toAppError(fault: unknown): AppError {
  if (fault instanceof AppFailure) return fault.error;
  const text = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
  return { code: 'internal', message: 'Something unexpected went wrong.', detail: redact(text) };
}

/** Runs a function that may throw and gives back a Result. A key that the user typed as a name is not repeated in its error. */
export async function attempt<T>(fn: () => Promise<T> | T): Promise<Result<T>> {
  try {
    return { ok: true, value: await fn() };
  } catch (fault) {
    const { code, message, remedy, detail, at } = toAppError(fault);
    const shown = (text: string | undefined): string | undefined => text && withoutSecrets(text);
    return err(code, withoutSecrets(message), { remedy: shown(remedy), detail: shown(detail), at });
  }
}

/** The code of a system error (ENOENT …), if it has one. */
export const systemCode = codeOf;
