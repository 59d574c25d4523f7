/**
 * How many runs a worker may be given now, and of which namespaces (DISP-8). Where several namespaces share a worker, one whose runs take
 * very long must not have all of its slots: the last ones are kept for namespaces that have fewer than there are left. Each of these takes a part
 * of what is left, so something is left for the next one.
 */
import type { WorkerView } from '../worker-link/worker-link.ts';

/** One slot in so many is kept. A worker with fewer has none to spare. */
const KEPT_PART = 16;

export interface SlotsFor {
  readonly runsMax: number;
  /** Namespaces that have enough, by their keys. Left out: none. */
  readonly full?: ReadonlySet<number>;
}

export function slotsFor(worker: WorkerView, { isShared }: { isShared: boolean }): SlotsFor {
  const { slots, freeSlots, namespaces } = worker;
  const kept = (namespaces ? namespaces.length > 1 : isShared) ? Math.floor(slots / KEPT_PART) : 0;
  if (freeSlots > kept) return { runsMax: freeSlots - kept };
  const full = new Set<number>();
  for (const [key, held] of worker.heldBy()) if (held >= freeSlots) full.add(key);
  return { runsMax: Math.ceil(freeSlots / 2), full };
}
