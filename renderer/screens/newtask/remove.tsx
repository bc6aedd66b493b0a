import { type ReactNode, useCallback, useState } from 'react';
import { useApi } from '../../api/client.ts';
import { go } from '../../app/navigation.ts';
import { toast, toastError } from '../../state/shell.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { useTasks } from './store.ts';

/** Takes a task of the user's own out of the list, after a question. `dialog` has to be shown. */
export function useRemoveTask(task: string): { readonly ask: () => void; readonly dialog: ReactNode } {
  const api = useApi();
  const [asking, setAsking] = useState(false);
  const remove = async () => {
    const answer = await api.call('tasks.remove', { task });
    if (!answer.ok) return toastError(answer.error);
    useTasks.getState().discard(task);
    toast(`${task} is out of the list.`, { detail: `Its files are kept in ${answer.value.kept}` });
    go('kernel');
  };
  const dialog = asking && (
    <Confirm title={`Remove ${task}?`} action="Remove" onConfirm={() => void remove()} onClose={() => setAsking(false)}>
      <p>It leaves the list of kernels. Its files are kept aside, and what was measured stays in the history.</p>
    </Confirm>
  );
  const ask = useCallback(() => setAsking(true), []);
  return { ask, dialog };
}
