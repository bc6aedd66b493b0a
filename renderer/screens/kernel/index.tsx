import { go } from '../../app/navigation.ts';
import type { ScreenProps } from '../../app/screens.tsx';
import { Button } from '../../ui/controls.tsx';
import { Empty } from '../../ui/feedback.tsx';
import { Splitter } from '../../ui/panels.tsx';
import { addressOf } from './model.ts';
import { TaskList } from './task-list.tsx';
import { TaskView } from './task-view.tsx';
import { VersionView } from './version-view.tsx';
import './kernel.css';

/** `#/kernel/softmax/bf16`: a task's kernel; `#/kernel/RUN:r1.a0`: a version of it, to read, change and evaluate. */
export default function Screen({ route }: ScreenProps) {
  const address = addressOf(route.path);
  return (
    <Splitter
      name="kernel.list"
      label="Width of the task list"
      initial={232}
      min={160}
      max={480}
      first={<TaskList current={address} />}
      second={
        address.kind === 'task' ? (
          <TaskView
            key={`${address.task} ${address.dtype}`}
            task={address.task}
            dtype={address.dtype}
            query={route.query}
          />
        ) : address.kind === 'version' ? (
          <VersionView key={address.version} version={address.version} query={route.query} />
        ) : (
          <Empty
            title="Choose a kernel at the left, or bring your own."
            action={
              <Button tone="primary" icon="plus" onClick={() => go('newtask')}>
                Your own kernel
              </Button>
            }
          >
            <p>
              Each has its source, sizes, baseline and the exact command that builds it; a copy can be changed and
              evaluated here.
            </p>
          </Empty>
        )
      }
    />
  );
}
