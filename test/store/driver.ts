/**
 * A driver process for the tests: drives a small scripted run and writes what it executes, one line a time. With "hang" it
 * starts a process group inside the step named and waits there to be killed.
 * Usage: node driver.ts FOLDER RUN|new HANG-POSITION|-
 */
import { spawn } from 'node:child_process';
import { newRootSeed } from '../../main/base/random.ts';
import { startTimeOf } from '../../main/base/spawn.ts';
import type { StepRequest, StepResponse } from '../../main/contract/index.ts';
import { Store } from '../../main/store/index.ts';
import { chatRequest, chatResponse, config, jobRequest, jobResult, newRun } from './samples.ts';

const [folder = '', which = 'new', hangAt = '-'] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);

const store = await Store.open(folder);
const environment = { gpu: 'G2', driver: '580.1', toolkit: '13.0', harness: 'h1' };
const driven =
  which === 'new' ? await store.begin(newRun()) : await store.resume(await store.find(which), environment, true);
say(`run ${driven.id}`);

const script: [string, StepRequest, () => StepResponse][] = [
  ['r0.baseline', jobRequest, () => ({ kind: 'job', result: jobResult('baseline') })],
  ['r1.planner', chatRequest('plan'), () => chatResponse('scheme')],
  ['r1.a0.coder', chatRequest('code'), () => chatResponse('x'.repeat(40_000))],
  ['r1.a0.eval', jobRequest, () => ({ kind: 'job', result: jobResult('eval') })],
];

await driven.log.event('start', {
  type: 'run-started',
  rootSeed: newRootSeed(),
  config,
  originSource: 'int main;',
  programVersion: '0.1.0',
});
for (const [position, request, respond] of script) {
  await driven.log.step(position, request, async () => {
    say(`execute ${position}`);
    if (position === hangAt) {
      // A group of its own that outlives us, as a GPU job may.
      const child = spawn('/bin/sleep', ['300'], { detached: true, stdio: 'ignore' });
      const pid = child.pid ?? 0;
      driven.log.processStarted(position, pid, startTimeOf(pid) ?? '');
      // Any transaction after it: then the row above is stored.
      await driven.log.event(`note:${position}`, { type: 'notice', position, message: 'hanging' });
      say(`child ${pid}`);
      await new Promise((r) => child.once('exit', r));
    }
    return { kind: 'done', response: respond() };
  });
  await driven.log.event(`after:${position}`, { type: 'notice', position, message: 'done' });
}
await driven.log.event('end', { type: 'run-ended', status: 'done', error: null });
await driven.release();
await store.close();
say('finished');
