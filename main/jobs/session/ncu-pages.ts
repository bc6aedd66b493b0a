import { gzipSync } from 'node:zlib';

/** Characters of base64 that a stored page may have: a kernel of some thousand instructions; runs of many evaluations stay below a megabyte. */
const CAP = 96 * 1024;

export const packText = (text: string): string => gzipSync(text, { level: 9 }).toString('base64');

/**
 * A source page, compressed. Above the cap its rows of machine code without samples go first, then those with fewest, until it fits;
 * `cut` says how many went. Titles, headers and source lines stay.
 */
export function packPage(text: string, cap: number = CAP): { readonly gz: string; readonly cut: number } {
  const whole = packText(text);
  if (whole.length <= cap) return { gz: whole, cut: 0 };
  const lines = text.split('\n');
  const samples = samplesOf(lines);
  const order = samples.flatMap(({ at, count }) => (count === null ? [] : [{ at, count }]));
  order.sort((a, b) => a.count - b.count);
  // The compressed size falls about as the rows do: a few looks find the cut.
  for (let share = Math.min(0.95, 1 - (0.9 * cap) / whole.length); order.length > 0; share = (1 + share) / 2) {
    const cut = Math.min(order.length, Math.ceil(order.length * share));
    const gone = new Set(order.slice(0, cut).map(({ at }) => at));
    const gz = packText(lines.filter((_, at) => !gone.has(at)).join('\n'));
    if (gz.length <= cap) return { gz, cut };
    if (cut === order.length) break;
  }
  return { gz: '', cut: order.length };
}

/** Rows of machine code with their samples: those that begin with an empty line number, or with an address. */
function samplesOf(lines: readonly string[]): { at: number; count: number | null }[] {
  let column = -1;
  return lines.map((line, at) => {
    if (/^"(?:Line No|Line|#|Address)",/.test(line)) {
      const names = line.slice(1).split('","');
      column = names.findIndex((name) => /Sampling|^# Samples$|pcsamp_sample_count/.test(name));
    }
    if (!/^"(?:)",|^"0x/.test(line)) return { at, count: null };
    const cells = line.slice(1).split('","');
    const count = Number((cells[column] ?? '0').replaceAll(',', '').replace('"', ''));
    return { at, count: Number.isFinite(count) ? count : 0 };
  });
}
