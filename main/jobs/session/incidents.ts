import type { Incident, Problem } from '../../contract/index.ts';
import type { Where } from './classify.ts';
import type { CallReply, CheckReply } from './replies.ts';

/** Incidents of a session: one line per (kind, arm, problem); the first one's message stays, later ones are counted. */
export class Incidents {
  private readonly byKey = new Map<string, { incident: Incident; count: number }>();

  add(incident: Incident): void {
    const key = `${incident.kind}|${incident.arm ?? ''}|${incident.problem ?? ''}`;
    const known = this.byKey.get(key);
    if (known) known.count++;
    else this.byKey.set(key, { incident, count: 1 });
  }

  /** The first one for which this holds. */
  find(which: (incident: Incident) => boolean): Incident | undefined {
    return [...this.byKey.values()].map(({ incident }) => incident).find(which);
  }

  /** Adds what was learned about one since. */
  explain(of: Incident, detail: string): void {
    for (const known of this.byKey.values())
      if (known.incident === of)
        known.incident = { ...of, detail: [of.detail, detail].filter((text) => text).join('\n') };
  }

  list(): Incident[] {
    return [...this.byKey.values()].map(({ incident, count }) =>
      count === 1 ? incident : { ...incident, message: `${incident.message} (seen ${count} times)` },
    );
  }
}

/** What a call's own reply says against the arm: left host threads, work outside its window. CUDA errors are handled by the caller. */
export function addCallIncidents(reply: CallReply, where: Where, incidents: Incidents): void {
  addUnordered(reply, where, incidents);
  const threads = reply.threads;
  if (threads[1] <= threads[0]) return;
  const foreign = reply.newThreads.filter((name) => !driverThread.test(name));
  if (reply.newThreads.length > 0 && foreign.length === 0) return;
  incidents.add({
    kind: 'threads-left',
    ...where,
    message: `${threads[1] - threads[0]} more host threads after the call than before (${threads[0]} before)`,
  });
}

/** Work on streams that neither wait for the caller's earlier work nor are waited for by its next. */
function addUnordered(reply: CallReply, where: Where, incidents: Incidents): void {
  const parts = [
    reply.early > 0 ? `${reply.early} began before the caller's earlier work had ended` : '',
    reply.unjoined > 0 ? `${reply.unjoined} had not ended when the caller's next work began` : '',
  ].filter((part) => part !== '');
  if (parts.length === 0) return;
  incidents.add({
    kind: 'late-activity',
    ...where,
    message: `GPU work on another stream is not in order with the default stream: of its activities, ${parts.join(' and ')}`,
  });
}

/** The driver starts threads of its own at the first use of some features and names them so. */
const driverThread = /^cuda/;

/** GPU work that ran outside every window: it belongs to the call before. */
export function addLate(reply: CallReply, where: Where, incidents: Incidents): void {
  if (reply.late > 0)
    incidents.add({
      kind: 'late-activity',
      ...where,
      message: `${reply.late} GPU activities ran after the call had returned and the device was synchronised`,
    });
}

export function addCheckIncidents(reply: CheckReply, problem: Problem, where: Where, incidents: Incidents): void {
  const name = (buf: number | string): string => (typeof buf === 'number' ? (problem.buffers[buf]?.name ?? '?') : buf);
  for (const g of reply.guards)
    incidents.add({
      kind: 'guard',
      ...where,
      message: `wrote outside buffer ${name(g.buf)}: ${g.side} it, at byte offset ${g.offset}`,
    });
  for (const i of reply.inputs)
    incidents.add({
      kind: 'input-changed',
      ...where,
      message: `changed ${i.mismatches} elements of input ${name(i.buf)}, the first at index ${i.first}`,
    });
}
