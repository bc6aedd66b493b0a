/**
 * ncu scales values for reading ("4.21 Gbyte/s", "12.5 us") unless told otherwise. Everything is brought to base units, so that
 * launches, versions and GPUs compare: byte, byte/s, ns, hz, and plain counts.
 */
const SI = { '': 1, K: 1e3, M: 1e6, G: 1e9, T: 1e12 } as const;

/** Time units are brought to ns: the unit ncu itself uses when asked for base units. */
const TIME: Readonly<Record<string, number>> = {
  ns: 1,
  nsecond: 1,
  us: 1e3,
  usecond: 1e3,
  ms: 1e6,
  msecond: 1e6,
  s: 1e9,
  second: 1e9,
};

const SCALED = /^([KMGT])(byte|hz|inst|sector|request|cycle|thread|warp|block|bit)((?:\/.*)?)$/i;

/** Factor to the base unit and its name. Unknown units stay as they are, factor 1. */
export function baseUnit(unit: string): { readonly factor: number; readonly unit: string } {
  const time = TIME[unit.toLowerCase()];
  if (time !== undefined) return { factor: time, unit: 'ns' };
  const scaled = SCALED.exec(unit);
  if (scaled === null) return { factor: 1, unit: unit.toLowerCase() === 'hz' ? 'hz' : unit };
  const [, prefix = '', name = '', rest = ''] = scaled;
  const over = rest === '/second' ? '/s' : rest;
  return { factor: SI[prefix.toUpperCase() as keyof typeof SI], unit: `${name.toLowerCase()}${over}` };
}
