/** One settlement: the run leaves its lease, the attempt is recorded, and what follows is planned, once. */
import type { Settlement, SettleVerdict } from '../lease-store.ts';
import { type RunRecord, refreshed } from './due-record.ts';
import { endJobAfter, writeDeadLetter } from './end-run.ts';
import type { HeldRecord } from './lease-table.ts';
import type { MemoryState } from './memory-state.ts';
import { settledView } from './run-views.ts';

export function settleRun(state: MemoryState, settlement: Settlement, nowMs: number): SettleVerdict {
  const held = state.leases.find(settlement);
  if (!held) return 'stale';
  state.leases.remove(held);

  const { run } = held;
  if (isCancelled(state, held, settlement)) {
    const view = settledView(held, { settlement, status: 'CANCELLED', nowMs });
    state.history.write(view);
    state.events.runEnded(view);
    endJobAfter(state, run, { status: 'CANCELLED', nowMs });
    return 'cancelled';
  }
  const { status, error, next } = settlement;
  const view = settledView(held, { settlement, status, nowMs });
  state.history.write(view);
  state.events.runEnded(view, {
    ...(next.kind === 'again' && { retryAtMs: next.atMs }),
    ...(next.kind === 'dead' && { deadReason: next.reason }),
  });
  if (next.kind === 'again') {
    queueAgain(state, run, next);
    return 'settled';
  }
  if (next.kind === 'dead') {
    writeDeadLetter(state, run, { reason: next.reason, error, attempts: run.attempt, nowMs });
  }
  endJobAfter(state, run, { status, nowMs });
  return 'settled';
}

/** A cancel beats a late finish, and nothing of a cancelled job is tried again (hazard 18). */
function isCancelled(state: MemoryState, held: HeldRecord, { next }: Settlement): boolean {
  if (held.cancelRequested) return true;
  const job = state.jobs.get(held.run.jobId);
  return next.kind === 'again' && (job === undefined || job.status === 'CANCELLED');
}

function queueAgain(
  state: MemoryState,
  run: RunRecord,
  again: Extract<Settlement['next'], { kind: 'again' }>,
): void {
  const job = state.jobs.get(run.jobId)!;
  state.due.put({
    ...refreshed(run, job),
    ...{ fireAtMs: again.atMs, attempt: again.attempt, crashes: again.crashes },
    ...{ epoch: run.epoch + 1, blockedReason: undefined, held: job.status === 'PAUSED' },
  });
}
