import { access, constants, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { estimateTokens, profileText } from '../agents/index.ts';
import { writeOutput } from '../base/files.ts';
import { AppFailure, err, type Profile } from '../contract/index.ts';
import { profileHtml } from '../profile/profile-html.ts';
import { type AppContext, historyFolder, withStore } from './context.ts';
import type { EvaluationReport, ServiceContext } from './events.ts';
import { locate } from './export.ts';
import { reportOf } from './report.ts';
import { type EvaluateParams, evaluateSource } from './run.ts';

export interface ProfileParams extends Omit<EvaluateParams, 'kind'> {
  /** File that gets the profile as a page. */
  readonly html?: string;
}

/** What the agents are shown of a profile, by mode: characters, and tokens as the prompt budget estimates them. */
export interface ProfileSizes {
  readonly filtered: { readonly characters: number; readonly tokens: number } | null;
  /** Only a profile collected in full holds all metrics. */
  readonly full: { readonly characters: number; readonly tokens: number } | null;
}

export interface ProfileReport extends EvaluationReport {
  readonly text: ProfileSizes;
  /** The page written; null: none was asked for, or there is no profile to write. */
  readonly html: string | null;
}

const sizeOf = (text: string): { characters: number; tokens: number } => ({
  characters: text.length,
  tokens: estimateTokens(text),
});

/** Size of the text for agents in the mode that the profile was collected in. */
export function profileSizes(profile: Profile | null): ProfileSizes {
  if (profile === null || profile.status === 'unavailable') return { filtered: null, full: null };
  const full = profile.stages?.some(({ stage }) => stage === 'full') ?? false;
  return {
    filtered: full ? null : sizeOf(profileText(profile, 'filtered')),
    full: full ? sizeOf(profileText(profile, 'full')) : null,
  };
}

/** Profiles the origin or a source once, as a run of its own. Throws AppFailure before anything is run when the page could not be written. */
export async function profileSource(
  app: AppContext,
  params: ProfileParams,
  ctx: ServiceContext,
): Promise<ProfileReport> {
  const { html, ...rest } = params;
  if (html !== undefined) await checkTarget(html);
  const report = await evaluateSource(app, { ...rest, kind: 'profile' }, ctx);
  const version = params.source === undefined ? 'origin' : basename(params.source);
  const title = `${params.task} ${params.dtype}, ${version}`;
  return withPage(report, { title, date: new Date().toISOString().slice(0, 10), html });
}

export interface StoredProfileParams {
  /** "RUN" or "last": its best version; "RUN:origin", "RUN:r1.a0". */
  readonly version: string;
  readonly html?: string;
}

/** The profile of a version of the history; nothing is run. Throws AppFailure `store.not-found`, `usage`. */
export async function storedProfile(params: StoredProfileParams, ctx: ServiceContext): Promise<ProfileReport> {
  const { version, html } = params;
  if (html !== undefined) await checkTarget(html);
  return withStore(ctx, historyFolder(), async (store) => {
    const { run, found } = await locate(store, version, 'origin');
    if (found.evaluation === null)
      throw new AppFailure(
        err('store.not-found', `Version ${found.position} of run ${run.id} was not evaluated.`, {
          remedy: '`cudamaster history` lists the versions.',
        }).error,
      );
    if (found.position === 'origin' && !version.includes(':'))
      ctx.emit({
        type: 'notice',
        message: `Run ${run.id} has no accepted version: this is the profile of its origin.`,
      });
    const report = { ...(await reportOf(store, run.id)), evaluation: found.evaluation };
    const title = `${run.config.task} ${run.config.dtype}, ${run.id}:${found.position}`;
    return withPage(report, { title, date: run.createdAt.slice(0, 10), html });
  });
}

interface Page {
  readonly title: string;
  readonly date: string;
  readonly html: string | undefined;
}

async function withPage(report: EvaluationReport, { title, date, html }: Page): Promise<ProfileReport> {
  const { evaluation } = report;
  const profile = evaluation?.profile ?? null;
  const text = profileSizes(profile);
  if (html === undefined || evaluation === null || profile === null) return { ...report, text, html: null };
  await writeOutput(html, profileHtml({ title, evaluation, profile, date }));
  return { ...report, text, html: resolve(html) };
}

/** A run takes minutes: a page that cannot be written is told before it. */
async function checkTarget(file: string): Promise<void> {
  const path = resolve(file);
  const remedy = 'Name a file in a folder that exists and may be written.';
  try {
    await access(dirname(path), constants.W_OK);
  } catch {
    throw new AppFailure(err('usage', `The page cannot be written to ${dirname(path)}.`, { remedy }).error);
  }
  const there = await stat(path).catch(() => null);
  if (there?.isDirectory() === true) throw new AppFailure(err('usage', `${path} is a folder.`, { remedy }).error);
}
