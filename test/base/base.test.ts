import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  allowedEnv,
  ContentStore,
  cacheDir,
  canonicalJson,
  configDir,
  createLogger,
  dataDir,
  deriveRoot,
  deriveSeed,
  fileFault,
  hashJson,
  isSecretName,
  newRootSeed,
  Prng,
  redact,
  redactDeep,
  registerSecret,
  removeScratch,
  run,
  scratchDir,
  sha256File,
  sha256Hex,
  sweepScratch,
  writeFileAtomic,
} from '../../main/base/index.ts';
import { AppFailure } from '../../main/contract/index.ts';

let dir: string;
const before = process.env.CUDAMASTER_HOME;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cm-base-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
  if (before === undefined) delete process.env.CUDAMASTER_HOME;
  else process.env.CUDAMASTER_HOME = before;
});

describe('hash', () => {
  it('knows the FIPS 180 vector', () => {
    expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
  it('hashes equal values equally, different ones differently', () => {
    expect(hashJson({ b: 1, a: { d: [1, 2], c: undefined } })).toBe(hashJson({ a: { d: [1, 2] }, b: 1 }));
    expect(hashJson([1, 2])).not.toBe(hashJson([2, 1]));
    expect(canonicalJson({ b: 'ä', a: null })).toBe('{"a":null,"b":"ä"}');
  });
  it('refuses what JSON would falsify', () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, new Map(), () => 1])
      expect(() => canonicalJson({ bad })).toThrow(TypeError);
  });
});

describe('random', () => {
  it('derives by root and every label', () => {
    const root = 'ab'.repeat(32);
    expect(newRootSeed()).toMatch(/^[0-9a-f]{64}$/);
    expect(newRootSeed()).not.toBe(newRootSeed());
    expect(deriveSeed(root, 'x', 1)).toMatch(/^[0-9a-f]{16}$/);
    expect(deriveRoot(root, 'x')).toMatch(/^[0-9a-f]{64}$/);
    const seeds = [
      deriveSeed(root, 'x', 1),
      deriveSeed(root, 'x', 2),
      deriveSeed(root, 'x1'),
      deriveSeed(root, 'ab', 'c'),
      deriveSeed(root, 'a', 'bc'),
      deriveSeed(`${root}0`, 'x', 1),
    ];
    expect(new Set(seeds).size).toBe(seeds.length);
    expect(deriveSeed(root, 'x', 1)).toBe(seeds[0]);
  });

  it('fills an array with what drawing one after the other gives, and goes on from there', () => {
    const [one, other] = [new Prng('00fe'), new Prng('00fe')];
    for (const length of [1, 0, 7, 100]) {
      const out = new Uint32Array(length);
      other.fill(out);
      expect([...out]).toEqual(Array.from({ length }, () => one.u32()));
    }
    expect(other.next()).toBe(one.next());
  });

  it('steps as xoshiro128** does', () => {
    // Reference values: the generator's published recurrence in BigInt, independent of the 32-bit tricks of the module.
    const mask = 0xffffffffn;
    const rot = (x: bigint, k: bigint) => ((x << k) | (x >> (32n - k))) & mask;
    const prng = new Prng('00ff');
    const { a, b, c, d } = prng as unknown as Record<'a' | 'b' | 'c' | 'd', number>;
    const state = [a, b, c, d].map((word) => BigInt(word >>> 0)) as [bigint, bigint, bigint, bigint];
    for (let i = 0; i < 1000; i++) {
      const want = (rot((state[1] * 5n) & mask, 7n) * 9n) & mask;
      const t = (state[1] << 9n) & mask;
      state[2] ^= state[0];
      state[3] ^= state[1];
      state[1] ^= state[2];
      state[0] ^= state[3];
      state[2] ^= t;
      state[3] = rot(state[3], 11n);
      expect(BigInt(prng.u32())).toBe(want);
    }
  });

  it('draws integers uniformly with both ends', () => {
    const prng = new Prng('1234');
    const counts = new Array<number>(7).fill(0);
    for (let i = 0; i < 70_000; i++) {
      const k = prng.int(-3, 3) + 3;
      counts[k] = (counts[k] ?? 0) + 1;
    }
    // chi-square with 6 degrees of freedom: 22.5 is the 0.1 % point
    expect(counts.reduce((sum, n) => sum + (n - 10_000) ** 2 / 10_000, 0)).toBeLessThan(22.5);
    const reals = Array.from({ length: 1000 }, () => prng.next());
    expect(Math.min(...reals)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...reals)).toBeLessThan(1);
    expect(() => prng.int(2, 1)).toThrow(RangeError);
  });

  it('shuffles the same way from the same seed, without loss', () => {
    const items = Array.from({ length: 50 }, (_, i) => i);
    const a = new Prng('77').shuffle(items);
    expect(a).toEqual(new Prng('77').shuffle(items));
    expect(a).not.toEqual(items);
    expect([...a].sort((x, y) => x - y)).toEqual(items);
  });
});

describe('paths', () => {
  it('puts everything under CUDAMASTER_HOME', () => {
    process.env.CUDAMASTER_HOME = join(dir, 'home');
    expect(dataDir()).toBe(join(dir, 'home', 'data'));
    expect(cacheDir()).toBe(join(dir, 'home', 'cache'));
    expect(configDir()).toBe(join(dir, 'home', 'config'));
    expect(existsSync(dataDir())).toBe(true);
  });

  it('names a folder that cannot be made', () => {
    writeFileSync(join(dir, 'file'), 'x');
    process.env.CUDAMASTER_HOME = join(dir, 'file', 'below');
    try {
      dataDir();
      expect.unreachable();
    } catch (fault) {
      expect(fault).toBeInstanceOf(AppFailure);
      expect((fault as AppFailure).error.code).toBe('env.not-writable');
      expect((fault as AppFailure).error.message).toContain(join(dir, 'file', 'below', 'data'));
    }
  });

  it('makes short private scratch folders and sweeps those of dead processes', async () => {
    const mine = scratchDir();
    expect(Buffer.byteLength(join(mine, 'x'.repeat(40)))).toBeLessThanOrEqual(107);
    expect(statSync(mine).mode & 0o777).toBe(0o700);
    const url = new URL('../../main/base/paths.ts', import.meta.url).href;
    const file = join(dir, 'crash.mts');
    writeFileSync(
      file,
      `import { scratchDir } from ${JSON.stringify(url)}; console.log(scratchDir()); process.kill(process.pid, 'SIGKILL');`,
    );
    const crashed = await run([process.execPath, file], {
      cwd: dir,
      env: { PATH: '/usr/bin:/bin' },
      wallMs: 20_000,
      memoryMiB: null,
      outputBytes: 1000,
    });
    const left = crashed.stdout.trim();
    expect(existsSync(left)).toBe(true);
    expect(sweepScratch()).toBeGreaterThanOrEqual(1);
    expect(existsSync(left)).toBe(false);
    expect(existsSync(mine)).toBe(true);
    removeScratch(mine);
    expect(existsSync(mine)).toBe(false);
    expect(existsSync(`${mine}.own`)).toBe(false);
  });
});

describe('env', () => {
  const source = {
    PATH: '/usr/bin',
    HOME: '/home/u',
    LANG: 'de_DE.UTF-8',
    OPENAI_API_KEY: 'sk-aaaaaaaaaaaaaaaaaaaa',
    HF_TOKEN: 'hf_aaaaaaaaaaaaaaaaaaaaaaaa',
    AWS_SECRET_ACCESS_KEY: 'zzz',
    MY_SETTING: 'the-registered-secret-value inside',
    CUDA_VISIBLE_DEVICES: '1',
    PLAIN: 'yes',
  };

  it('passes what is allowed and always sets temporary folders', () => {
    const env = allowedEnv(['PLAIN'], { EXTRA: '1' }, source, '/t');
    expect(env).toEqual({
      PATH: '/usr/bin',
      HOME: '/home/u',
      LANG: 'C.UTF-8',
      LC_ALL: 'C.UTF-8',
      CUDA_VISIBLE_DEVICES: '1',
      PLAIN: 'yes',
      TMPDIR: '/t',
      TMP: '/t',
      TEMP: '/t',
      EXTRA: '1',
    });
  });

  it('never passes keys, even when asked for by name', () => {
    registerSecret('the-registered-secret-value');
    const env = allowedEnv(Object.keys(source), {}, source, '/t');
    for (const name of ['OPENAI_API_KEY', 'HF_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'MY_SETTING'])
      expect(env).not.toHaveProperty(name);
    expect(() => allowedEnv([], { DEEPSEEK_API_KEY: 'x' }, source, '/t')).toThrow(AppFailure);
    expect(() => allowedEnv([], { HARMLESS: 'the-registered-secret-value' }, source, '/t')).toThrow(AppFailure);
  });

  it('tells key names from others', () => {
    for (const name of ['OPENAI_API_KEY', 'GITHUB_TOKEN', 'DB_PASSWORD', 'X_AUTH', 'SSH_AUTH_SOCK', 'apikey'])
      expect(isSecretName(name), name).toBe(true);
    for (const name of ['PATH', 'KEYBOARD', 'CUDA_HOME', 'AUTHOR', 'XDG_DATA_HOME', 'MONKEY'])
      expect(isSecretName(name), name).toBe(false);
  });
});

describe('redaction and log', () => {
  it('removes registered values and key shapes', () => {
    registerSecret('p4ss/w0rd+x');
    const text = redact(
      'a p4ss/w0rd+x b p4ss%2Fw0rd%2Bx c sk-proj-ABCDEFGH12345678 Authorization: Bearer abcdef123456 api_key=qwertyuiop "api_key": "zxcvbnm1" https://u:hunter2@host/',
    );
    for (const left of ['p4ss/w0rd', 'p4ss%2F', 'ABCDEFGH', 'abcdef123456', 'qwertyuiop', 'zxcvbnm1', 'hunter2'])
      expect(text).not.toContain(left);
    expect(redact('kernel_optimized<<<g, b>>>(x); risk-free mask-based')).toBe(
      'kernel_optimized<<<g, b>>>(x); risk-free mask-based',
    );
    expect(redactDeep({ headers: { authorization_token: 'zzzz1' }, list: ['Bearer aaaaaaaaaa'] })).toEqual({
      headers: { authorization_token: '[redacted]' },
      list: ['Bearer [redacted]'],
    });
  });

  it('writes redacted JSON lines at or above its level', () => {
    const file = join(dir, 'log');
    const seen: string[] = [];
    const log = createLogger({ file, level: 'info', echo: (_, line) => seen.push(line) });
    log.debug('hidden');
    log.info('key sk-ABCDEFGH12345678', { n: 1, fault: new Error('with Bearer abcdefgh1234') });
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    expect(lines).toHaveLength(1);
    const entry = JSON.parse(lines[0] ?? '');
    expect(entry).toMatchObject({ level: 'info', n: 1, message: 'key sk-[redacted]' });
    expect(entry.fault).toContain('Error: with Bearer [redacted]');
    expect(seen).toEqual(['key sk-[redacted]']);
  });

  it('does not fail when the log cannot be written', () => {
    createLogger({ file: join(dir, 'no', 'such', 'folder') }).error('x');
  });
});

describe('files', () => {
  it('replaces a file as a whole', async () => {
    const path = join(dir, 'sub', 'a.json');
    await writeFileAtomic(path, 'one');
    await writeFileAtomic(path, 'two');
    expect(readFileSync(path, 'utf8')).toBe('two');
    expect(readdirSync(join(dir, 'sub'))).toEqual(['a.json']);
    expect(await sha256File(path)).toBe(sha256Hex('two'));
  });

  it('names the cause: full disk, not writable', async () => {
    expect(fileFault(Object.assign(new Error('x'), { code: 'ENOSPC' }), '/p', 'Writing').error.code).toBe(
      'env.disk-full',
    );
    // /dev/full answers every write with ENOSPC: a real full disk.
    const { open } = await import('node:fs/promises');
    const full = await open('/dev/full', 'w');
    const fault = await full.writeFile('x').catch((e: unknown) => e);
    await full.close().catch(() => undefined);
    expect(fileFault(fault, '/dev/full', 'Writing').error).toMatchObject({ code: 'env.disk-full' });
    writeFileSync(join(dir, 'f'), '');
    await expect(writeFileAtomic(join(dir, 'f', 'x'), 'y')).rejects.toMatchObject({
      error: { code: 'env.not-writable' },
    });
  });

  it('stores content by hash and notices damage', async () => {
    const store = new ContentStore(join(dir, 'store'));
    const hash = await store.put('content');
    expect(await store.put('content')).toBe(hash);
    expect(await store.text(hash)).toBe('content');
    expect(await store.get('0'.repeat(64))).toBe(null);
    expect(() => store.path('../../etc')).toThrow(TypeError);
    const listed = [];
    for await (const item of store.list()) listed.push(item);
    expect(listed).toMatchObject([{ hash, bytes: 7 }]);
    chmodSync(store.path(hash), 0o600);
    writeFileSync(store.path(hash), 'changed');
    await expect(store.get(hash)).rejects.toMatchObject({ error: { code: 'store.corrupt' } });
    await store.remove(hash);
    expect(await store.has(hash)).toBe(false);
    mkdirSync(join(dir, 'store', 'zz'), { recursive: true });
  });
});

it('a folder that can never be made is refused at once; several at a time make the same one', async () => {
  const { ensureDir } = await import('../../main/base/paths.ts');
  for (const dir of ['/proc/nowhere/a/b', '/dev/null/a'])
    expect(() => ensureDir(dir)).toThrow(`The folder ${dir} cannot be written.`);
  const root = mkdtempSync(join(tmpdir(), 'cm-dirs-'));
  const made = await Promise.all([1, 2, 3].map(async () => ensureDir(join(root, 'a/b/c'))));
  expect(new Set(made)).toEqual(new Set([join(root, 'a/b/c')]));
});
