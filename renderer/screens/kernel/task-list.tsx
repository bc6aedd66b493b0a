import { useMemo, useState } from 'react';
import { useQuery } from '../../api/client.ts';
import { go } from '../../app/navigation.ts';
import { hrefOf } from '../../app/routes.ts';
import { Button } from '../../ui/controls.tsx';
import { Empty, ErrorBox, Loading } from '../../ui/feedback.tsx';
import { categoryName } from '../../ui/format.ts';
import { categoriesOf, type KernelAddress, type TaskGroup, taskGroups } from './model.ts';

/** Every task by category, with search; a task that cannot be loaded says why. */
export function TaskList({ current }: { readonly current: KernelAddress }) {
  const { data, error, loading } = useQuery('tasks.list', {}, ['tasks']);
  const [query, setQuery] = useState('');
  const [category, setCategory] = useState('');
  const entries = data ?? [];
  const groups = useMemo(() => taskGroups(data ?? [], query, category), [data, query, category]);
  const categories = useMemo(() => categoriesOf(data ?? []), [data]);
  return (
    <nav className="task-list" aria-label="Kernels">
      <div className="task-search">
        <input
          className="input"
          type="search"
          aria-label="Search kernels"
          placeholder="Search kernels"
          value={query}
          spellCheck={false}
          onChange={(e) => setQuery(e.target.value)}
        />
        <select
          className="input select"
          aria-label="Category"
          value={category}
          onChange={(e) => setCategory(e.target.value)}
        >
          <option value="">All categories</option>
          {categories.map((name) => (
            <option key={name} value={name}>
              {categoryName(name)}
            </option>
          ))}
        </select>
        <Button icon="plus" onClick={() => go('newtask')}>
          Your own kernel
        </Button>
      </div>
      {loading && <Loading what="kernels" />}
      {error !== null && <ErrorBox error={error} />}
      {data !== null && groups.length === 0 && (
        <Empty title={entries.length === 0 ? 'There are no tasks.' : 'No kernel matches.'} />
      )}
      <ul className="task-groups">
        {groups.map((group, i) => (
          <Group key={group.id} group={group} heading={groups[i - 1]?.category !== group.category} current={current} />
        ))}
      </ul>
    </nav>
  );
}

function Group({
  group,
  heading,
  current,
}: {
  readonly group: TaskGroup;
  readonly heading: boolean;
  readonly current: KernelAddress;
}) {
  const on = current.kind === 'task' && current.task === group.id;
  return (
    <li>
      {heading && <h2 className="task-category">{categoryName(group.category)}</h2>}
      <div className={`task-item${on ? ' task-on' : ''}`}>
        <span className="task-name" title={group.fault ?? group.title}>
          {group.id}
          {group.fault !== null && <span className="task-fault"> {group.fault}</span>}
        </span>
        {group.fault !== null && group.own && (
          <a className="task-dtype" href={hrefOf('newtask', [group.id])} aria-label={`Mend ${group.id}`}>
            mend
          </a>
        )}
        {group.fault === null &&
          group.entries.map(({ dtype }) => (
            <a
              key={dtype}
              className="task-dtype"
              href={hrefOf('kernel', [group.id, dtype])}
              aria-label={`${group.id} ${dtype}`}
              aria-current={on && current.kind === 'task' && current.dtype === dtype ? 'page' : undefined}
            >
              {dtype}
            </a>
          ))}
      </div>
    </li>
  );
}
