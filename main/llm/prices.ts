import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { systemCode } from '../base/fault.ts';
import { writeFileAtomic } from '../base/files.ts';
import { err, FORMAT, ok, type Result, type Usage } from '../contract/index.ts';

/**
 * A user's price table: `prices.json` in the config folder, US dollars per million tokens. None is shipped: list prices change and
 * contracts differ, so every entry names where its figures come from and when that was read.
 */
export const priceSchema = z.object({
  model: z.string().min(1),
  /** Host the entry is limited to. */
  address: z.string().optional(),
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  /** Where the price can be checked: the address of the provider's price list, or the contract. */
  source: z.string().min(1),
  /** Day on which it was read there. */
  asOf: z.iso.date(),
});
export const priceTableSchema = z.object({ version: z.number().int(), models: z.array(priceSchema) });
export type PriceTable = z.infer<typeof priceTableSchema>;

export const noPrices: PriceTable = { version: FORMAT.prices, models: [] };

/** Reads a price table; no file = no prices known. Errors: `input.file`, `format.invalid`, `format.newer`. */
export async function loadPrices(path: string): Promise<Result<PriceTable>> {
  const remedy = 'Correct it (README, "Prices"), or delete it: costs are then unknown.';
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (fault) {
    if (systemCode(fault) === 'ENOENT') return ok(noPrices);
    return err('input.file', `The price table ${path} cannot be read.`, { remedy, detail: String(fault) });
  }
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (fault) {
    return err('format.invalid', `The price table ${path} is no JSON.`, { remedy, detail: String(fault) });
  }
  const version = (data as { version?: unknown } | null)?.version;
  if (typeof version === 'number' && version > FORMAT.prices)
    return err('format.newer', `The price table ${path} has format ${version}; this program knows ${FORMAT.prices}.`, {
      remedy: 'Use a newer CUDAMaster.',
    });
  const parsed = priceTableSchema.safeParse(data);
  if (parsed.success) return ok(parsed.data);
  const detail = z.prettifyError(parsed.error);
  return err('format.invalid', `The price table ${path} is not usable.`, { remedy, detail });
}

/** A dated snapshot costs what its model costs: "some-model-2025-04-16" is "some-model". */
const names = (entry: string, model: string): boolean =>
  model === entry || (model.startsWith(`${entry}-`) && /^\d{4}-?\d{2}-?\d{2}$/.test(model.slice(entry.length + 1)));

export type Price = PriceTable['models'][number];

/** The user's price of a model at a host; null = not entered. An entry for the host comes before one for all. */
export function priceOf(table: PriceTable, host: string, model: string): Price | null {
  const fitting = table.models.filter((m) => names(m.model, model));
  return fitting.find((m) => m.address === host) ?? fitting.find((m) => m.address === undefined) ?? null;
}

/** Price of an exchange, US dollars; null = unknown (model not in the table, or usage not told). */
export function costOf(table: PriceTable, host: string, model: string, usage: Usage): number | null {
  const entry = priceOf(table, host, model);
  if (entry === null || usage.promptTokens === null || usage.completionTokens === null) return null;
  return (usage.promptTokens * entry.input + usage.completionTokens * entry.output) / 1e6;
}

const same = (a: Price, b: Pick<Price, 'model' | 'address'>): boolean =>
  a.model === b.model && (a.address ?? null) === (b.address ?? null);

/** The table with one entry entered or replaced. */
export const withPrice = (table: PriceTable, price: Price): PriceTable => ({
  ...table,
  models: [...table.models.filter((m) => !same(m, price)), price].sort((a, b) => a.model.localeCompare(b.model)),
});

/** The table without an entry; null = there is none. */
export function withoutPrice(table: PriceTable, entry: Pick<Price, 'model' | 'address'>): PriceTable | null {
  const models = table.models.filter((m) => !same(m, entry));
  return models.length === table.models.length ? null : { ...table, models };
}

/** Writes the table. Throws AppFailure `env.not-writable`, `env.disk-full`. */
export const writePrices = (path: string, table: PriceTable): Promise<void> =>
  writeFileAtomic(path, `${JSON.stringify(priceTableSchema.parse(table), null, 2)}\n`);
