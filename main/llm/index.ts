export type { AdaptationMemory } from './adapt.ts';
export { checkAddress, checkModel } from './address.ts';
export { type GuardOptions, guardLocal } from './guard.ts';
export { type KeyReference, keyReferenceSchema, readKey } from './key.ts';
export { giveAnswer, type ManualOptions, manualProvider, promptText } from './manual.ts';
export { adaptationFile } from './memory.ts';
export { listModels, type ModelEndpoint, probeContext } from './models.ts';
export { type OpenAiOptions, openAiProvider } from './openai.ts';
export { findPreset, presets } from './presets.ts';
export {
  costOf,
  loadPrices,
  type Price,
  type PriceTable,
  priceOf,
  priceSchema,
  withoutPrice,
  withPrice,
  writePrices,
} from './prices.ts';
export { chatRequestHash, type RecordedChat, type RecordingOptions, recordingProvider } from './recording.ts';
export { routeByAgent } from './route.ts';
