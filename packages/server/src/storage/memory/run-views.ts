/** How a run is shown at each step: pending in `due`, leased, ended with or without an attempt. */
import { type DeadReason, type FinalRunStatus, isRecurring, type Job, type WaitsFor } from '@carillon/domain';
import { namespaceKey, namespaceOf } from '../lane.ts';
import type { Settlement } from '../lease-store.ts';
import type { WorkerRecord } from '../member-store.ts';
import type { RunView } from '../run-store.ts';
import { isRepeat, type RunRecord, shownTrigger } from './due-record.ts';
import type { LeasedRecord } from './lease-table.ts';
import type { MemoryState } from './memory-state.ts';

type Shown = Pick<RunView, 'status' | 'createdAtMs' | 'modifiedAtMs'> & Partial<RunView>;

export interface PendingEnd {
  readonly status: FinalRunStatus;
  readonly error?: string;
  readonly reason?: string;
  /** Given up, and why. */
  readonly deadReason?: DeadReason;
  readonly nowMs: number;
}

/** Nothing about it has happened in the future: what waits for a later instant says so as its reason. */
/** Whether a living worker offers the handler and may be given runs of the namespace. */
type IsOffered = (run: Pick<RunRecord, 'handler' | 'lane'>) => boolean;

export function queuedView(run: RunRecord, nowMs: number, isOffered: IsOffered): RunView {
  const sinceMs = Math.min(run.fireAtMs, nowMs);
  return viewOf(run, {
    status: 'QUEUED',
    createdAtMs: sinceMs,
    modifiedAtMs: sinceMs,
    waitsFor: waitsFor(run, nowMs, isOffered),
  });
}

function waitsFor(run: RunRecord, nowMs: number, isOffered: IsOffered): WaitsFor {
  const { held, fireAtMs, state, handler } = run;
  if (held) return { code: 'paused' };
  if (fireAtMs > nowMs) return { code: 'not_due', untilMs: fireAtMs };
  if (state === 'waiting') return { code: 'at_limit' };
  return isOffered(run) ? { code: 'claimable' } : { code: 'no_worker', handler };
}

/** With what is known of its job. */
export function readView({ jobs }: Pick<MemoryState, 'jobs'>, view: RunView): RunView {
  const schedule = jobs.get(view.jobId)?.schedule;
  const isMeasured = view.trigger === 'schedule' && view.attempt === 1 && view.startedAtMs !== undefined;
  const isSpread = schedule !== undefined && isRecurring(schedule) && schedule.spreadMs > 0;
  return isMeasured && isSpread ? { ...view, spread: schedule } : view;
}

/** What was never handed out and whose instant lies ahead is a plan, not a run; a retry that waits is one. */
export function isShown(record: RunRecord, nowMs: number): boolean {
  return record.fireAtMs <= nowMs || record.epoch > 1;
}

export function offeredIn({ workers }: Pick<MemoryState, 'workers'>): IsOffered {
  return ({ handler, lane }) =>
    [...workers.values()].some(
      (worker) => worker.alive && worker.handlers.includes(handler) && servesTenant(worker, lane.tenant),
    );
}

export function servesTenant({ namespaces }: Pick<WorkerRecord, 'namespaces'>, tenant: number): boolean {
  return namespaces?.some((name) => namespaceKey(name) === namespaceOf(tenant)) ?? true;
}

export function leasedView(leased: LeasedRecord): RunView {
  return viewOf(leased.run, {
    status: leased.cancelRequested ? 'CANCELLING' : leased.shown ? 'RUNNING' : 'CLAIMED',
    createdAtMs: leased.claimedAtMs,
    modifiedAtMs: leased.shown?.atMs ?? leased.claimedAtMs,
    startedAtMs: leased.shown?.startedAtMs,
    executorId: leased.workerId,
    progress: leased.progress,
  });
}

export function settledView(
  leased: LeasedRecord,
  end: { settlement: Settlement; status: FinalRunStatus; nowMs: number },
): RunView {
  const { startedAtMs, endedAtMs, error, result, usage } = end.settlement;
  return viewOf(leased.run, {
    status: end.status,
    createdAtMs: leased.claimedAtMs,
    modifiedAtMs: end.nowMs,
    startedAtMs: startedAtMs ?? leased.shown?.startedAtMs,
    endedAtMs,
    executorId: leased.workerId,
    error,
    result,
    progress: leased.progress,
    peakMemoryBytes: usage?.peakMemoryBytes,
    cpuSeconds: usage?.cpuSeconds,
  });
}

export function endedPendingView(run: RunRecord, end: PendingEnd): RunView {
  return viewOf(run, {
    status: end.status,
    createdAtMs: end.nowMs,
    modifiedAtMs: end.nowMs,
    endedAtMs: end.nowMs,
    error: end.error,
    reason: end.reason,
  });
}

function viewOf(run: RunRecord, shown: Shown): RunView {
  return {
    runId: run.runId,
    jobId: run.jobId,
    attempt: run.attempt,
    epoch: run.epoch,
    trigger: shownTrigger(run.trigger),
    isRepeat: isRepeat(run),
    scheduledAtMs: run.nominalAtMs,
    startedAtMs: undefined,
    endedAtMs: undefined,
    executorId: undefined,
    error: undefined,
    reason: undefined,
    waitsFor: undefined,
    result: undefined,
    logUrl: undefined,
    jobVersion: run.jobVersion,
    occurrences: 1,
    lateReport: undefined,
    requestReason: run.request?.reason,
    progress: undefined,
    peakMemoryBytes: undefined,
    cpuSeconds: undefined,
    spread: undefined,
    ...shown,
  };
}

type Tables = Pick<MemoryState, 'due' | 'leases'>;

/**
 * The status of a job as it is shown. Success of a one-off is written nowhere: it follows from nothing of it being pending or alive
 * any more. A pause that holds back runs is not over by that: they could never be resumed.
 */
export function shownJob<Row extends Job | undefined>(tables: Tables, job: Row): Row {
  return job && isOver(tables, job) ? { ...job, status: 'COMPLETED' } : job;
}

function isOver({ due, leases }: Tables, { jobId, schedule, status }: Job): boolean {
  if (isRecurring(schedule) || (status !== 'SCHEDULED' && status !== 'PAUSED')) return false;
  const pending = due.ofJob(jobId);
  if (pending.some(({ trigger, held }) => trigger === 'once' || (held && status === 'PAUSED'))) return false;
  return leases.ofJob(jobId).every(({ run }) => run.trigger !== 'once');
}
