import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import type { VersionRow } from '../../../main/contract/api.ts';
import { useApi } from '../../api/client.ts';

import { toast, toastError } from '../../state/shell.ts';
import { saveFile } from '../../ui/download.ts';

export interface Edit {
  readonly note?: string;
  readonly pinned?: boolean;
  readonly deleted?: boolean;
}

export interface Actions {
  edit(row: VersionRow, edit: Edit): Promise<boolean>;
  /** Into the bin, with a way back for a while. */
  remove(row: VersionRow): void;
  restore(row: VersionRow): void;
  exportZip(row: VersionRow): void;
  /** Version whose note is being written in the table. */
  readonly editing: string | null;
  setEditing(id: string | null): void;
}

const ActionsContext = createContext<Actions | null>(null);
export const ActionsProvider = ActionsContext.Provider;

export function useActions(): Actions {
  const actions = useContext(ActionsContext);
  if (actions === null) throw new Error('useActions outside of ActionsProvider');
  return actions;
}

/**
 * Rows with what was just changed already in them, and the changes themselves. What the engine refuses is taken back and told;
 * its next list takes the place of what was only promised.
 */
export function useVersionActions(listed: readonly VersionRow[] | null): {
  rows: readonly VersionRow[];
  actions: Actions;
} {
  const api = useApi();
  const [promised, setPromised] = useState<ReadonlyMap<string, Partial<VersionRow>>>(new Map());
  const [editing, setEditing] = useState<string | null>(null);
  const open = useRef(0);
  useEffect(() => {
    if (listed !== null && open.current === 0) setPromised((p) => (p.size === 0 ? p : new Map()));
  }, [listed]);

  const edit = useCallback(
    async (row: VersionRow, change: Edit): Promise<boolean> => {
      const { deleted, ...rest } = change;
      const promise = {
        ...rest,
        ...(deleted === undefined ? {} : { deletedAt: deleted ? new Date().toISOString() : null }),
      };
      setPromised((p) => new Map(p).set(row.id, { ...p.get(row.id), ...promise }));
      open.current += 1;
      const result = await api.call('versions.edit', { version: row.id, ...change });
      open.current -= 1;
      if (result.ok) return true;
      setPromised((p) => {
        const next = new Map(p);
        next.delete(row.id);
        return next;
      });
      toastError(result.error);
      return false;
    },
    [api],
  );

  const restore = useCallback(
    async (row: VersionRow) => {
      if (await edit(row, { deleted: false })) toast(`${row.id} is back.`, { tone: 'good' });
    },
    [edit],
  );
  const remove = useCallback(
    async (row: VersionRow) => {
      if (await edit(row, { deleted: true }))
        toast(`${row.id} is in the bin.`, {
          detail: 'Nothing of its run is lost.',
          undo: () => void edit(row, { deleted: false }),
        });
    },
    [edit],
  );
  const exportZip = useCallback(
    async (row: VersionRow) => {
      const result = await api.call('versions.export', { version: row.id });
      if (!result.ok) return toastError(result.error);
      saveFile(result.value.name, result.value.base64, 'application/zip');
      toast(`${result.value.name} is saved.`, { tone: 'good', detail: `SHA-256 ${result.value.sha256}` });
    },
    [api],
  );

  const actions = useMemo<Actions>(
    () => ({ edit, remove, restore, exportZip, editing, setEditing }),
    [edit, remove, restore, exportZip, editing],
  );
  const rows = useMemo(
    () =>
      promised.size === 0
        ? (listed ?? [])
        : (listed ?? []).map((r) => {
            const change = promised.get(r.id);
            return change === undefined ? r : { ...r, ...change };
          }),
    [listed, promised],
  );
  return { rows, actions };
}
