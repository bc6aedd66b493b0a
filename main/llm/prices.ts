import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { err, ok, type Result, type Usage } from '../contract/index.ts';

/** prompts/prices.json: US dollars per million tokens. */
export const priceTableSchema = z.object({
  version: z.literal(1),
  note: z.string().optional(),
  asOf: z.string(),
  models: z.array(
    z.object({
      model: z.string().min(1),
      /** Host the entry is limited to. */
      address: z.string().optional(),
      input: z.number().nonnegative(),
      output: z.number().nonnegative(),
    }),
  ),
});
export type PriceTable = z.infer<typeof priceTableSchema>;

export const noPrices: PriceTable = { version: 1, asOf: '', models: [] };

/** Reads a price table. Errors: `input.file`, `format.invalid`. */
export async function loadPrices(path: string): Promise<Result<PriceTable>> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (fault) {
    return err('input.file', `The price table ${path} cannot be read.`, { detail: String(fault) });
  }
  try {
    const parsed = priceTableSchema.safeParse(JSON.parse(text));
    if (parsed.success) return ok(parsed.data);
    return err('format.invalid', `The price table ${path} is not usable.`, { detail: z.prettifyError(parsed.error) });
  } catch (fault) {
    return err('format.invalid', `The price table ${path} is no JSON.`, { detail: String(fault) });
  }
}

/** A dated snapshot costs what its model costs: "o4-mini-2025-04-16" is "o4-mini". */
const names = (entry: string, model: string): boolean =>
  model === entry || (model.startsWith(`${entry}-`) && /^\d{4}-?\d{2}-?\d{2}$/.test(model.slice(entry.length + 1)));

/** Price of an exchange, US dollars; null = unknown (model not in the table, or usage not told). */
export function costOf(table: PriceTable, host: string, model: string, usage: Usage): number | null {
  const entry = table.models.find((m) => names(m.model, model) && (m.address === undefined || m.address === host));
  if (entry === undefined || usage.promptTokens === null || usage.completionTokens === null) return null;
  return (usage.promptTokens * entry.input + usage.completionTokens * entry.output) / 1e6;
}
