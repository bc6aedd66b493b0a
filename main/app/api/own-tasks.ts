import { statSync } from 'node:fs';
import { ownTasksDir } from '../../base/paths.ts';
import { addTaskTexts, draftView, ownTaskView } from '../own-task-texts.ts';
import { removeOwnTask } from '../own-tasks.ts';
import type { ApiContext, Handlers } from './context.ts';

type Methods = 'tasks.draft' | 'tasks.add' | 'tasks.files' | 'tasks.remove';

/** Changes when a task comes, goes or is replaced, whichever process does it: each is a rename in that folder. '': there is none. */
export function ownTasksMark(): string {
  return String(statSync(ownTasksDir(), { throwIfNoEntry: false })?.mtimeMs ?? '');
}

/** Tasks of the user's own, for screens: texts instead of files, no path from a client. */
export const ownTaskMethods = (api: ApiContext): Handlers<Methods> => ({
  'tasks.draft': async ({ source, options }) => draftView(api.app, source, options),
  'tasks.add': async (params, signal, tell) => {
    const emit = (event: { readonly type: string; readonly message?: string }): void => {
      if (event.type === 'notice' && event.message !== undefined) tell(event.message);
    };
    const added = await addTaskTexts(api.app, params, { signal, emit });
    api.changed('tasks');
    return added;
  },
  'tasks.files': ({ task }) => ownTaskView(api.app, task),
  'tasks.remove': async ({ task }) => {
    const removed = await removeOwnTask(api.app, { task });
    api.changed('tasks');
    return removed;
  },
});
