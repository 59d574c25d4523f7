/**
 * The placement decision: which pending runs start now, on which worker, and what happens to those that may not. Pure:
 * it reads its arguments and returns a verdict per run, so it can be tested by properties and replaced by a cleverer one.
 * The same check serves scheduled runs, run-now and retries (hazard 12).
 */
import type { JobId, WorkerId } from '../ids.ts';
import { QUEUED_PER_JOB_MAX } from '../job/job.ts';
import type { PendingRun } from '../run/run.ts';
import type { SkipReason } from '../run/run-status.ts';

export interface WorkerView {
  readonly workerId: WorkerId;
  readonly freeSlots: number;
  offers(handler: string): boolean;
}

export interface DispatchLimits {
  readonly nowMs: number;
  /** Runs of the job that are alive: under a lease, or being claimed. */
  running(jobId: JobId): number;
  /** Runs of the job that already wait behind its limit. */
  waiting(jobId: JobId): number;
}

export interface Choice {
  readonly placed: { run: PendingRun; workerId: WorkerId }[];
  /** Verdict without execution. */
  readonly skipped: { run: PendingRun; reason: SkipReason }[];
  /** Waited longer for a start than the job allows. */
  readonly expired: PendingRun[];
  /** The job is at its limit: wait for one of its runs to end. replaces: ask the oldest living one to stop. */
  readonly atLimit: { run: PendingRun; replaces: boolean }[];
  /** No worker offers the handler. */
  readonly noWorker: PendingRun[];
  /** Workers offer it, all their slots are taken. */
  readonly noSlot: PendingRun[];
}

/** pending is in the order of urgency; the first that fits is taken. */
export function chooseRuns(
  pending: Iterable<PendingRun>,
  workers: readonly WorkerView[],
  limits: DispatchLimits,
): Choice {
  const choice: Choice = { placed: [], skipped: [], expired: [], atLimit: [], noWorker: [], noSlot: [] };
  const free = workers.map((worker) => worker.freeSlots);
  const started = new Map<JobId, number>();
  const waiting = new Map<JobId, number>();

  for (const run of pending) {
    if (run.startTimeoutMs !== undefined && limits.nowMs > run.fireAtMs + run.startTimeoutMs) {
      choice.expired.push(run);
      continue;
    }
    const alive = limits.running(run.jobId) + (started.get(run.jobId) ?? 0);
    if (alive >= run.maxConcurrency) {
      const queued = limits.waiting(run.jobId) + (waiting.get(run.jobId) ?? 0);
      const skip = skipReason(run, queued);
      if (skip !== undefined) choice.skipped.push({ run, reason: skip });
      else {
        waiting.set(run.jobId, (waiting.get(run.jobId) ?? 0) + 1);
        choice.atLimit.push({ run, replaces: run.overlap === 'replace' && run.attempt === 1 });
      }
      continue;
    }
    const best = freestWorker(run.handler, workers, free);
    if (best === 'none') choice.noWorker.push(run);
    else if (best === 'full') choice.noSlot.push(run);
    else {
      free[best] = free[best]! - 1;
      started.set(run.jobId, (started.get(run.jobId) ?? 0) + 1);
      choice.placed.push({ run, workerId: workers[best]!.workerId });
    }
  }
  return choice;
}

/** A retry already has a verdict pending, so it always waits; only fresh occurrences can be skipped. */
function skipReason(run: PendingRun, queued: number): SkipReason | undefined {
  if (run.attempt > 1) return undefined;
  if (run.overlap === 'skip') return 'overlap';
  return queued >= QUEUED_PER_JOB_MAX ? 'queue_full' : undefined;
}

function freestWorker(
  handler: string,
  workers: readonly WorkerView[],
  free: readonly number[],
): number | 'none' | 'full' {
  // Nobody at all is a matter of a moment (a start, a worker coming back), and says nothing about the handler.
  let best: number | 'none' | 'full' = workers.length === 0 ? 'full' : 'none';
  let bestFree = 0;
  for (let i = 0; i < workers.length; i += 1) {
    if (!workers[i]!.offers(handler)) continue;
    if (best === 'none') best = 'full';
    if (free[i]! > bestFree) {
      best = i;
      bestFree = free[i]!;
    }
  }
  return best;
}
