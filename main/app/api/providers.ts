import { settingsOf } from '../context.ts';
import { listProviders, modelsOf } from '../providers.ts';
import type { ApiContext, Handlers } from './context.ts';

export const providerMethods = (api: ApiContext): Handlers<'providers.list' | 'providers.models'> => ({
  'providers.list': async () => listProviders(await settingsOf(), api.app.env),
  'providers.models': async ({ provider = 'compatible', ...rest }, signal) =>
    modelsOf({ ...rest, provider }, await settingsOf(), api.app.env, signal),
});
