import { describe, expect, it } from 'vitest';
import { redact } from '../../main/base/redact.ts';

/** Processor time: a tenth of this on an idle machine; a quadratic search takes many seconds on any. */
const QUICK_MS = 1_500;

describe('redaction of long texts', () => {
  it.each([
    ['one letter', 'a'],
    ['digits and dots', '1.'],
    ['words with dashes', 'ab-'],
    ['scheme after scheme', 'a://'],
    ['user after user', 'a://b:'],
    ['token beginnings', 'eyJaaaaaaaa-'],
    ['key names', 'secret '],
    ['token beginnings with a dot', 'eyJaaaaaaaa.aaaaaaaa-'],
    ['private key beginnings', '-----BEGIN PRIVATE KEY-----'],
    ['spaces', ' '],
    ['key name and spaces', `secret${' '.repeat(40)}`],
  ])('%s', (_, part) => {
    const text = part.repeat(Math.ceil(200_000 / part.length));
    // Not wall time: on a busy machine that says how busy it is.
    const before = process.cpuUsage();
    redact(text);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(QUICK_MS);
  });

  it('finds a key behind a long word', () => {
    const long = 'x'.repeat(40_000);
    expect(redact(`${long} https://user:hunter2@host/ ${long}`)).toBe(`${long} https://user:[redacted]@host/ ${long}`);
    expect(redact(`${long}://user:hunter2@host`)).toBe(`${long}://user:[redacted]@host`);
  });
});

describe('redaction of keys and not of code', () => {
  it.each([
    'for (int i = sk-first_offset; i < n; ++i) pk-row_start;',
    'const int rk-lane_count = 4;',
    'at http://127.0.0.1:8080/v1/models and user@host',
    'dims: N=65536 loss off by 210 times the limit',
  ])('leaves %s', (text) => {
    expect(redact(text)).toBe(text);
  });

  it.each([
    ['sk-ABCDEFGH12345678', 'sk-[redacted]'],
    ['sk-proj-abc_DEF-123456789', 'sk-[redacted]'],
    ['redis://:hunter2@cache:6379', 'redis://:[redacted]@cache:6379'],
    [`https://u:${'p'.repeat(256)}@h`, 'https://u:[redacted]@h'],
    [`-----BEGIN RSA PRIVATE KEY-----\n${'MIIE'.repeat(3000)}\n-----END RSA PRIVATE KEY-----`, '[private key]'],
  ])('removes %.40s', (text, left) => {
    expect(redact(text)).toBe(left);
  });
});
