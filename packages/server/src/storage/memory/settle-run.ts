/** One settlement: the run leaves its lease, the attempt is recorded, and what follows is planned, once. */
import type { JobId } from '@carillon/domain';
import type { Settlement, SettleVerdict } from '../lease-store.ts';
import { dueAtMs, isAskedFor, type RunRecord, runTerms } from './due-record.ts';
import { endJobAfter, writeDeadLetter } from './end-run.ts';
import type { LeasedRecord } from './lease-table.ts';
import type { MemoryState } from './memory-state.ts';
import { settledView } from './run-views.ts';

/** again: the run that waits for its next attempt. askedFor: a person asked for it, and it succeeded. */
export interface SettledRun {
  readonly verdict: SettleVerdict;
  readonly askedFor?: RunRecord;
  readonly freed?: JobId;
  readonly again?: RunRecord;
}

export function settleRun(state: MemoryState, settlement: Settlement, nowMs: number): SettledRun {
  const leased = state.leases.find(settlement);
  if (!leased) return { verdict: 'stale' };
  state.leases.remove(leased);
  const { jobId, runId } = leased.run;
  const hadSlot = state.admissions.free(jobId, runId);
  const isWanted = state.due.ofJob(jobId).some((run) => run.state === 'waiting');
  const settled = settleLeased(state, leased, { settlement, nowMs, hadSlot });
  return hadSlot && isWanted ? { ...settled, freed: jobId } : settled;
}

function settleLeased(
  state: MemoryState,
  leased: LeasedRecord,
  { settlement, nowMs, hadSlot }: { settlement: Settlement; nowMs: number; hadSlot: boolean },
): SettledRun {
  const { run } = leased;
  const wasHeldUp = dueAtMs(run) !== run.nominalAtMs;
  if (isCancelled(state, leased, settlement)) {
    const view = settledView(leased, { settlement, status: 'CANCELLED', nowMs });
    state.history.write(view);
    state.events.runEnded(view, { wasHeldUp });
    state.checkpoints.delete(run.runId);
    endJobAfter(state, run, { status: 'CANCELLED', nowMs });
    return { verdict: 'cancelled' };
  }
  const { status, error, next } = settlement;
  const view = settledView(leased, { settlement, status, nowMs });
  state.history.write(view);
  if (status === 'SUCCESS' || status === 'CANCELLED') state.checkpoints.delete(run.runId);
  state.events.runEnded(view, {
    wasHeldUp,
    ...(next.kind === 'again' && { retryAtMs: next.atMs }),
    ...(next.kind === 'dead' && { deadReason: next.reason }),
  });
  if (next.kind === 'again') {
    return { verdict: 'settled', again: queueAgain(state, run, { next, hadSlot, nowMs }) };
  }
  if (next.kind === 'dead') {
    writeDeadLetter(state, run, { reason: next.reason, error, attempts: run.attempt, nowMs });
  }
  endJobAfter(state, run, { status, nowMs });
  return { verdict: 'settled', ...(status === 'SUCCESS' && isAskedFor(run) && { askedFor: run }) };
}

/** LEASE-7 (hazard 18). */
function isCancelled(state: MemoryState, leased: LeasedRecord, { next }: Settlement): boolean {
  if (leased.cancelRequested) return true;
  const job = state.jobs.get(leased.run.jobId);
  return next.kind === 'again' && (job === undefined || job.status === 'CANCELLED');
}

/** With the next epoch (LEASE-2). The only run of a one-off goes straight into its lane; others are planned again. */
function queueAgain(
  state: MemoryState,
  run: RunRecord,
  {
    next,
    hadSlot,
    nowMs,
  }: { next: Extract<Settlement['next'], { kind: 'again' }>; hadSlot: boolean; nowMs: number },
): RunRecord {
  const job = state.jobs.get(run.jobId)!;
  const { atMs: fireAtMs, attempt, crashes } = next;
  // An interruption that is not the run's fault costs neither an attempt nor the position in the lane.
  const keepsTurn = attempt === run.attempt && fireAtMs <= nowMs;
  const laneAtMs = keepsTurn ? Math.min(run.nominalAtMs, fireAtMs) : fireAtMs;
  const again: RunRecord = {
    ...run,
    ...runTerms(job, { fireAtMs }),
    ...{ fireAtMs, laneAtMs, attempt, crashes, epoch: run.epoch + 1, admitted: false },
    state: run.trigger === 'once' && !hadSlot ? 'open' : 'planned',
    held: job.status === 'PAUSED' && !isAskedFor(run),
  };
  state.due.put(again);
  return again;
}
