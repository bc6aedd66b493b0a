export { checkAddress, isLoopback } from './address.ts';
export { probeContext } from './context.ts';
export { type KeyReference, keyReferenceSchema, readKey } from './key.ts';
export { giveAnswer, type ManualOptions, manualProvider, promptText } from './manual.ts';
export { type OpenAiOptions, openAiProvider } from './openai.ts';
export { costOf, loadPrices, type PriceTable } from './prices.ts';
export { chatRequestHash, type RecordedChat, type RecordingOptions, recordingProvider } from './recording.ts';
