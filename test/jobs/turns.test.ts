import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withFileLock } from '../../main/base/flock.ts';
import { lockFile, withGpuLock } from '../../main/jobs/gpu-lock.ts';
import { borrow, Slots, Turns, type Use } from '../../main/jobs/turns.ts';

const tick = (ms = 0) => new Promise((done) => setTimeout(done, ms));

/** Enters turns that end when they are told, and notes who is inside. */
function scene(run: (use: Use, fn: () => Promise<void>) => Promise<void>) {
  const inside = new Set<string>();
  const ends = new Map<string, () => void>();
  const enter = (name: string, use: Use): Promise<void> =>
    run(use, async () => {
      inside.add(name);
      await new Promise<void>((end) => ends.set(name, end));
      inside.delete(name);
    });
  return { inside, enter, end: (name: string) => ends.get(name)?.() };
}

describe('turns on a GPU', () => {
  it('lets sharing ones in beside each other up to the limit, and one that measures by itself', async () => {
    const turns = new Turns(2);
    const { inside, enter, end } = scene((use, fn) => turns.run(use, fn));
    const all = [enter('v1', 'shared'), enter('v2', 'shared'), enter('v3', 'shared'), enter('m', 'alone')];
    await tick();
    expect([...inside]).toEqual(['v1', 'v2']);
    end('v1');
    await tick();
    expect([...inside]).toEqual(['v2', 'v3']);
    end('v2');
    end('v3');
    await tick();
    expect([...inside]).toEqual(['m']);
    end('m');
    await Promise.all(all);
  });

  it('starves neither: who asks later waits, of whatever kind', async () => {
    const turns = new Turns(4);
    const { inside, enter, end } = scene((use, fn) => turns.run(use, fn));
    const all = [enter('v1', 'shared'), enter('m1', 'alone'), enter('v2', 'shared'), enter('m2', 'alone')];
    for (const name of ['v1', 'm1', 'v2', 'm2']) {
      await tick();
      expect([...inside]).toEqual([name]);
      end(name);
    }
    await Promise.all(all);
  });

  it('goes on after a failure', async () => {
    const turns = new Turns(1);
    await expect(turns.run('alone', () => Promise.reject(new Error('x')))).rejects.toThrow('x');
    await expect(turns.run('shared', async () => 'in')).resolves.toBe('in');
    const slots = new Slots(1);
    await expect(slots.run(() => Promise.reject(new Error('y')))).rejects.toThrow('y');
    await expect(slots.run(async () => 'in')).resolves.toBe('in');
  });

  it('is held until it is given back, not until a function ends', async () => {
    const turns = new Turns(1);
    const giveBack = await borrow((held) => turns.run('alone', held));
    let entered = false;
    const other = turns.run('alone', async () => {
      entered = true;
    });
    await tick(20);
    expect(entered).toBe(false);
    await giveBack();
    await other;
    expect(entered).toBe(true);
    await expect(borrow(() => Promise.reject(new Error('no turn')))).rejects.toThrow('no turn');
  });
});

describe('the machine-wide lock', () => {
  let dir: string;
  beforeAll(() => {
    dir = realpathSync(mkdtempSync(join(tmpdir(), 'cm-turns-')));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('is shared by those who share, and closed to all others by one who measures', { timeout: 60_000 }, async () => {
    const { inside, enter, end } = scene((use, fn) => withGpuLock('GPU-1', fn, { dir, shared: use === 'shared' }));
    const until = async (names: string[]) => {
      for (let i = 0; i < 500 && [...inside].sort().join() !== names.join(); i++) await tick(20);
      expect([...inside].sort()).toEqual(names);
    };
    const v1 = enter('v1', 'shared');
    await until(['v1']);
    const v2 = enter('v2', 'shared');
    await until(['v1', 'v2']);
    const m = enter('m', 'alone');
    await tick(600);
    // It waits at the door, so that no further one gets in before it.
    const v3 = enter('v3', 'shared');
    await tick(600);
    expect([...inside].sort()).toEqual(['v1', 'v2']);
    end('v1');
    end('v2');
    await until(['m']);
    await tick(300);
    expect([...inside]).toEqual(['m']);
    end('m');
    await until(['v3']);
    end('v3');
    await Promise.all([v1, v2, m, v3]);
  });

  it('is respected by an older program that knows the exclusive lock alone', async () => {
    const { inside, enter, end } = scene((use, fn) => withGpuLock('GPU-2', fn, { dir, shared: use === 'shared' }));
    const v = enter('v', 'shared');
    for (let i = 0; i < 500 && inside.size === 0; i++) await tick(20);
    let old = false;
    const other = withFileLock(lockFile('GPU-2', dir), async () => {
      old = true;
    });
    await tick(400);
    expect(old).toBe(false);
    end('v');
    await Promise.all([v, other]);
    expect(old).toBe(true);
  });

  it('can be given up while waiting', async () => {
    const { enter, end, inside } = scene((use, fn) => withGpuLock('GPU-3', fn, { dir, shared: use === 'shared' }));
    const m = enter('m', 'alone');
    for (let i = 0; i < 500 && inside.size === 0; i++) await tick(20);
    const cancel = new AbortController();
    const waiting = withGpuLock('GPU-3', async () => 'in', {
      dir,
      signal: cancel.signal,
      onWait: () => cancel.abort(),
    });
    await expect(waiting).rejects.toMatchObject({ error: { code: 'cancelled' } });
    end('m');
    await m;
  });
});
