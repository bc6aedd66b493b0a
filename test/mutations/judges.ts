import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { judgeCompileArgs } from '../../main/jobs/session/shim.ts';
import { harness } from '../harness/build.ts';

const cxx = process.env.CXX ?? 'g++';
let version: string | null = null;

/** Everything that decides what the judge becomes: sources, the task's headers, arguments, compiler. */
function contentKey(dir: string, args: readonly string[]): string {
  version ??= execFileSync(cxx, ['--version'], { encoding: 'utf8' });
  const hash = createHash('sha256').update(version).update(args.join('\0'));
  for (const folder of [harness, dir])
    for (const name of readdirSync(folder).sort())
      if (/\.(h|cpp)$/.test(name)) hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest('hex').slice(0, 20);
}

async function make(task: string, dir: string): Promise<string> {
  const line = judgeCompileArgs({ task, source: join(harness, 'judge.cpp'), output: 'judge', include: dir });
  // -O1 takes a third off the compile time. Without fast-math and contraction the level does not change the arithmetic.
  const args = ['-I', harness, ...line.args.map((arg) => (arg === '-O3' ? '-O1' : arg))];
  const final = join(tmpdir(), `cudamaster-judge-${task}-${contentKey(dir, args)}`);
  if (existsSync(final)) return join(final, 'judge');
  const scratch = mkdtempSync(join(tmpdir(), 'cudamaster-build-'));
  await promisify(execFile)(cxx, args, { cwd: scratch, maxBuffer: 1 << 24 });
  try {
    renameSync(scratch, final);
  } catch {
    rmSync(scratch, { recursive: true, force: true }); // another process was faster
  }
  return join(final, 'judge');
}

const started = new Map<string, Promise<string>>();

/**
 * A task's judge, compiled once per content in a folder that all tests share.
 * @param dir the task's folder.
 * @returns path of the program; asking early starts the compiler early.
 */
export function taskJudge(task: string, dir: string): Promise<string> {
  const known = started.get(task);
  if (known) return known;
  const made = make(task, dir);
  made.catch(() => undefined); // reported where it is awaited
  started.set(task, made);
  return made;
}
