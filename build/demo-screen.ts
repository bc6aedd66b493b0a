/**
 * docs/screens/demo.png: what `npm run demo` prints, as a picture for the README.
 * Usage: node build/demo-screen.ts (needs a built dist/ and a Chromium; CHROMIUM names another one)
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'cm-screen-'));
const demo = spawnSync(process.execPath, [join(root, 'dist/cudamaster.js'), 'demo'], {
  encoding: 'utf8',
  env: { PATH: process.env.PATH, HOME: folder, COLUMNS: '150' },
});
if (demo.status !== 0) throw new Error(`demo ended with ${demo.status}: ${demo.stderr}`);
const cut = (line: string): string => (line.length > 150 ? `${line.slice(0, 149)}…` : line);
const progress = demo.stderr.trimEnd().split('\n');
// The schemes are long; the picture shows the last round's verdict and figures.
const report = demo.stdout.split('\n');
const last = report.findLastIndex((line) => line.startsWith('  attempt '));
const errors = report.findIndex((line) => line.startsWith('  its errors'));
const end = report.slice(last, errors < 0 ? undefined : errors).filter((line) => !/^(files|history):/.test(line));
const text = ['$ npm run demo', '', ...progress, '', '…', ...end].map(cut).join('\n').trimEnd();
const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const page = join(folder, 'demo.html');
writeFileSync(
  page,
  `<!doctype html><meta charset="utf-8"><style>body{margin:0;background:#14171c;color:#d5dae2;padding:18px 22px}
pre{font:13px/1.5 "DejaVu Sans Mono",monospace;margin:0;white-space:pre}</style><pre>${escaped}</pre>`,
);
mkdirSync(join(root, 'docs/screens'), { recursive: true });
const height = 60 + Math.ceil(text.split('\n').length * 19.5);
const shot = spawnSync(
  process.env.CHROMIUM ?? 'chromium',
  [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--hide-scrollbars',
    `--user-data-dir=${folder}/profile`,
    `--window-size=1260,${height}`,
    `--screenshot=${join(root, 'docs/screens/demo.png')}`,
    `file://${page}`,
  ],
  { encoding: 'utf8' },
);
rmSync(folder, { recursive: true, force: true });
if (shot.status !== 0) throw new Error(shot.stderr);
console.log(`docs/screens/demo.png, 1260 x ${height}`);
