/**
 * A process that drives a recorded run and is ended by kill -9 at a chosen commit of the history: `before` it is made (what was
 * done since the one before is not acknowledged) or `after` it (it is on disk, and nobody was told).
 * Usage: node victim.mjs ROOT FOLDER RECORDING before|after|never COMMIT. With `never` it prints its commits, a letter each: `s` for one
 * that ends a step, `.` for any other.
 */
import { z } from 'zod';
import { Connection } from '../../main/store/db/connection.ts';
import { driveRecorded, recordingOf } from './drive.ts';

// Writing a program for every schema does not pay for a process that lives for half a run.
z.config({ jitless: true });

const [root = '', folder = '', name = '', when = 'never', at = '0'] = process.argv.slice(2);

let commits = '';
let endsStep = false;
// Signs of life come by the clock: they are no point of the run.
let beat = false;
const real = Connection.prototype.run;
Connection.prototype.run = async function (sql, params) {
  if (sql.startsWith("UPDATE steps SET state = 'done'")) endsStep = true;
  if (sql.startsWith('UPDATE leases SET heartbeat_at')) beat = true;
  if (sql !== 'COMMIT') return real.call(this, sql, params);
  if (beat) {
    beat = false;
    return real.call(this, sql, params);
  }
  commits += endsStep ? 's' : '.';
  endsStep = false;
  const here = commits.length === Number(at);
  if (here && when === 'before') process.kill(process.pid, 'SIGKILL');
  const changed = await real.call(this, sql, params);
  if (here && when === 'after') process.kill(process.pid, 'SIGKILL');
  return changed;
};

await driveRecorded(root, folder, recordingOf(root, name));
process.stdout.write(commits);
