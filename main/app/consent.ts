import { configDir } from '../base/paths.ts';
import { AppFailure, err, type RemoteDisclosure } from '../contract/index.ts';
import type { ServiceContext } from './events.ts';
import { type Settings, writeSettings } from './settings.ts';

/** What goes to a remote endpoint and what does not, told before the first request. */
export const disclosureText = (host: string, models: readonly string[]): string =>
  `Prompts go to ${host}${models.length === 0 ? '' : ` (model ${models.join(', ')})`}: the task's description, the kernel's source, ` +
  'profiler figures, compiler and test messages, your notes, GPU model and toolkit version. ' +
  'Not sent: file paths outside the job, environment, other files, keys of others.';

/** Where prompts of a run would go, once per host. `places`: host and model of each choice that leaves this machine. */
export function disclosures(
  places: readonly { readonly host: string; readonly model: string }[],
  settings: Settings,
): RemoteDisclosure[] {
  return [...new Set(places.map((p) => p.host))].map((host) => {
    const models = [...new Set(places.filter((p) => p.host === host).map((p) => p.model))];
    return { host, models, text: disclosureText(host, models), consented: settings.knownRemotes.includes(host) };
  });
}

/** What goes to a remote server before there is a prompt, and what the agreement to it is good for afterwards. */
export const listingText = (host: string): string =>
  `Asked of ${host}: its list of models, with the key of its variable and no prompt. Your agreement counts for prompts later, too. ` +
  disclosureText(host, []);

export interface Agreement {
  /** Agrees to every host of this run. */
  readonly yesRemote?: boolean;
  /** Hosts agreed to. */
  readonly consent?: readonly string[];
}

/**
 * Asks once per remote host, before anything is sent there: agreed to beforehand, or by the person at the terminal. An agreement is kept
 * in the settings. Throws AppFailure `provider.consent`.
 */
export async function requireConsent(
  ctx: ServiceContext,
  settings: Settings,
  remote: readonly RemoteDisclosure[],
  given: Agreement,
  what: 'prompts' | 'the list of models' = 'prompts',
): Promise<void> {
  const agreed: string[] = [];
  for (const place of remote.filter((p) => !p.consented)) {
    const beforehand = given.yesRemote === true || given.consent?.includes(place.host) === true;
    if (beforehand) ctx.emit({ type: 'notice', message: place.text });
    else if (ctx.confirm === undefined || !(await ctx.confirm(place)))
      throw refused(place, ctx.confirm !== undefined, what);
    agreed.push(place.host);
  }
  if (agreed.length === 0) return;
  await writeSettings(configDir(), { ...settings, knownRemotes: [...settings.knownRemotes, ...agreed].sort() });
}

const refused = (place: RemoteDisclosure, asked: boolean, what: 'prompts' | 'the list of models'): AppFailure =>
  new AppFailure(
    err(
      'provider.consent',
      asked
        ? `You did not agree that ${what === 'prompts' ? 'prompts go to' : 'anything is sent to'} ${place.host}: nothing was sent.`
        : what === 'prompts'
          ? `Nothing was sent: prompts would go to ${place.host} for the first time, and that needs your consent.`
          : `Nothing was sent: ${place.host} would be asked for its models, for the first time, and that needs your consent.`,
      {
        remedy: `Agree with --yes-remote, or once for all with \`cudamaster consent ${place.host}\`; or use a model on this machine.`,
        detail: place.text,
      },
    ).error,
  );
