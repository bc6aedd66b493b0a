/**
 * A process that writes its own run into a history that others write too, and says each write once it is acknowledged.
 * Usage: node writer.mjs FOLDER COUNT
 */
import { Store } from '../../main/store/index.ts';
import { chatRequest, chatResponse, newRun } from '../store/samples.ts';

const [folder = '', count = '0'] = process.argv.slice(2);
const store = await Store.open(folder);
const run = await store.begin(newRun());
process.stdout.write(`run ${run.id}\n`);
for (let i = 0; i < Number(count); i++) {
  await run.log.event(`e${i}`, { type: 'round-started', round: i + 1 });
  process.stdout.write(`event e${i}\n`);
  // Long enough for a file of its own, the same for all processes.
  const text = `${i} `.repeat(i % 2 === 0 ? 10 : 9000);
  await run.log.step(`p${i}`, chatRequest(`${i}`), async () => ({ kind: 'done', response: chatResponse(text) }));
  process.stdout.write(`step p${i}\n`);
}
await run.release();
await store.close();
