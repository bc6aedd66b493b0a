import { describe, expect, test } from 'vitest';
import {
  CHANGE_STEPS,
  changeClass,
  changeColour,
  changeStep,
  contrast,
  HEAT_STEPS,
  heatColours,
  heatStep,
  scaleCss,
} from '../../renderer/charts/scale.ts';

const themes = ['light', 'dark'] as const;
/** How people without one kind of cone see a colour, linear sRGB (Viénot, Brettel, Mollon 1999). */
const dichromat = {
  protan: [0.11238, 0.88762, 0, 0.11238, 0.88762, 0, 0.00401, -0.00401, 1],
  deutan: [0.29275, 0.70725, 0, 0.29275, 0.70725, 0, -0.02234, 0.02234, 1],
};
const linear = (hex: string): number[] =>
  [1, 3, 5].map((i) => {
    const x = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  });
const seen = (hex: string, m: number[]): number[] => {
  const [r, g, b] = linear(hex) as [number, number, number];
  return [0, 3, 6].map((k) => (m[k] as number) * r + (m[k + 1] as number) * g + (m[k + 2] as number) * b);
};

describe.each(themes)('%s', (theme) => {
  const steps = [...heatColours(theme)];
  const changes = [...Array(2 * CHANGE_STEPS + 1).keys()]
    .map((i) => changeColour(theme, i - CHANGE_STEPS))
    .filter((c) => c !== null);

  test('text on every cell has contrast of at least 4.5', () => {
    expect(steps).toHaveLength(HEAT_STEPS);
    expect(changes).toHaveLength(2 * CHANGE_STEPS);
    for (const { background, text } of [...steps, ...changes])
      expect(contrast(background, text)).toBeGreaterThanOrEqual(4.5);
  });

  test('lightness moves in one direction, so that the order is seen without hue', () => {
    const towards = steps.map(({ background }) => contrast(background, theme === 'light' ? '#ffffff' : '#000000'));
    for (let i = 1; i < towards.length; i++) expect(towards[i] as number).toBeGreaterThan(towards[i - 1] as number);
  });

  test('more and less differ for people who confuse red and green', () => {
    for (const matrix of Object.values(dichromat)) {
      const less = seen(changeColour(theme, -CHANGE_STEPS)?.background as string, matrix);
      const more = seen(changeColour(theme, CHANGE_STEPS)?.background as string, matrix);
      expect(Math.hypot(...less.map((x, i) => x - (more[i] as number)))).toBeGreaterThan(0.25);
    }
  });
});

test('steps: nothing and missing have no colour, a single sample has some, the hottest has all', () => {
  expect([heatStep(null, 10), heatStep(0, 10), heatStep(5, 0), heatStep(Number.NaN, 10)]).toEqual([0, 0, 0, 0]);
  expect(heatStep(1, 1e6)).toBe(1);
  expect(heatStep(10, 10)).toBe(HEAT_STEPS);
  expect(heatStep(11, 10)).toBe(HEAT_STEPS);
});

test('changes: alike within 1 %, full at half and double, by ratio and not by difference', () => {
  expect([changeStep(1), changeStep(1.005), changeStep(null), changeStep(0), changeStep(-3)]).toEqual([0, 0, 0, 0, 0]);
  expect([changeStep(2), changeStep(100)]).toEqual([CHANGE_STEPS, CHANGE_STEPS]);
  expect(changeStep(0.5)).toBe(-CHANGE_STEPS);
  expect(changeStep(1.25)).toBe(-changeStep(1 / 1.25));
  expect([changeClass(0), changeClass(-2), changeClass(3)]).toEqual(['', 'less2', 'more3']);
});

test('scale.css is what scale.ts makes (npx vitest -u writes it)', async () => {
  const css = scaleCss(':root[data-theme="light"]', ':root[data-theme="dark"]');
  await expect(`/* Made from scale.ts by test/renderer/scale.test.ts. */\n${css}\n`).toMatchFileSnapshot(
    '../../renderer/charts/scale.css',
  );
});
