import type { TimeResult } from '../../contract/index.ts';
import type { ActivityGroup } from './replies.ts';

interface Sum {
  readonly first: ActivityGroup;
  n: number;
  ns: number;
}

/** GPU activities of span calls, summed by arm, problem, kind and name. */
export class Activities {
  private readonly calls = new Map<string, number>();
  private readonly sums = new Map<string, Map<string, Sum>>();

  /** Adds what one timed call did. */
  add(arm: string, problem: number, acts: readonly ActivityGroup[]): void {
    const key = `${arm}|${problem}`;
    this.calls.set(key, (this.calls.get(key) ?? 0) + 1);
    const groups = this.sums.get(key) ?? new Map<string, Sum>();
    this.sums.set(key, groups);
    for (const act of acts) {
      const id = `${act.kind}|${act.name}`;
      const sum = groups.get(id);
      if (sum) {
        sum.n += act.n;
        sum.ns += act.ns;
      } else groups.set(id, { first: act, n: act.n, ns: act.ns });
    }
  }

  list(): TimeResult['activities'] {
    const out: TimeResult['activities'] = [];
    for (const [key, groups] of this.sums) {
      const [arm, problem] = key.split('|') as [string, string];
      for (const { first, n, ns } of groups.values())
        out.push({
          arm,
          problem: Number(problem),
          kind: first.kind,
          name: first.name,
          perCall: n / (this.calls.get(key) as number),
          grid: first.grid,
          block: first.block,
          registers: first.regs,
          sharedStatic: first.shs,
          sharedDynamic: first.shd,
          meanNs: ns / n,
        });
    }
    return out;
  }
}
