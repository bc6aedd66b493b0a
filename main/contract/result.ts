import { z } from 'zod';
import { type ErrorCode, errorCodes } from './errors.ts';

/** An error as it crosses any boundary: API, `--json`, database, screen. */
export const appErrorSchema = z.object({
  code: z.enum(errorCodes),
  /** What happened, one sentence, in the user's words. */
  message: z.string(),
  /** What the user can do about it. */
  remedy: z.string().optional(),
  /** Evidence: tool output, path, position. Redacted before it gets here. */
  detail: z.string().optional(),
  /** The place in what the user wrote, where there is one: name of the file, line from 1. */
  at: z.object({ file: z.string(), line: z.number().int().min(1).optional() }).optional(),
});
export type AppError = z.infer<typeof appErrorSchema>;

/** Every call across a boundary returns this; exceptions are for bugs only. */
export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: AppError };

export const ok = <T>(value: T): Result<T> => ({ ok: true, value });

export const err = (
  code: ErrorCode,
  message: string,
  extra: Pick<AppError, 'remedy' | 'detail' | 'at'> = {},
): { readonly ok: false; readonly error: AppError } => ({
  ok: false,
  error: { code, message, ...extra },
});

/** Carries an AppError through code that must unwind; front doors turn it back into a Result. */
export class AppFailure extends Error {
  readonly error: AppError;
  constructor(error: AppError) {
    super(error.message);
    this.name = 'AppFailure';
    this.error = error;
  }
}

/** Unwraps a Result, throwing AppFailure. Use only where an unwinding is wanted. */
export function unwrap<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new AppFailure(result.error);
}
