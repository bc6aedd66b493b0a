import { Button } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';

interface Props {
  readonly hosts: readonly {
    readonly host: string;
    readonly disclosure: string | null;
    readonly providers: readonly string[];
  }[];
  /** What follows an agreement. */
  readonly then?: string;
  readonly onAgree: (hosts: readonly string[]) => void;
  readonly onClose: () => void;
}

/** Before the first request to a remote host: what is sent there and what not. Asked once per host. */
export function ConsentDialog({ hosts, then = 'start the run', onAgree, onClose }: Props) {
  return (
    <Dialog
      title="Prompts will leave this machine"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Do not send</Button>
          <Button
            tone="primary"
            onClick={() => {
              onClose();
              onAgree(hosts.map((h) => h.host));
            }}
          >
            I agree: {then}
          </Button>
        </>
      }
    >
      {hosts.map((h) => (
        <section key={h.host} className="consent">
          <h3>
            To <span className="mono">{h.host}</span> ({h.providers.join(', ')})
          </h3>
          {h.disclosure === null ? (
            <p>
              Prompts: the task’s description, the kernel’s source, profiler figures, compiler and test messages, your
              notes, GPU model and toolkit version.
            </p>
          ) : (
            <p>{h.disclosure}</p>
          )}
        </section>
      ))}
      <p className="muted">
        You are asked once per host. “Local only” in the settings blocks every connection that leaves this machine.
      </p>
    </Dialog>
  );
}
