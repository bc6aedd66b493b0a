import { PassThrough } from 'node:stream';
import { environmentOf } from '../../main/app/machine.ts';
import type { Session } from '../../main/cli/answers.ts';
import { Printer } from '../../main/cli/output.ts';
import type { Executor, JobBundle, JobResult } from '../../main/contract/index.ts';
import { createHost } from '../../main/host/index.ts';
import { machine, resultFor, root } from './lab.ts';

/** The engine with the laboratory in the place of the GPU, and a command line whose output is kept. */
export function commandLine(json: boolean, resultOf: (bundle: JobBundle) => JobResult = resultFor) {
  const executor: Executor = {
    name: 'local',
    execute: async (bundle) => ({ kind: 'done', result: resultOf(bundle) }),
  };
  const host = createHost({
    root,
    openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor }),
  });
  const written: string[] = [];
  const stream = () => {
    const s = new PassThrough();
    s.on('data', (text: Buffer) => written.push(text.toString('utf8')));
    return s;
  };
  const printer = new Printer({
    stdout: stream(),
    stderr: stream(),
    live: false,
    color: { stdout: false, stderr: false },
  });
  const session: Session = { host, printer, json, signal: new AbortController().signal };
  return { session, text: () => written.join('') };
}
