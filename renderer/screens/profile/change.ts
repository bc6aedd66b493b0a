import type { MetricValue } from '../../../main/contract/profile.ts';
import { number } from '../../ui/format.ts';

/** Value over an earlier one; null where either is missing, not positive, or of another unit. */
export function ratioOf(now: MetricValue | null | undefined, before: MetricValue | null | undefined): number | null {
  if (!now?.available || !before?.available || now.unit !== before.unit) return null;
  if (!(now.value > 0) || !(before.value > 0)) return null;
  return now.value / before.value;
}

/** "+25.0 %", "−4.0 %", from half or double on as a factor "×3.2", alike "="; '' when not comparable. */
export function changeText(ratio: number | null): string {
  if (ratio === null) return '';
  if (ratio >= 2 || ratio <= 0.5) return `×${number(ratio, 3)}`;
  const pct = (ratio - 1) * 100;
  if (Math.abs(pct) < 0.05) return '=';
  return `${pct < 0 ? '−' : '+'}${Math.abs(pct).toFixed(1)} %`;
}
