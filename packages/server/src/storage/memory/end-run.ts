/** The end of a run, the same from wherever it comes: it leaves `due`, it is recorded, and the job ends if nothing follows. */
import type { DeadReason, FinalRunStatus, JobId, JobStatus } from '@carillon/domain';
import { isAskedFor, type RunRecord } from './due-record.ts';
import type { MemoryState } from './memory-state.ts';
import { endedPendingView, type PendingEnd } from './run-views.ts';

/** Ends a run that waits; nothing of it is handed out. */
export function endPending(state: MemoryState, run: RunRecord, end: PendingEnd): void {
  state.due.remove(run.runId);
  state.admissions.free(run.jobId, run.runId);
  const view = endedPendingView(run, end);
  state.history.write(view);
  state.events.runEnded(view, end.deadReason === undefined ? {} : { deadReason: end.deadReason });
  endJobAfter(state, run, end);
}

/** The last run of a schedule completes its job whatever its end; the only run of a one-off hands its own end on. */
export function endJobAfter(
  state: MemoryState,
  run: RunRecord,
  { status, nowMs }: { status: FinalRunStatus; nowMs: number },
): void {
  if (!run.endsJob && !isLastHeldBack(state, run)) return;
  // Nothing is written about the success of a one-off: see shownJob.
  if (run.trigger === 'once' && status === 'SUCCESS') return;
  endJob(state, run.jobId, { status: run.trigger === 'once' ? oneOffEnd(status) : 'COMPLETED', nowMs });
}

/** Of what a pause held back after the schedule was over, and the last of it. */
function isLastHeldBack({ cursors, due, leases }: MemoryState, run: RunRecord): boolean {
  if (!run.held || run.trigger !== 'schedule' || leases.ofJob(run.jobId).length > 0) return false;
  return !cursors.has(run.jobId) && due.ofJob(run.jobId).every(isAskedFor);
}

/**
 * A new version, so that an edit decided before the end is refused and decided again. A pause that holds back runs is not ended:
 * an ended job cannot be resumed, and they would be held for ever.
 */
export function endJob(
  state: MemoryState,
  jobId: JobId,
  { status, nowMs }: { status: JobStatus; nowMs: number },
): void {
  const job = state.jobs.get(jobId);
  if (job?.status !== 'SCHEDULED' && job?.status !== 'PAUSED') return;
  const isHeldBack = state.cursors.has(jobId) || state.due.ofJob(jobId).some((record) => record.held);
  if (job.status === 'PAUSED' && isHeldBack) return;
  state.jobs.set(jobId, { ...job, status, version: job.version + 1, updatedAtMs: nowMs });
}

export function writeDeadLetter(
  state: MemoryState,
  run: RunRecord,
  death: { reason: DeadReason; error: string | undefined; attempts: number; nowMs: number },
): void {
  state.deadLetters.set(run.runId, {
    runId: run.runId,
    jobId: run.jobId,
    reason: death.reason,
    error: death.error,
    attempts: death.attempts,
    scheduledAtMs: run.nominalAtMs,
    diedAtMs: death.nowMs,
    redrivenAs: undefined,
    resolvedBy: undefined,
  });
}

/**
 * Of runs that a person asked for and that succeeded: a one-off that had failed is thereby completed, and what lies of it among the
 * dead letters is done with.
 */
export function recoverJobs(
  { jobs, deadLetters }: MemoryState,
  succeeded: readonly RunRecord[],
  nowMs: number,
): void {
  for (const { jobId, runId } of succeeded.toSorted((a, b) => (a.runId < b.runId ? -1 : 1))) {
    const job = jobs.get(jobId);
    if (job?.status !== 'FAILED') continue;
    jobs.set(jobId, { ...job, status: 'COMPLETED', version: job.version + 1, updatedAtMs: nowMs });
    for (const letter of deadLetters.values())
      if (letter.jobId === jobId && !letter.redrivenAs && !letter.resolvedBy)
        deadLetters.set(letter.runId, { ...letter, resolvedBy: runId });
  }
}

function oneOffEnd(status: FinalRunStatus): JobStatus {
  return status === 'CANCELLED' ? 'CANCELLED' : 'FAILED';
}
