import { escapeXml } from './svg.ts';

/** Light and dark by the reader's setting; on paper always light. Colours are variables that pictures use too. */
const STYLE = [
  ':root{color-scheme:light dark;--ink:#1a1a1a;--paper:#ffffff;--rule:#bbbbbb;--faint:#5a5a5a;--low:#b9cde4;--high:#b3541e;--mark:#7a1f5c;--edge:#33475b;--band:#f3e3a3;--heat:226 88 34}',
  '@media (prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#16181c;--rule:#4a4f57;--faint:#a8adb5;--low:#3b5878;--high:#e08a4f;--mark:#d58cc0;--edge:#9fb3c8;--band:#4a431c;--heat:214 92 40}}',
  'body{font:15px/1.5 system-ui,sans-serif;max-width:80rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper);overflow-wrap:anywhere}',
  'p,dl,figcaption,caption{max-width:min(60rem,calc(100vw - 2rem))}h2{margin:2.2rem 0 .4rem}h3{margin:1.6rem 0 0;font-size:1.05rem}a{color:inherit}nav p{margin:.4rem 0}',
  'dt{font-weight:600;margin-top:.4rem}dd{margin:0 0 0 1.2rem}',
  '.wide{overflow-x:auto}table{border-collapse:collapse;margin:.8rem 0;font-size:14px;overflow-wrap:normal}caption{text-align:left;font-weight:600;padding:.3rem 0}',
  'th,td{border:1px solid var(--rule);padding:.2rem .5rem;text-align:left;vertical-align:top}th{font-weight:600}th.n{text-align:right}tbody th{white-space:nowrap}tbody .w{min-width:17rem;white-space:normal}',
  'td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td.c,code{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}',
  'td.n small{display:inline-block;min-width:4.8em;font-size:.87em;color:var(--faint)}',
  'td.h{background:rgb(var(--heat)/var(--h,0));text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;-webkit-print-color-adjust:exact;print-color-adjust:exact}',
  'svg{max-width:100%;height:auto;margin:1rem 0;-webkit-print-color-adjust:exact;print-color-adjust:exact}.faint{color:var(--faint)}',
  // On a narrow screen a picture keeps its size and is scrolled: shrunk to a telephone its words could not be read.
  'figure{margin:1rem 0 1.6rem}figure svg{max-width:none;margin:.4rem 0}figcaption{position:sticky;left:0}',
  '@media print{@page{margin:12mm}:root{color-scheme:light;--ink:#000000;--paper:#ffffff;--rule:#999999;--faint:#444444;--low:#b9cde4;--high:#b3541e;--mark:#7a1f5c;--edge:#33475b;--band:#f3e3a3;--heat:226 88 34}body{max-width:none;margin:0;padding:0;font-size:10pt}table{font-size:7.5pt}th,td{padding:1pt 3pt}svg,figure,tr{break-inside:avoid}h2,h3,caption{break-after:avoid}figure svg{max-width:100%}.wide{overflow:visible}td.n small{min-width:3.6em}a{text-decoration:none}}',
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

/**
 * A cell: text, text that leads to a place of the page, a figure set to the right (with how sure it is, set apart so that figures stand
 * under each other), code, or a figure on a ground as hot as `heat` (0…1).
 */
export type Cell =
  | string
  | { readonly text: string; readonly to: string }
  | { readonly figure: string; readonly margin?: string }
  | { readonly code: string }
  | { readonly figure: string; readonly heat: number };

export const figure = (value: number, digits = 1): Cell => ({ figure: value.toFixed(digits) });

/** Table with a heading row, reached by the keyboard where it is wider than the screen; text in the first column heads its row. '' without rows. */
export function htmlTable(caption: string, head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return '';
  return [
    `<div class="wide" tabindex="0"><table><caption>${escapeXml(caption)}</caption>`,
    `<thead><tr>${head.map((name, at) => `<th scope="col"${figures(rows, at) ? ' class="n"' : ''}>${escapeXml(name)}</th>`).join('')}</tr></thead><tbody>`,
    ...rows.map((row) => `<tr>${row.map(cellOf).join('')}</tr>`),
    '</tbody></table></div>',
  ].join('\n');
}

/** Whether the first row has a figure there: its head then stands to the right as well. */
const figures = (rows: readonly (readonly Cell[])[], at: number): boolean => {
  const cell = rows[0]?.[at];
  return typeof cell === 'object' && 'figure' in cell;
};

function cellOf(of: Cell, at: number): string {
  if (typeof of === 'string') {
    const wide = of.length > (at === 0 ? 36 : 28) ? ' class="w"' : '';
    return at === 0 ? `<th scope="row"${wide}>${escapeXml(of)}</th>` : `<td${wide}>${escapeXml(of)}</td>`;
  }
  if ('code' in of) return `<td class="c">${escapeXml(of.code)}</td>`;
  if ('to' in of) {
    const link = `<a href="#${escapeXml(of.to)}">${escapeXml(of.text)}</a>`;
    return at === 0 ? `<th scope="row">${link}</th>` : `<td>${link}</td>`;
  }
  if (!('heat' in of))
    return `<td class="n">${escapeXml(of.figure)}${of.margin ? ` <small>${escapeXml(of.margin)}</small>` : ''}</td>`;
  // Numbers stay readable on the hottest ground: at most 70 % of the colour.
  const alpha = Math.round(Math.min(1, Math.max(0, of.heat)) * 70) / 100;
  return `<td class="h" style="--h:${alpha}">${escapeXml(of.figure)}</td>`;
}

export const paragraph = (text: string, faint = false): string =>
  `<p${faint ? ' class="faint"' : ''}>${escapeXml(text)}</p>`;

/** `id`: where links of the page lead. */
export const heading = (text: string, id?: string): string =>
  `<h2${id === undefined ? '' : ` id="${escapeXml(id)}"`}>${escapeXml(text)}</h2>`;

/** A picture under one sentence that says what it shows. '' without a picture. */
export const pictured = (sentence: string, svg: string): string =>
  svg === ''
    ? ''
    : `<figure class="wide" tabindex="0"><figcaption>${escapeXml(sentence)}</figcaption>\n${svg}</figure>`;
