import { useCallback, useState } from 'react';
import type { OwnTaskTexts } from '../../../main/contract/own-task.ts';
import { useApi } from '../../api/client.ts';
import { go } from '../../app/navigation.ts';
import { parseRoute } from '../../app/routes.ts';
import { toastError } from '../../state/shell.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { dtypeIn, idIn } from './model.ts';
import { checkAndAdd, useTasks } from './store.ts';

interface Question {
  readonly id: string;
  replace(): void;
}

/**
 * Checks files and takes them in. Where another task of the user's has that id, it is asked first. When it is done, this screen is
 * still shown and nothing else was written on it meanwhile, the task is opened.
 * @param task that is changed; '' for a new one.
 */
export function useAdding(task: string): {
  add(files: OwnTaskTexts): void;
  readonly question: Question | null;
  close(): void;
} {
  const api = useApi();
  const [question, setQuestion] = useState<Question | null>(null);
  const begin = useCallback(
    async (files: OwnTaskTexts, replace: boolean) => {
      const added = await checkAndAdd(api, task, files, replace);
      const { screen, path } = parseRoute(window.location.hash);
      const here = screen === 'newtask' && (path[0] ?? '') === task;
      // What was written meanwhile is not left behind.
      if (added !== null && !added.newer && here) go('kernel', [added.task, dtypeIn(files)]);
      const error = useTasks.getState().checks[task]?.error;
      if (added === null && error && !here) toastError(error);
    },
    [api, task],
  );
  const ask = useCallback(
    async (files: OwnTaskTexts) => {
      const id = idIn(files['task.json']);
      const list = await api.call('tasks.list', {});
      if (!list.ok) return toastError(list.error);
      const taken = list.value.some((entry) => entry.own === true && entry.id === id);
      if (id === null || !taken || id === task) void begin(files, taken);
      else setQuestion({ id, replace: () => void begin(files, true) });
    },
    [api, task, begin],
  );
  const add = useCallback((files: OwnTaskTexts) => void ask(files), [ask]);
  return { add, question, close: () => setQuestion(null) };
}

export function ReplaceQuestion({
  id,
  onReplace,
  onClose,
}: {
  readonly id: string;
  readonly onReplace: () => void;
  readonly onClose: () => void;
}) {
  return (
    <Confirm
      title={`Replace your task ${id}?`}
      action="Check and replace"
      tone="primary"
      onConfirm={onReplace}
      onClose={onClose}
    >
      <p>
        You have a task of this id. If the new one passes the checks, it takes its place; the former files are kept
        aside.
      </p>
    </Confirm>
  );
}
