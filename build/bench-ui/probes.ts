/** What is measured within the page. Times are the page's own clock, from the user's action to the frame that shows its result. */
import type { Page } from 'playwright-core';

/** ms from calling `act` in the page to the first frame for which `shown` holds. Both are functions of the page. */
export function untilShown(page: Page, act: string, shown: string, limitMs = 20_000): Promise<number> {
  return page.evaluate(
    ([action, condition, limit]) =>
      new Promise<number>((resolve, reject) => {
        const done = new Function(`return (${condition})()`) as () => boolean;
        const start = performance.now();
        new Function(`(${action})()`)();
        const look = (): void => {
          if (done())
            // The frame in which it is there has been laid out; the message comes after it was painted.
            requestAnimationFrame(() => {
              const { port1, port2 } = new MessageChannel();
              port1.onmessage = () => resolve(performance.now() - start);
              port2.postMessage(0);
            });
          else if (performance.now() - start > Number(limit))
            reject(new Error(`not shown within ${limit} ms: ${condition}`));
          else requestAnimationFrame(look);
        };
        look();
      }),
    [act, shown, String(limitMs)] as const,
  );
}

/** Scrolls an element through, a step a frame; gives back the longest time between two frames, ms. */
export function longestFrame(page: Page, selector: string, frames = 90, step = 120): Promise<number> {
  return page.evaluate(
    ([css, count, by]) =>
      new Promise<number>((resolve, reject) => {
        const element = document.querySelector(css as string);
        if (element === null) return reject(new Error(`there is no ${css}`));
        element.scrollTop = 0;
        let left = Number(count);
        let longest = 0;
        let before: number | null = null;
        const frame = (now: number): void => {
          if (before !== null) longest = Math.max(longest, now - before);
          before = now;
          element.scrollTop += Number(by);
          if (left-- > 0) requestAnimationFrame(frame);
          else resolve(longest);
        };
        requestAnimationFrame(frame);
      }),
    [selector, frames, step] as const,
  );
}

/** What the page's main thread did, ms of its processor time: what other processes take of the machine is not in it. */
export interface MainThread {
  readonly task: number;
  readonly script: number;
  readonly style: number;
  readonly layout: number;
}

/** Processor time of the main thread while `work` runs. */
export async function mainThread<T>(page: Page, work: () => Promise<T>): Promise<{ got: T; spent: MainThread }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const read = async (): Promise<MainThread> => {
    const { metrics } = await cdp.send('Performance.getMetrics');
    const ms = (name: string): number => 1000 * (metrics.find((m) => m.name === name)?.value ?? Number.NaN);
    return {
      task: ms('TaskDuration'),
      script: ms('ScriptDuration'),
      style: ms('RecalcStyleDuration'),
      layout: ms('LayoutDuration'),
    };
  };
  try {
    const before = await read();
    const got = await work();
    const after = await read();
    const less = (name: keyof MainThread): number => after[name] - before[name];
    return {
      got,
      spent: { task: less('task'), script: less('script'), style: less('style'), layout: less('layout') },
    };
  } finally {
    await cdp.detach();
  }
}

/** Collects the durations of key presses (Event Timing: from the press to the next paint); gives back a function that reads them. */
export async function keyLatencies(page: Page): Promise<() => Promise<readonly number[]>> {
  await page.evaluate(() => {
    const seen: number[] = [];
    Object.assign(window, { benchKeys: seen });
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (/^key(down|press)|^input/.test(entry.name)) seen.push(entry.duration);
    });
    observer.observe({ type: 'event', durationThreshold: 16, buffered: false } as PerformanceObserverInit);
  });
  return () => page.evaluate(() => (window as unknown as { benchKeys: number[] }).benchKeys);
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[half] as number)
    : ((sorted[half - 1] as number) + (sorted[half] as number)) / 2;
};
