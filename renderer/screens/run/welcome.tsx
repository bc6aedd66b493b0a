import type { RunRow } from '../../../main/contract/api.ts';
import { go } from '../../app/navigation.ts';
import { hrefOf } from '../../app/routes.ts';
import { Button } from '../../ui/controls.tsx';
import { Panel } from '../../ui/panels.tsx';
import { Queue } from './queue.tsx';
import { Recordings } from './recordings.tsx';

/** No run is chosen: start one, watch a recorded one, see who has the GPUs. */
export function Welcome({ runs }: { readonly runs: readonly RunRow[] | null }) {
  const none = runs !== null && runs.length === 0;
  return (
    <div className="page">
      <h1>{none ? 'No run yet' : 'Choose a run, or start one'}</h1>
      <div className="page-columns">
        <Panel
          title="Optimise a kernel"
          actions={
            <Button tone="primary" icon="plus" onClick={() => go('run', ['new'])}>
              New run
            </Button>
          }
        >
          <p>
            Four agents profile the kernel, name its bottleneck and rewrite it round by round. A rewrite counts only
            when it is proven right and confirmed faster in fresh processes.
          </p>
          <p>
            It may be one of yours: <a href={hrefOf('newtask')}>bring your own kernel</a>.
          </p>
        </Panel>
        <Panel title="GPUs and who uses them">
          <Queue />
        </Panel>
      </div>
      <Panel title="Watch a recorded run: no GPU, model or network needed">
        <Recordings />
      </Panel>
    </div>
  );
}
