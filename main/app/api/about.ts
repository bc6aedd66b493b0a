import { cacheDir, configDir } from '../../base/paths.ts';
import { historyFolder } from '../context.ts';
import { examine } from '../index.ts';
import type { ApiContext, Handlers } from './context.ts';

export const aboutMethods = (api: ApiContext): Handlers<'app.info' | 'app.doctor'> => ({
  'app.info': async () => {
    await api.store();
    return {
      version: api.app.version,
      platform: process.platform,
      door: api.door,
      folders: { history: historyFolder(), cache: cacheDir(), settings: configDir() },
      notices: api.notices,
    };
  },
  'app.doctor': (_params, signal) => examine({ emit: () => {}, signal }),
});
