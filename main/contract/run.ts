import { z } from 'zod';
import { agentNames, chatReplySchema, chatRequestSchema } from './chat.ts';
import { evaluationSchema, numericsSchema, outcomeSchema, sanitizedSchema } from './evaluation.ts';
import { jobResultSchema, jobSchema, type Waiting } from './job.ts';
import { profileModes } from './profile.ts';
import { agentModelsSchema, effortSchema } from './provider.ts';
import { appErrorSchema } from './result.ts';
import { dtypeSchema, sizeSets } from './task.ts';

export const runConfigSchema = z.object({
  task: z.string(),
  dtype: dtypeSchema,
  rounds: z.number().int().min(1).max(50),
  debugAttempts: z.number().int().min(0).max(20),
  profile: z.enum(profileModes),
  sizeSet: z.enum(sizeSets),
  provider: z.string(),
  model: z.string(),
  executor: z.enum(['local', 'bundle', 'recording']),
  arch: z.string(),
  maxUsd: z.number().positive().nullable(),
  maxTokens: z.number().int().positive().nullable(),
  maxMinutes: z.number().positive().nullable(),
  /** User's notes and constraints, told to the Planner. */
  notes: z.string().default(''),
  /** Context length to plan prompts for, tokens (prompt and answer together). Absent: a cautious default. */
  contextTokens: z.number().int().positive().optional(),
  /** Agents that ask another provider or model than the run's. */
  models: agentModelsSchema.optional(),
  /** How hard the models may think. Absent: not said to them. */
  effort: effortSchema.optional(),
  /** Each scheme of the Planner waits for the user before anything is paid for it. */
  approve: z.boolean().optional(),
  /** Round 1 starts from this source instead of a Planner's scheme: shows Debug at work on a known wrong candidate. */
  startFromWrong: z.object({ label: z.string(), source: z.string(), compileArgs: z.array(z.string()) }).optional(),
});
export type RunConfig = z.infer<typeof runConfigSchema>;

export const runStatuses = ['running', 'parked', 'paused', 'done', 'failed', 'cancelled'] as const;
export const runStatusSchema = z.enum(runStatuses);
export type RunStatus = z.infer<typeof runStatusSchema>;

/**
 * Every external action of a run is a step with a position key, e.g. "r0.baseline", "r1.planner", "r1.a0.coder",
 * "r1.a0.compiler", "r1.a0.eval", "r1.a1.debug". An intent goes before it, the result after it.
 */
export const stepRequestSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('chat'), request: chatRequestSchema }),
  z.object({ kind: z.literal('job'), job: jobSchema }),
  /** A scheme before the user. */
  z.object({ kind: z.literal('approval'), round: z.number().int(), scheme: z.string() }),
]);
export type StepRequest = z.infer<typeof stepRequestSchema>;
/** What the user says to a scheme; `scheme`: another text of it, null = as it is. */
export const approvalSchema = z.object({
  kind: z.literal('approval'),
  verdict: z.enum(['approve', 'reject']),
  scheme: z.string().nullable(),
});
export type Approval = z.infer<typeof approvalSchema>;

export const stepResponseSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('chat'), reply: chatReplySchema }),
  z.object({ kind: z.literal('job'), result: jobResultSchema }),
  approvalSchema,
]);
export type StepResponse = z.infer<typeof stepResponseSchema>;

/** Durable events: what happened, in order. `seq` is added by the store. */
export const runEventSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('run-started'),
    rootSeed: z.string(),
    config: runConfigSchema,
    originSource: z.string(),
    programVersion: z.string(),
  }),
  z.object({ type: z.literal('baseline'), evaluation: evaluationSchema }),
  z.object({ type: z.literal('round-started'), round: z.number().int() }),
  /** `by` absent = planner. */
  z.object({
    type: z.literal('scheme'),
    round: z.number().int(),
    scheme: z.string(),
    by: z.enum(['planner', 'user']).optional(),
  }),
  /** `base`: made from the origin although an earlier round had a best, which did not hold on this machine. Absent: from the best. */
  z.object({
    type: z.literal('attempt-started'),
    round: z.number().int(),
    attempt: z.number().int(),
    base: z.literal('origin').optional(),
  }),
  z.object({ type: z.literal('fix'), round: z.number().int(), attempt: z.number().int(), fix: z.string() }),
  z.object({
    type: z.literal('source'),
    round: z.number().int(),
    attempt: z.number().int(),
    source: z.string(),
    compileArgs: z.array(z.string()),
  }),
  z.object({
    type: z.literal('evaluated'),
    round: z.number().int(),
    attempt: z.number().int(),
    evaluation: evaluationSchema,
  }),
  /** A reply that could not be used (no code, truncated, unknown flags …); counts as an invalid attempt. */
  z.object({
    type: z.literal('bad-reply'),
    round: z.number().int(),
    attempt: z.number().int(),
    agent: z.enum(agentNames),
    reason: z.string(),
  }),
  z.object({
    type: z.literal('round-ended'),
    round: z.number().int(),
    accepted: z.boolean(),
    outcome: outcomeSchema.nullable(),
    score: z.number().nullable(),
  }),
  z.object({
    type: z.literal('usage'),
    agent: z.enum(agentNames),
    promptTokens: z.number().nullable(),
    completionTokens: z.number().nullable(),
    costUsd: z.number().nullable(),
  }),
  z.object({
    type: z.literal('parked'),
    waitingFor: z.enum(['bundle', 'answer', 'approval']),
    path: z.string(),
    how: z.string(),
  }),
  z.object({ type: z.literal('resumed'), note: z.string() }),
  z.object({ type: z.literal('changed'), position: z.string(), what: z.string() }),
  /** Origin and best, measured again because the machine is another one: their figures of the former machine count no longer. */
  z.object({
    type: z.literal('remeasured'),
    /** The step it was done before: "r2.planner". Its own steps are POSITION.remeasure.origin and POSITION.remeasure.best. */
    position: z.string(),
    origin: evaluationSchema,
    /** The best version so far; null: that was the origin. */
    best: z.object({ round: z.number().int(), attempt: z.number().int(), evaluation: evaluationSchema }).nullable(),
    /** Round of the best version from here on: as before, or 0 (the origin) where that version is wrong, slower, or not confirmed faster on this machine. */
    bestRound: z.number().int(),
  }),
  /** Worth knowing, changes nothing: history left out of a prompt, refused compiler flags, a provider's warning. */
  z.object({ type: z.literal('notice'), position: z.string(), message: z.string() }),
  z.object({ type: z.literal('limit'), which: z.enum(['money', 'tokens', 'time']), message: z.string() }),
  z.object({ type: z.literal('run-ended'), status: runStatusSchema, error: appErrorSchema.nullable() }),
]);
export type RunEvent = z.infer<typeof runEventSchema>;

/** Transient: coalesced to at most 20 per second, never stored. */
export type TransientEvent =
  | { readonly type: 'token'; readonly agent: string; readonly text: string }
  | {
      readonly type: 'progress';
      readonly step: string;
      readonly index: number;
      readonly count: number;
      readonly note?: string;
    };

const waitingSchema = z.object({ for: z.enum(['bundle', 'answer', 'approval']), path: z.string(), how: z.string() });

/** Last `--json` line of demo, optimize, resume, replay and show. */
export const runSummarySchema = z.object({
  run: z.string(),
  task: z.string(),
  dtype: dtypeSchema,
  status: runStatusSchema,
  best: z.object({
    verified: z.boolean(),
    score: z.number().nullable(),
    pMin: z.number().nullable(),
    geomean: z.number().nullable(),
    ci: z.tuple([z.number(), z.number()]).nullable(),
    /** Errors of the best version beside the origin's; null = not measured. */
    numerics: z.array(numericsSchema).nullable().optional(),
    /** Of an accepted best version. */
    sanitized: sanitizedSchema.optional(),
  }),
  rounds: z.array(
    z.object({
      round: z.number().int(),
      scheme: z.string(),
      attempts: z.array(z.object({ outcome: z.string(), reason: z.string() })),
      bottleneck: z.string().nullable(),
      score: z.number().nullable(),
      accepted: z.boolean(),
    }),
  ),
  tokens: z.object({ prompt: z.number().nullable(), completion: z.number().nullable() }),
  costUsd: z.number().nullable(),
  /** Why it stopped, if it did not end well. */
  error: appErrorSchema.nullable().optional(),
  /** What a parked run waits for, where that lies (folder of the bundle, file of the prompt or scheme), and how to go on. */
  waiting: waitingSchema.nullable().optional(),
});
export type RunSummary = z.infer<typeof runSummarySchema>;

/**
 * Port between the loop and whatever keeps its history. The loop is re-entrant: after a crash it runs again from the
 * top, `step` answers finished steps from the history, so at most the one open step is repeated.
 */
export interface RunLog {
  /**
   * Answers the stored response of `position`, or writes an intent, calls `execute`, and stores response in one
   * transaction with the step's state. A parked outcome is passed through (the intent stays open).
   */
  step<T extends StepResponse>(
    position: string,
    request: StepRequest,
    execute: () => Promise<{ kind: 'done'; response: T } | { kind: 'parked'; waiting: Waiting }>,
  ): Promise<{ kind: 'done'; response: T; replayed: boolean } | { kind: 'parked'; waiting: Waiting }>;
  /** Appends a durable event once: `key` makes it idempotent across resumes. */
  event(key: string, event: RunEvent): Promise<void>;
  /** The stored response of `position` was none after all: the next `step` there executes again. */
  forget(position: string): Promise<void>;
  /** Fire and forget. */
  transient(event: TransientEvent): void;
}
