import { memo, type PointerEvent, type RefObject, useEffect, useRef } from 'react';
import { useDark } from '../app/theme.ts';
import { HEAT_STEPS, heatColours } from '../charts/scale.ts';
import { chartTokens } from '../ui/chart-look.ts';
import { type CodeRow, minimapHeat } from './model.ts';

interface Props {
  readonly rows: readonly CodeRow[];
  readonly order: readonly number[];
  readonly height: number;
  /** Height of what stands under the rows, px. */
  readonly below: number;
  /** Height of what is scrolled, px. */
  readonly content: number;
  /** Rows marked at the edge: selected and linked ones, by index. */
  readonly marked: ReadonlySet<number>;
  readonly scroller: RefObject<HTMLElement | null>;
}

const WIDTH = 18;
/** Short code is not stretched over the whole height. */
const MOST_PER_ROW = 6;

/** All rows of a pane at once: heat, marks and the part in view. Pointer only; keys n and p do the same. */
export const Minimap = memo(function Minimap({ rows, order, height: room, below, content, marked, scroller }: Props) {
  const height = Math.min(room, order.length * MOST_PER_ROW);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<HTMLDivElement>(null);
  const dark = useDark();

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || height <= 0) return;
    const scale = window.devicePixelRatio || 1;
    element.width = WIDTH * scale;
    element.height = height * scale;
    context.scale(scale, scale);
    context.clearRect(0, 0, WIDTH, height);
    const colours = heatColours(dark ? 'dark' : 'light');
    for (const [y, heat] of minimapHeat(rows, order, height).entries()) {
      if (heat === 0) continue;
      context.fillStyle = colours[Math.max(0, Math.ceil(heat * HEAT_STEPS) - 1)]?.background ?? '';
      context.fillRect(0, y, WIDTH - 5, 1);
    }
    context.fillStyle = chartTokens(element).accent;
    for (const [place, i] of order.entries())
      if (marked.has(i)) context.fillRect(WIDTH - 4, Math.floor((place / order.length) * height), 4, 2);
  }, [rows, order, height, marked, dark]);

  useEffect(() => {
    const element = scroller.current;
    const box = view.current;
    if (!element || !box || height <= 0) return;
    // Sizes are known: asking the page for them after rows came in would lay it out twice a frame.
    const all = Math.max(1, content);
    box.style.height = `${Math.max(8, Math.min(height, (element.clientHeight / all) * height))}px`;
    let asked = 0;
    const move = (): void => {
      asked = 0;
      box.style.transform = `translateY(${(element.scrollTop / all) * height}px)`;
    };
    const onScroll = (): void => {
      asked ||= requestAnimationFrame(move);
    };
    move();
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      cancelAnimationFrame(asked);
      element.removeEventListener('scroll', onScroll);
    };
  }, [scroller, height, content]);

  const jump = (event: PointerEvent<HTMLDivElement>): void => {
    const element = scroller.current;
    if (!element || event.buttons !== 1) return;
    const y = event.clientY - event.currentTarget.getBoundingClientRect().top;
    element.scrollTop = (y / height) * element.scrollHeight - element.clientHeight / 2;
  };
  return (
    <div
      className="minimap"
      aria-hidden="true"
      onPointerDown={jump}
      onPointerMove={jump}
      style={{ height: room, marginBottom: below }}
    >
      <canvas ref={canvas} style={{ width: WIDTH, height }} />
      <div ref={view} className="minimap-view" />
    </div>
  );
});
