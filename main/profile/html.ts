import { escapeXml } from './svg.ts';

/** Light and dark by the reader's setting; on paper always light. Colours are variables that pictures use too. */
const STYLE = [
  ':root{color-scheme:light dark;--ink:#1a1a1a;--paper:#ffffff;--rule:#bbbbbb;--faint:#5a5a5a;--low:#b9cde4;--high:#b3541e;--mark:#7a1f5c;--edge:#33475b;--band:#f3e3a3;--heat:226 88 34}',
  '@media (prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#16181c;--rule:#4a4f57;--faint:#a8adb5;--low:#3b5878;--high:#e08a4f;--mark:#d58cc0;--edge:#9fb3c8;--band:#4a431c;--heat:214 92 40}}',
  '@media print{:root{--ink:#000000;--paper:#ffffff;--rule:#999999;--faint:#444444;--low:#b9cde4;--high:#b3541e;--mark:#7a1f5c;--edge:#33475b;--band:#f3e3a3;--heat:226 88 34}body{max-width:none;margin:0;font-size:10pt}svg,tr{break-inside:avoid}}',
  'body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}',
  '.wide{overflow-x:auto}table{border-collapse:collapse;margin:1rem 0}caption{text-align:left;font-weight:600;padding:.3rem 0}',
  'th,td{border:1px solid var(--rule);padding:.3rem .6rem;text-align:left;vertical-align:top}th{font-weight:600}',
  'td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td.c,code{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}',
  'td.h{background:rgb(var(--heat)/var(--h,0));text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;-webkit-print-color-adjust:exact;print-color-adjust:exact}',
  'svg{max-width:100%;height:auto;margin:1rem 0;-webkit-print-color-adjust:exact;print-color-adjust:exact}.faint{color:var(--faint)}',
].join('\n');

/** A page that loads nothing and runs nothing. `body`: HTML. */
export const htmlPage = (title: string, body: readonly string[]): string =>
  [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    `<title>${escapeXml(title)}</title><style>${STYLE}</style></head><body>`,
    ...body.filter((part) => part !== ''),
    '</body></html>',
    '',
  ].join('\n');

/** A cell: text, a figure set to the right, code, or a figure on a ground as hot as `heat` (0…1). */
export type Cell =
  | string
  | { readonly figure: string }
  | { readonly code: string }
  | { readonly figure: string; readonly heat: number };

export const figure = (value: number, digits = 1): Cell => ({ figure: value.toFixed(digits) });

/** Table with a heading row; text in the first column heads its row. '' without rows. */
export function htmlTable(caption: string, head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return '';
  return [
    `<div class="wide"><table><caption>${escapeXml(caption)}</caption>`,
    `<thead><tr>${head.map((name) => `<th scope="col">${escapeXml(name)}</th>`).join('')}</tr></thead><tbody>`,
    ...rows.map((row) => `<tr>${row.map(cellOf).join('')}</tr>`),
    '</tbody></table></div>',
  ].join('\n');
}

function cellOf(of: Cell, at: number): string {
  if (typeof of === 'string') return at === 0 ? `<th scope="row">${escapeXml(of)}</th>` : `<td>${escapeXml(of)}</td>`;
  if ('code' in of) return `<td class="c">${escapeXml(of.code)}</td>`;
  if (!('heat' in of)) return `<td class="n">${escapeXml(of.figure)}</td>`;
  // Numbers stay readable on the hottest ground: at most 70 % of the colour.
  const alpha = Math.round(Math.min(1, Math.max(0, of.heat)) * 70) / 100;
  return `<td class="h" style="--h:${alpha}">${escapeXml(of.figure)}</td>`;
}

export const paragraph = (text: string, faint = false): string =>
  `<p${faint ? ' class="faint"' : ''}>${escapeXml(text)}</p>`;

export const heading = (text: string): string => `<h2>${escapeXml(text)}</h2>`;
