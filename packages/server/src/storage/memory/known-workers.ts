/** What workers leave behind in memory when they are lost or gone, within its bounds, and how people see those that are known. */
import {
  HANDLER_OFFERS_MAX,
  type KnownWorker,
  LOST_KEPT_MAX,
  LOST_KEPT_MS,
  LOST_RUNS_MAX,
  LOST_SHARE_MAX,
  NAMESPACE_OFFERS_MAX,
  type WorkerState,
} from '../member-store.ts';
import type { LostWorkerRow, MemoryState, WorkerRow } from './memory-state.ts';

/** Keeps it among the lost ones, within their bounds. */
export function rememberLost(
  state: MemoryState,
  { incarnation, bootId, ...worker }: WorkerRow,
  nowMs: number,
): void {
  const { lostWorkers, leases } = state;
  const runs = leases.ofWorker(worker.workerId).map(({ run }) => run.runId);
  lostWorkers.set(worker.workerId, {
    ...{ ...worker, alive: false, draining: false, stuck: 0, lostAtMs: nowMs, held: runs.length },
    heldRuns: runs.toSorted().slice(0, LOST_RUNS_MAX),
  });
  const counts = new Map<string, number>();
  for (const [i, lost] of [...lostWorkers.values()].sort(latestFirst).entries()) {
    const shares = sharesOf(lost);
    for (const share of shares) counts.set(share, (counts.get(share) ?? 0) + 1);
    const isOver = i >= LOST_KEPT_MAX || shares.some((share) => counts.get(share)! > LOST_SHARE_MAX);
    if (isOver || lost.lostAtMs <= nowMs - LOST_KEPT_MS) lostWorkers.delete(lost.workerId);
  }
}

/** A dead one is among the workers until its runs were taken back, and among the lost ones from the start. */
export function knownWorkers(state: MemoryState, nowMs: number): KnownWorker[] {
  const { workers, lostWorkers } = state;
  const lost = [...lostWorkers.values()].filter(({ lostAtMs }) => lostAtMs > nowMs - LOST_KEPT_MS);
  const isLost = new Map(lost.map((worker) => [worker.workerId, worker]));
  const present = [...workers.values()].map(({ incarnation, bootId, namespaces, ...worker }) => {
    const { lostAtMs, held = 0, heldRuns = [] } = (!worker.alive && isLost.get(worker.workerId)) || NOT_LOST;
    return { ...worker, lostAtMs, held, heldRuns };
  });
  const gone = lost.filter(({ workerId }) => !workers.has(workerId));
  return [...present, ...gone.map(({ namespaces, ...worker }) => worker)];
}

/** Until when it offered what it offers no more. */
export function keepOffers(
  state: MemoryState,
  { handlers, lastSeenMs, namespaces }: WorkerRow,
  stillOffered: readonly string[] = [],
): void {
  const { handlerOffers, namespaceOffers } = state;
  const ended = handlers.filter((handler) => !stillOffered.includes(handler));
  if (!namespaces) {
    keepLatest(handlerOffers, ended, { offeredAtMs: lastSeenMs, max: HANDLER_OFFERS_MAX });
    return;
  }
  for (const namespace of namespaces) {
    const kept = namespaceOffers.get(namespace) ?? new Map<string, number>();
    namespaceOffers.set(namespace, kept);
    keepLatest(kept, ended, { offeredAtMs: lastSeenMs, max: NAMESPACE_OFFERS_MAX });
  }
}

const NOT_LOST: Partial<LostWorkerRow> = {};

export function stateOf(worker: WorkerRow): WorkerState {
  const { workerId, nodeId, incarnation, bootId, session, slots, draining, stuck, lastSeenMs, alive } =
    worker;
  return { workerId, nodeId, incarnation, bootId, session, slots, draining, stuck, lastSeenMs, alive };
}

function latestFirst(a: LostWorkerRow, b: LostWorkerRow): number {
  return b.lostAtMs - a.lostAtMs || (a.workerId < b.workerId ? -1 : 1);
}

/** What a lost worker counts for: its namespaces, and its key, which the id of a worker at the end of a stream names. */
function sharesOf({ workerId, namespaces = [] }: LostWorkerRow): string[] {
  const [, key] = workerId.split('@');
  return [...namespaces.map((name) => `namespace ${name}`), ...(key === undefined ? [] : [`key ${key}`])];
}

export function isSame(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function keepLatest(
  kept: Map<string, number>,
  ended: readonly string[],
  { offeredAtMs, max }: { offeredAtMs: number; max: number },
): void {
  for (const handler of ended) kept.set(handler, Math.max(kept.get(handler) ?? offeredAtMs, offeredAtMs));
  if (kept.size <= max) return;
  const oldest = [...kept].sort(([a, atA], [b, atB]) => atB - atA || (a < b ? -1 : 1)).slice(max);
  for (const [handler] of oldest) kept.delete(handler);
}
