/**
 * Job definitions, and the pending rows that follow from them: both change in one transaction, so an edit can neither
 * lose nor double a fire.
 */
import type { Job, JobId, JobStatus, Priority, RunId, ScheduleType } from '@carillon/domain';
import type { FirstDue, NewRun } from './due.ts';

export interface NewJob {
  readonly job: Job;
  readonly first: FirstDue;
  readonly idempotency: { readonly key: string; readonly requestHash: string } | undefined;
}

/** existing: the idempotency key was seen before with the same request; conflict: with another one. */
export type InsertedJob =
  | { readonly kind: 'inserted'; readonly jobId: JobId }
  | { readonly kind: 'existing'; readonly jobId: JobId }
  | { readonly kind: 'conflict'; readonly jobId: JobId };

export interface JobQuery {
  readonly status?: JobStatus;
  readonly scheduleType?: ScheduleType;
  readonly priority?: Priority;
  readonly userId?: string;
  readonly handler?: string;
  /** Newest first; continue after this job. */
  readonly afterJobId?: JobId;
  readonly offset?: number;
  readonly limit: number;
}

/** A job as read for a change: with the occurrence that its schedule has planned next, if any. */
export interface JobWithPlan {
  readonly job: Job;
  /** Nominal instant of the cursor or of the unstarted one-off run. */
  readonly plannedNominalMs: number | undefined;
  /** The last occurrence that was fired: a new plan never goes back to or before it. */
  readonly lastNominalMs: number | undefined;
}

/** What a change does to the job's pending rows. */
export type PendingChange =
  /** Keep the plan; queued runs take over the new handler, priority and limits. */
  | { readonly kind: 'keep' }
  /** Replace the plan; occurrences already fired stay queued. undefined: nothing lies ahead. */
  | { readonly kind: 'replan'; readonly first: FirstDue | undefined }
  /** Pause: nothing pending starts until released. */
  | { readonly kind: 'hold' }
  /** Resume: held rows are due again, no earlier than now; the misfire policy judges what was missed. */
  | { readonly kind: 'release' }
  /** Cancel: pending rows end, queued runs as CANCELLED; living runs are asked to stop. */
  | { readonly kind: 'drop' };

export interface JobChange {
  /** The job as it shall be, with its new version. */
  readonly job: Job;
  /** Refused unless the job and its plan are still as they were read. */
  readonly expectedVersion: number;
  readonly expectedStatus: JobStatus;
  readonly expectedPlannedNominalMs: number | undefined;
  readonly pending: PendingChange;
  readonly nowMs: number;
}

export interface JobStore {
  /** All of them and their first pending rows, in one transaction. Answers in the order given. */
  insert(jobs: readonly NewJob[]): Promise<InsertedJob[]>;
  get(jobId: JobId): Promise<Job | undefined>;
  getForChange(jobId: JobId): Promise<JobWithPlan | undefined>;
  list(query: JobQuery): Promise<Job[]>;
  /** False when the job or its plan changed since it was read: read again and decide again. */
  apply(change: JobChange): Promise<boolean>;
  /** Adds a run of the job as it is now. False when there is no such job or it is cancelled. */
  enqueue(jobId: JobId, run: NewRun): Promise<boolean>;
  /** Removes the definition and what is pending; history stays until retention drops it. False: not there, or runs are alive. */
  remove(jobId: JobId): Promise<boolean>;
  /** Asks a living run to stop, or ends a queued one. */
  cancelRun(runId: RunId, nowMs: number): Promise<'asked' | 'ended' | 'finished' | 'unknown'>;
}
