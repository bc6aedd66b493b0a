import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withFileLock } from '../../main/base/flock.ts';
import { startChild } from '../../main/base/spawn.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'cm-flock-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Another process that takes the lock, says so in a file and holds it. */
function holder(lock: string, name: string, fallback: boolean) {
  const url = new URL('../../main/base/flock.ts', import.meta.url).href;
  const said = join(dir, `${name}.said`);
  const text = `
    import { writeFileSync } from 'node:fs';
    import { withFileLock } from ${JSON.stringify(url)};
    await withFileLock(${JSON.stringify(lock)}, async () => {
      writeFileSync(${JSON.stringify(said)}, String(process.pid));
      await new Promise((done) => setTimeout(done, 60000));
    }, { forceFallback: ${fallback} });`;
  const file = join(dir, `${name}.mts`);
  writeFileSync(file, text);
  const child = startChild([process.execPath, file], {
    cwd: dir,
    env: { PATH: '/usr/bin:/bin' },
    wallMs: 60_000,
    memoryMiB: null,
    outputBytes: 10_000,
  });
  const has = async (): Promise<number> => {
    for (let i = 0; i < 300; i++) {
      try {
        const pid = readFileSync(said, 'utf8');
        if (pid !== '') return Number(pid); // empty: made, not yet written
      } catch {
        // not there yet
      }
      await sleep(20);
    }
    throw new Error(`holder did not get the lock: ${(await child.exited).stderr}`);
  };
  return { child, has };
}

describe.each([false, true])('withFileLock, fallback %s', (forceFallback) => {
  const name = forceFallback ? 'fb' : 'fl';

  it('lets one in at a time within a process', async () => {
    const lock = join(dir, `${name}-one`);
    let inside = 0;
    let most = 0;
    const order: number[] = [];
    const enter = (i: number) =>
      withFileLock(
        lock,
        async () => {
          inside++;
          most = Math.max(most, inside);
          await sleep(15);
          inside--;
          order.push(i);
        },
        { forceFallback },
      );
    await Promise.all([1, 2, 3, 4, 5].map(enter));
    expect(most).toBe(1);
    expect(order.sort()).toEqual([1, 2, 3, 4, 5]);
  });

  it('that removes its file lets one in at a time all the same, waiters of the removed file among them', async () => {
    const lock = join(dir, `${name}-gone`);
    let inside = 0;
    let most = 0;
    let entered = 0;
    const enter = () =>
      withFileLock(
        lock,
        async () => {
          most = Math.max(most, ++inside);
          await sleep(5);
          inside--;
          entered++;
        },
        { forceFallback, remove: true },
      );
    // Each that goes takes the file along, on which the others wait.
    await Promise.all(Array.from({ length: 8 }, enter));
    expect([most, entered, readdirSync(dir).filter((n) => n.startsWith(`${name}-gone`))]).toEqual([1, 8, []]);
  });

  it('waits for another process, names it, and enters when that is killed with -9', async () => {
    const lock = join(dir, `${name}-kill`);
    const other = holder(lock, `${name}-holder`, forceFallback);
    const pid = await other.has();
    let waited: number | null = null;
    let entered = false;
    const ours = withFileLock(
      lock,
      () => {
        entered = true;
      },
      {
        forceFallback,
        onWait: (wait) => {
          waited = wait.holder;
        },
      },
    );
    await sleep(300);
    expect(entered).toBe(false);
    expect(waited).toBe(pid);
    process.kill(pid, 'SIGKILL');
    await ours;
    expect(entered).toBe(true);
    await other.child.exited;
  });

  it('takes over a lock whose holder died before it named itself', async () => {
    const lock = join(dir, `${name}-unnamed`);
    const longAgo = Date.now() / 1000 - 60;
    for (const file of [lock, `${lock}.lock`]) {
      writeFileSync(file, '');
      utimesSync(file, longAgo, longAgo);
    }
    let entered = false;
    const enter = () => {
      entered = true;
    };
    await withFileLock(lock, enter, { forceFallback });
    expect(entered).toBe(true);
  });

  it('gives up on abort and leaves the lock usable', async () => {
    const lock = join(dir, `${name}-abort`);
    const stop = new AbortController();
    let second: Promise<void> | null = null;
    await withFileLock(
      lock,
      async () => {
        second = withFileLock(lock, () => undefined, { forceFallback, signal: stop.signal });
        second.catch(() => undefined);
        await sleep(100);
        stop.abort();
        await expect(second).rejects.toMatchObject({ error: { code: 'cancelled' } });
      },
      { forceFallback },
    );
    await withFileLock(lock, () => undefined, { forceFallback });
  });

  it('releases when the function throws', async () => {
    const lock = join(dir, `${name}-throw`);
    const fails = withFileLock(
      lock,
      () => {
        throw new Error('inner');
      },
      { forceFallback },
    );
    await expect(fails).rejects.toThrow('inner');
    expect(await withFileLock(lock, () => 7, { forceFallback })).toBe(7);
  });
});

it('takes over a lock file whose number now belongs to another process', async () => {
  const lock = join(dir, 'stale');
  const { hostname } = await import('node:os');
  writeFileSync(`${lock}.lock`, JSON.stringify({ pid: process.pid, start: 'earlier:1', host: hostname() }));
  expect(await withFileLock(lock, () => 'in', { forceFallback: true })).toBe('in');
});
