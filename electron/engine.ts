/**
 * The engine in its own process (Electron's utilityProcess): a fault in it takes no window along, and long work holds up no screen.
 * It is told where things lie, and is given one message port for each client.
 */
import { registerSecret } from '../main/base/redact.ts';
import { attachPort, createHost, type Host, type Port } from '../main/host/index.ts';
import { engineMessageSchema } from './engine-messages.ts';

const env: NodeJS.ProcessEnv = { ...process.env };
const given = new Set<string>();
let host: Host | null = null;

/** Keys that were taken away are those of the process again, or none. */
function takeKeys(keys: Readonly<Record<string, string>>): void {
  for (const name of given) {
    if (process.env[name] === undefined) delete env[name];
    else env[name] = process.env[name];
  }
  given.clear();
  for (const [name, value] of Object.entries(keys)) {
    registerSecret(value);
    env[name] = value;
    given.add(name);
  }
}

process.parentPort.on('message', (event: { data: unknown; ports: Port[] }) => {
  const message = engineMessageSchema.parse(event.data);
  if (message.type === 'start') {
    takeKeys(message.keys);
    host = createHost({ root: message.root, env, door: 'electron' });
  } else if (message.type === 'keys') takeKeys(message.keys);
  else if (message.type === 'connect') {
    const port = event.ports[0];
    if (host && port) attachPort(host.connect, port);
  } else
    void (host?.close() ?? Promise.resolve()).then(
      () => process.exit(0),
      (fault: unknown) => {
        console.error(fault);
        process.exit(1);
      },
    );
});
