import type { VersionRow } from '../../../main/contract/api.ts';

/** One line of a drawn tree: versions of a kernel, each under the one it was made from. */
export interface LineageLine {
  readonly row: VersionRow;
  readonly depth: number;
  /** For each level above: whether its line goes on below this row. */
  readonly rails: readonly boolean[];
  readonly last: boolean;
}

/** Versions of the same kernel in the same precision, connected with `id` by parents and children; newest branches last. */
export function lineageOf(rows: readonly VersionRow[], id: string): LineageLine[] {
  const byId = new Map(rows.map((r) => [r.id, r]));
  const asked = byId.get(id);
  if (asked === undefined) return [];
  let root: VersionRow = asked;
  // A parent may be in the bin or of a run that is gone: the tree begins below it. A circle cannot be, but must not hang us.
  const seen = new Set<string>([root.id]);
  for (;;) {
    const parent: VersionRow | undefined = root.parent === null ? undefined : byId.get(root.parent);
    if (parent === undefined || seen.has(parent.id)) break;
    seen.add(parent.id);
    root = parent;
  }
  const children = new Map<string, VersionRow[]>();
  for (const row of rows)
    if (row.parent !== null && byId.has(row.parent)) {
      const list = children.get(row.parent);
      if (list) list.push(row);
      else children.set(row.parent, [row]);
    }
  for (const list of children.values())
    list.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.id < b.id ? -1 : 1));
  return drawn(root, children);
}

/** The tree in reading order, without recursion: chains may be long. */
function drawn(root: VersionRow, children: ReadonlyMap<string, readonly VersionRow[]>): LineageLine[] {
  const lines: LineageLine[] = [];
  const told = new Set<string>();
  const stack: LineageLine[] = [{ row: root, depth: 0, rails: [], last: true }];
  for (let line = stack.pop(); line !== undefined; line = stack.pop()) {
    if (told.has(line.row.id)) continue;
    told.add(line.row.id);
    lines.push(line);
    const below = children.get(line.row.id) ?? [];
    const rails = line.depth === 0 ? [] : [...line.rails, !line.last];
    for (let i = below.length - 1; i >= 0; i--)
      stack.push({ row: below[i] as VersionRow, depth: line.depth + 1, rails, last: i === below.length - 1 });
  }
  return lines;
}

/** The chain from the tree's root to `id`, root first. */
export function ancestorsOf(rows: readonly VersionRow[], id: string): VersionRow[] {
  const byId = new Map(rows.map((r) => [r.id, r]));
  const chain: VersionRow[] = [];
  const seen = new Set<string>();
  for (let row = byId.get(id); row !== undefined && !seen.has(row.id); row = byId.get(row.parent ?? '')) {
    seen.add(row.id);
    chain.unshift(row);
  }
  return chain;
}
