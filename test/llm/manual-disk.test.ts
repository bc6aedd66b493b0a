/** The manual provider on a disk that is really full: a file system of 64 KB, in a mount namespace of its own. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { ChatRequest } from '../../main/contract/index.ts';
import { manualProvider } from '../../main/llm/index.ts';
import { root } from '../app/lab.ts';

const request: ChatRequest = {
  agent: 'planner',
  messages: [{ role: 'user', content: 'why? '.repeat(4000) }],
  maxTokens: 100,
};

it('says that the disk is full, leaves nothing half-written, and goes on when there is space again', () => {
  const work = mkdtempSync(join(tmpdir(), 'cm-manual-disk-'));
  onTestFinished(() => rmSync(work, { recursive: true, force: true }));
  const disk = join(work, 'disk');
  mkdirSync(disk);
  const script = join(work, 'script.mts');
  writeFileSync(
    script,
    `import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { giveAnswer, manualProvider } from ${JSON.stringify(join(root, 'main/llm/index.ts'))};
const dir = ${JSON.stringify(join(disk, 'chat'))};
const ballast = ${JSON.stringify(join(disk, 'ballast'))};
const said = [];
const fill = () => { for (const size of [60000, 4096, 4096, 4096, 4096]) try { writeFileSync(ballast + Math.random(), 'x'.repeat(size)); } catch {} };
const free = () => { for (const name of readdirSync(${JSON.stringify(disk)})) if (name.startsWith('ballast')) rmSync(${JSON.stringify(`${disk}/`)} + name); };
const ask = async () => manualProvider({ dir }).chat(${JSON.stringify(request)}, { position: 'r1.planner' });
const tell = (what, result) => said.push([what, result.ok ? (result.value.kind ?? 'ok') : result.error.code, readdirSync(${JSON.stringify(disk)}).includes('chat') ? readdirSync(dir).sort() : []]);
fill();
tell('full', await ask());
free();
tell('freed', await ask());
fill();
tell('answer', await giveAnswer(dir, 'r1.planner', 'because '.repeat(3000)));
free();
tell('answer freed', await giveAnswer(dir, 'r1.planner', 'because'));
tell('done', await ask());
console.log(JSON.stringify(said));
`,
  );
  const sandbox = ['--bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--size', '65536', '--tmpfs', disk];
  const out = execFileSync('bwrap', [...sandbox, process.execPath, script], { encoding: 'utf8' });
  const prompt = '001-r1.planner.prompt.md';
  expect(JSON.parse(out)).toEqual([
    ['full', 'env.disk-full', []],
    ['freed', 'parked', [prompt]],
    ['answer', 'env.disk-full', [prompt]],
    ['answer freed', 'ok', ['001-r1.planner.answer.md', prompt]],
    ['done', 'done', ['001-r1.planner.answer.md', prompt]],
  ]);
}, 60_000);

it('says that its folder cannot be made where a file lies in its way', async () => {
  const work = mkdtempSync(join(tmpdir(), 'cm-manual-file-'));
  onTestFinished(() => rmSync(work, { recursive: true, force: true }));
  writeFileSync(join(work, 'file'), '');
  const result = await manualProvider({ dir: join(work, 'file', 'chat') }).chat(request, { position: 'r1.planner' });
  expect(result).toMatchObject({ ok: false, error: { code: 'env.not-writable', remedy: expect.any(String) } });
});
