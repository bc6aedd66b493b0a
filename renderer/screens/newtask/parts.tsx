import { Button, Spinner } from '../../ui/controls.tsx';
import { ErrorBox } from '../../ui/feedback.tsx';
import type { Check } from './store.ts';

/** A check under way, with its way out; or why it failed, where that is about no file. */
export function CheckState({ check }: { readonly check: Check | undefined }) {
  if (check === undefined) return null;
  if (check.error !== null)
    return check.error.at === undefined ? (
      <div className="check-state">
        <ErrorBox error={check.error} />
      </div>
    ) : null;
  return (
    <div className="check-state callout tone-info" role="status">
      <Spinner />
      <div className="callout-body">
        <p>{check.note}</p>
        <p className="muted">You can go on elsewhere; what comes of it is told.</p>
      </div>
      <Button icon="stop" onClick={() => check.abort?.abort()}>
        Cancel
      </Button>
    </div>
  );
}
