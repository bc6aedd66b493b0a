import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BuildCache, buildKey } from '../../main/jobs/build-cache.ts';
import { folder } from './support.ts';

const base = {
  tool: 'nvcc' as const,
  toolPath: '/opt/cuda/bin/nvcc',
  nvccVersion: '13.0.88',
  hostCompiler: 'g++ 12.2.0',
  args: ['-O3', 'a.cu', 'arch=sm_90'],
  inputs: [['a.cu', '11'] as const],
  outputs: ['a.so'],
};
const said = { stdout: '', stderr: 'ptxas info    : Used 8 registers', command: 'nvcc a.cu' };

async function made(root: string, name: string, text: string): Promise<string> {
  const dir = join(root, name);
  await mkdir(dir, { recursive: true });
  writeFileSync(join(dir, 'a.so'), text, { mode: 0o755 });
  return dir;
}
const blobs = (dir: string): string[] =>
  readdirSync(join(dir, 'blobs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('buildKey', () => {
  it('changes with everything that decides the output', () => {
    const variants = [
      base,
      { ...base, tool: 'cxx' as const },
      { ...base, nvccVersion: '12.9.1' },
      { ...base, hostCompiler: 'g++ 13.1.0' },
      { ...base, args: ['-O3', 'a.cu', 'arch=sm_80'] },
      { ...base, args: ['a.cu', '-O3', 'arch=sm_90'] },
      { ...base, inputs: [['a.cu', '12'] as const] },
      { ...base, inputs: [['b.cu', '11'] as const] },
      { ...base, outputs: ['b.so'] },
      { ...base, toolPath: '/usr/bin/nvcc' },
    ];
    expect(new Set(variants.map(buildKey)).size).toBe(variants.length);
    expect(buildKey({ ...base })).toBe(buildKey(base));
  });
});

describe('BuildCache', () => {
  it('gives back files, modes and what the compiler said', async () => {
    using root = folder();
    const cache = new BuildCache(join(root.path, 'cache'));
    const key = buildKey(base);
    expect(await cache.fetch(key, root.path)).toBeNull();
    await cache.store(key, await made(root.path, 'made', 'binary'), ['a.so'], said);
    const into = join(root.path, 'into');
    expect(await new BuildCache(cache.dir).fetch(key, into)).toEqual(said);
    expect(await readFile(join(into, 'a.so'), 'utf8')).toBe('binary');
    expect((await stat(join(into, 'a.so'))).mode & 0o100).not.toBe(0);
  });

  it.each(['content', 'cut', 'entry'])('takes a damaged %s as absent, and can store it again', async (what) => {
    using root = folder();
    const cache = new BuildCache(join(root.path, 'cache'));
    const dir = await made(root.path, 'made', 'binary');
    await cache.store('k1', dir, ['a.so'], said);
    const victim = what === 'entry' ? join(cache.dir, 'entries', 'k1.json') : (blobs(cache.dir)[0] ?? '');
    writeFileSync(victim, what === 'content' ? 'bynary' : '{"ver');
    const into = join(root.path, 'into');
    expect(await cache.fetch('k1', into)).toBeNull();
    expect(existsSync(join(into, 'a.so'))).toBe(false);
    await cache.store('k1', dir, ['a.so'], said);
    expect(await cache.fetch('k1', into)).toEqual(said);
  });

  it('stays under its cap, least recently used first', async () => {
    using root = folder();
    const cache = new BuildCache(join(root.path, 'cache'), 4000);
    for (let i = 0; i < 6; i++) {
      await cache.store(`k${i}`, await made(root.path, `m${i}`, String(i).repeat(1000)), ['a.so'], said);
      const used = new Date(Date.now() - 100_000 + i * 1000);
      utimesSync(join(cache.dir, 'entries', `k${i}.json`), used, used);
      // k0 is used all the time.
      if (i > 0) expect(await cache.fetch('k0', join(root.path, 'use'))).not.toBeNull();
    }
    await cache.evict();
    const total = blobs(cache.dir).reduce((sum, path) => sum + readFileSync(path).length, 0);
    expect(total).toBeLessThanOrEqual(4000);
    expect(await cache.fetch('k0', join(root.path, 'use'))).not.toBeNull();
    expect(await cache.fetch('k1', join(root.path, 'use'))).toBeNull();
    expect(await cache.fetch('k5', join(root.path, 'use'))).not.toBeNull();
  });

  it('does not make a build fail when it cannot be written', async () => {
    using root = folder();
    writeFileSync(join(root.path, 'file'), '');
    const cache = new BuildCache(join(root.path, 'file', 'cache'));
    await cache.store('k', await made(root.path, 'made', 'x'), ['a.so'], said);
    expect(await cache.fetch('k', root.path)).toBeNull();
  });

  it('is shared by processes that store, read and evict at once', async () => {
    using root = folder();
    const script = `
      import { BuildCache } from ${JSON.stringify(join(import.meta.dirname, '../../main/jobs/build-cache.ts'))};
      import { mkdirSync, writeFileSync, readFileSync } from 'node:fs';
      const [dir, work] = process.argv.slice(1);
      const cache = new BuildCache(dir, 20000);
      mkdirSync(work);
      let hits = 0;
      for (let i = 0; i < 30; i++) {
        const n = i % 8, text = String(n % 10).repeat(3000 + n);
        writeFileSync(work + '/a.so', text);
        const found = await cache.fetch('k' + n, work + '/into');
        if (found) { hits++; if (readFileSync(work + '/into/a.so', 'utf8') !== text) throw new Error('wrong content'); }
        else await cache.store('k' + n, work, ['a.so'], { stdout: '', stderr: 'n' + n, command: '' });
      }
      console.log(hits);`;
    const runs = [1, 2, 3].map(
      (i) =>
        new Promise<{ code: number | null; out: string }>((done) => {
          const args = [
            '--input-type=module-typescript',
            '-e',
            script,
            join(root.path, 'cache'),
            join(root.path, `w${i}`),
          ];
          const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
          let out = '';
          child.stdout.on('data', (chunk) => {
            out += chunk;
          });
          child.on('exit', (code) => done({ code, out }));
        }),
    );
    const ended = await Promise.all(runs);
    expect(ended.map((run) => run.code)).toEqual([0, 0, 0]);
    expect(ended.reduce((sum, run) => sum + Number(run.out), 0)).toBeGreaterThan(0);
  });
});
