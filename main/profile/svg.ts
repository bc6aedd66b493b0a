/** Text inside XML or HTML, also in a double-quoted attribute; control characters that XML forbids become �. */
export const escapeXml = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones XML 1.0 forbids
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

/** A coordinate: two decimals are below what a screen or printer shows. */
export const coord = (value: number): string => String(Math.round(value * 100) / 100);

export interface Picture {
  /** Prefix of element ids: unique within a page, letters, digits and hyphens. */
  readonly id: string;
  readonly title: string;
  /** All that is drawn, as text: for screen readers, and for a log. */
  readonly words: string;
  readonly width: number;
  readonly height: number;
  readonly body: readonly string[];
  /** It holds links: then it is no image, whose parts nobody can reach. */
  readonly linked?: boolean;
}

/** One SVG, self-contained; colours of the page's theme come by CSS variables (html.ts), so a picture alone is drawn in its fallbacks. */
export function picture({ id, title, words, width, height, body, linked = false }: Picture): string {
  if (!/^[A-Za-z][\w-]*$/.test(id)) throw new RangeError(`picture: "${id}" is no element id`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="${linked ? 'group' : 'img'}" aria-labelledby="${id}-title ${id}-desc" font-family="system-ui, sans-serif" font-size="12" fill="var(--ink, #1a1a1a)">`,
    `<title id="${id}-title">${escapeXml(title)}</title>`,
    `<desc id="${id}-desc">${escapeXml(words)}</desc>`,
    ...body.filter((part) => part !== ''),
    '</svg>',
  ].join('\n');
}

type Anchor = 'start' | 'middle' | 'end';

export const svgText = (x: number, y: number, text: string, anchor: Anchor = 'start', more = ''): string =>
  `<text x="${coord(x)}" y="${coord(y)}"${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}${more === '' ? '' : ` ${more}`}>${escapeXml(text)}</text>`;

export const svgLine = (x1: number, y1: number, x2: number, y2: number, stroke: string, more = ''): string =>
  `<line x1="${coord(x1)}" y1="${coord(y1)}" x2="${coord(x2)}" y2="${coord(y2)}" stroke="${stroke}"${more === '' ? '' : ` ${more}`}/>`;

export const svgRect = (x: number, y: number, width: number, height: number, fill: string, more = ''): string =>
  `<rect x="${coord(x)}" y="${coord(y)}" width="${coord(Math.max(0, width))}" height="${coord(Math.max(0, height))}" fill="${fill}"${more === '' ? '' : ` ${more}`}/>`;
