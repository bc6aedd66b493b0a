import { settingsOf } from '../context.ts';
import { modelList } from '../models.ts';
import { listProviders } from '../providers.ts';
import type { ApiContext, Handlers } from './context.ts';

export const providerMethods = (api: ApiContext): Handlers<'providers.list' | 'providers.models'> => ({
  'providers.list': async () => listProviders(await settingsOf(), api.app.env),
  'providers.models': async ({ provider = 'compatible', ...rest }, signal) =>
    modelList(api.app, { ...rest, provider }, { emit: () => {}, signal }),
});
