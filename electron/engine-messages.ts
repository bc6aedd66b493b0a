import { z } from 'zod';

/** Values of keys by the name under which providers look for them. They live in the engine's memory alone. */
const keys = z.record(z.string(), z.string());

/** Shell → engine, over the channel that Electron gives a utility process. `connect` carries a message port. */
export const engineMessageSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('start'), root: z.string().min(1), keys }),
  z.strictObject({ type: z.literal('connect') }),
  z.strictObject({ type: z.literal('keys'), keys }),
  z.strictObject({ type: z.literal('close') }),
]);
export type EngineMessage = z.infer<typeof engineMessageSchema>;
