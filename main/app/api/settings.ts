import { configDir } from '../../base/paths.ts';
import type { SettingsView } from '../../contract/index.ts';
import { settingsOf } from '../context.ts';
import { type Settings, settingsFile, writeSettings } from '../settings.ts';
import type { Handlers } from './context.ts';

const view = (s: Settings): SettingsView => ({
  localOnly: s.localOnly,
  requireSandbox: s.requireSandbox,
  knownRemotes: s.knownRemotes,
  tools: s.tools,
  file: settingsFile(configDir()),
});

/** null takes a choice back, absent leaves it. */
function changed<T>(before: T | undefined, now: T | null | undefined): T | undefined {
  return now === null ? undefined : (now ?? before);
}

/** Writes follow each other: two clients that change different settings must both be kept. */
let queue: Promise<unknown> = Promise.resolve();

export const settingsMethods = (): Handlers<'settings.get' | 'settings.set'> => ({
  'settings.get': async () => view(await settingsOf()),
  'settings.set': (change) => {
    const turn = queue.then(async () => {
      const before = await settingsOf();
      const settings: Settings = {
        ...before,
        localOnly: change.localOnly ?? before.localOnly,
        requireSandbox: change.requireSandbox ?? before.requireSandbox,
        tools: {
          nvcc: changed(before.tools.nvcc, change.nvcc),
          ncu: changed(before.tools.ncu, change.ncu),
          gpuUuid: changed(before.tools.gpuUuid, change.gpuUuid),
        },
      };
      await writeSettings(configDir(), settings);
      return view(settings);
    });
    queue = turn.catch(() => {});
    return turn;
  },
});
