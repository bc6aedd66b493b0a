/**
 * Colour scales for cells that also show their value as text. One hue for amounts, two for changes: both are told apart by every
 * common kind of colour vision. Lightness moves evenly in OKLab (Ottosson 2020); the text on a cell is black or white, whichever
 * has more contrast, which is never below 4.5 : 1.
 */

export type Theme = 'light' | 'dark';
export interface CellColour {
  readonly background: string;
  readonly text: string;
}

/** Steps of the scale of amounts above "nothing", and of either side of the scale of changes. */
export const HEAT_STEPS = 16;
export const CHANGE_STEPS = 6;

type Lch = readonly [l: number, c: number, h: number];
type Rgb = readonly [r: number, g: number, b: number];

/** Amounts grow away from the background: darker on light, brighter on dark. Hue: orange. */
const heatEnds: Record<Theme, readonly [Lch, Lch]> = {
  light: [
    [0.975, 0.02, 70],
    [0.5, 0.16, 45],
  ],
  dark: [
    [0.27, 0.03, 60],
    [0.83, 0.16, 70],
  ],
};
const changeEnds: Record<Theme, { readonly less: readonly [Lch, Lch]; readonly more: readonly [Lch, Lch] }> = {
  light: {
    less: [
      [0.96, 0.02, 250],
      [0.55, 0.14, 255],
    ],
    more: [
      [0.96, 0.02, 70],
      [0.6, 0.14, 55],
    ],
  },
  dark: {
    less: [
      [0.28, 0.03, 250],
      [0.68, 0.13, 250],
    ],
    more: [
      [0.28, 0.03, 60],
      [0.74, 0.14, 65],
    ],
  },
};

/** Step of an amount: 0 for nothing or missing, else 1 … HEAT_STEPS against `most`. A sample is never shown as none. */
export function heatStep(value: number | null, most: number): number {
  if (value === null || !(value > 0) || !(most > 0)) return 0;
  return Math.min(HEAT_STEPS, Math.max(1, Math.ceil((value / most) * HEAT_STEPS)));
}

/** Step of a relative change: −CHANGE_STEPS … CHANGE_STEPS, full colour at a factor of `full` (double, half); 0: within 1 %, or not known. */
export function changeStep(ratio: number | null, full = 2): number {
  if (ratio === null || !(ratio > 0)) return 0;
  const size = Math.log2(ratio);
  if (Math.abs(size) < Math.log2(1.01)) return 0;
  const part = Math.abs(size) / Math.log2(full);
  return Math.sign(size) * Math.min(CHANGE_STEPS, Math.max(1, Math.ceil(part * CHANGE_STEPS)));
}

/** Colours of steps 1 … HEAT_STEPS (index 0 is step 1). */
export const heatColours = (theme: Theme): readonly CellColour[] => ramp(heatEnds[theme], HEAT_STEPS);

/** Colour of a step of changeStep; null for 0. */
export function changeColour(theme: Theme, step: number): CellColour | null {
  if (step === 0) return null;
  const side = step < 0 ? changeEnds[theme].less : changeEnds[theme].more;
  return ramp(side, CHANGE_STEPS)[Math.abs(step) - 1] ?? null;
}

/** Style rules `.h1 …`, `.less1 …`, `.more1 …` of both themes. `dark`: selector that holds in the dark theme. */
export function scaleCss(light: string, dark: string): string {
  const rules: string[] = [];
  for (const [theme, scope] of [
    ['light', light],
    ['dark', dark],
  ] as const) {
    const rule = (name: string, { background, text }: CellColour) =>
      rules.push(`${scope} .${name} {\n  background-color: ${background};\n  color: ${text};\n}`);
    for (const [i, colour] of heatColours(theme).entries()) rule(`h${i + 1}`, colour);
    for (const [side, ends] of Object.entries(changeEnds[theme]))
      for (const [i, colour] of ramp(ends, CHANGE_STEPS).entries()) rule(`${side}${i + 1}`, colour);
  }
  return rules.join('\n');
}

/** Class of a changeStep; '' for 0. */
export const changeClass = (step: number): string =>
  step === 0 ? '' : `${step < 0 ? 'less' : 'more'}${Math.abs(step)}`;

function ramp([from, to]: readonly [Lch, Lch], steps: number): CellColour[] {
  return Array.from({ length: steps }, (_, i) => {
    const t = steps === 1 ? 1 : i / (steps - 1);
    const mixed = from.map((value, k) => value + ((to[k] as number) - value) * t) as unknown as Lch;
    const rgb = toRgb(mixed);
    return { background: hex(rgb), text: readable(rgb) };
  });
}

const readable = (background: Rgb): string => {
  const l = luminance(background);
  return 1.05 / (l + 0.05) > (l + 0.05) / 0.05 ? '#ffffff' : '#000000';
};

/** Contrast of two colours "#rrggbb" (WCAG 2.2), 1 … 21. */
export function contrast(a: string, b: string): number {
  const [x, y] = [luminance(fromHex(a)), luminance(fromHex(b))];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** OKLCH to sRGB, 0 … 1, cut to the gamut. */
function toRgb([lightness, chroma, hue]: Lch): Rgb {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

const gamma = (linear: number): number => {
  const x = Math.min(1, Math.max(0, linear));
  return x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
};
const linear = (x: number): number => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]: Rgb): number => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const hex = (rgb: Rgb): string =>
  `#${rgb
    .map((x) =>
      Math.round(x * 255)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
const fromHex = (text: string): Rgb =>
  [1, 3, 5].map((i) => Number.parseInt(text.slice(i, i + 2), 16) / 255) as unknown as Rgb;
