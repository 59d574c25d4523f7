/**
 * Job definitions, and the pending rows that follow from them: both change in one transaction, so an edit can neither
 * lose nor double a fire.
 */
import type {
  Job,
  JobCursor,
  JobId,
  JobOrder,
  JobSelection,
  JobStatus,
  RecurringSchedule,
  RunId,
  ShownJobStatus,
  Visible,
} from '@carillon/domain';
import type { AuditEntry } from './audit-store.ts';
import type { FirstDue, NewRun } from './due.ts';

export interface NewJob {
  readonly job: Job;
  readonly first: FirstDue;
  readonly idempotency: { readonly key: string; readonly requestHash: string } | undefined;
  /** Written together with the job, if that is new. */
  readonly audit?: AuditEntry;
}

/**
 * existing: the idempotency key was used before with the same request; conflict: with another one. key_taken: another job of its
 * namespace has the key of the job. namespace_missing: its namespace does not exist, or no longer.
 */
export type InsertedJob =
  | { readonly kind: 'inserted'; readonly jobId: JobId }
  | { readonly kind: 'existing'; readonly jobId: JobId }
  | { readonly kind: 'conflict'; readonly jobId: JobId }
  | { readonly kind: 'key_taken'; readonly jobId: JobId }
  | { readonly kind: 'namespace_missing'; readonly jobId: JobId };

/** Whether an atomic batch is rolled back because of this job. */
export function isRefused({ kind }: InsertedJob): boolean {
  return kind === 'conflict' || kind === 'key_taken' || kind === 'namespace_missing';
}

/** What a list of jobs is narrowed to: a selection, of one status at a time. */
export interface JobFilter extends Omit<JobSelection, 'statuses'> {
  /** As it is shown. */
  readonly status?: ShownJobStatus | undefined;
  /** Of the job itself: one that runs is still scheduled by it. */
  readonly ownStatus?: JobStatus | undefined;
}

export interface JobQuery extends JobFilter {
  /** Of creation; newest first unless said otherwise. */
  readonly order?: 'newest' | 'oldest' | undefined;
  /** Continue after this job. */
  readonly afterJobId?: JobId | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
  /** False: they are left unread, and every payload is empty. */
  readonly payloads?: boolean | undefined;
}

export interface JobList {
  readonly jobs: readonly Job[];
  /** The status of each as it is shown. */
  readonly shown: ReadonlyMap<JobId, ShownJobStatus>;
  /** Where looking stopped before the limit was reached: more may follow after this job. Undefined: nothing does. */
  readonly stoppedAt: JobId | undefined;
}

export interface SortedJobQuery extends JobFilter, JobOrder {
  /** Continue after this cursor. */
  readonly after?: JobCursor | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
  /** As in JobQuery. */
  readonly payloads?: boolean | undefined;
}

export const NO_PAYLOAD = '{}';

export interface SortedJob {
  readonly job: Job;
  readonly shown: ShownJobStatus;
  readonly cursor: JobCursor;
}

/** A list looks through no more jobs than this per call, whatever it is narrowed to. */
export const ROWS_SCANNED_MAX = 10_000;

/** A fire that lies ahead: a waiting run, or the next occurrence of a schedule. */
export interface UpcomingFire {
  readonly job: Pick<Job, 'jobId' | 'name' | 'namespace' | 'userId' | 'handler' | 'priority'>;
  readonly fireAtMs: number;
  /** Undefined for a run; its later occurrences follow from the schedule. */
  readonly cursor: { readonly schedule: RecurringSchedule; readonly nominalAtMs: number } | undefined;
}

export interface UpcomingQuery {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Only jobs of one of these owners; undefined: all. */
  readonly visible: readonly Visible[] | undefined;
  readonly limit: number;
}

/**
 * added: it waits now. known: it waits, runs or ran already. conflict: so does one that was asked for by another request. refused: there
 * is no such job, or it is cancelled.
 */
export type Enqueued = 'added' | 'known' | 'conflict' | 'refused';

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
  /** Resume: held rows are due again, no earlier than now; occurrences that fell into the pause are told apart from missed ones. */
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
  /** Written together with the change. */
  readonly audit?: AuditEntry;
}

/** asked_before: it lives, and whoever runs it was told to stop it already. */
export type CancelVerdict = 'asked' | 'asked_before' | 'ended' | 'finished' | 'unknown';

/** Entries of the audit log that are given with a change are written with it, or not at all. */
export interface JobStore {
  /**
   * All of them and their first pending rows, in one transaction. Answers in the order given. atomic: if one is refused, none is
   * inserted; the other answers then mean nothing.
   */
  insert(jobs: readonly NewJob[], options?: { readonly atomic?: boolean }): Promise<InsertedJob[]>;
  get(jobId: JobId): Promise<Job | undefined>;
  /** Whose each of these jobs is, of those that there are: one read, whatever their number. */
  owners(jobIds: readonly JobId[]): Promise<ReadonlyMap<JobId, Pick<Job, 'namespace' | 'userId'>>>;
  getForChange(jobId: JobId): Promise<JobWithPlan | undefined>;
  /** The job that has this key. */
  findKey(namespace: string, key: string): Promise<JobId | undefined>;
  /** Jobs in the order of their ids, which grow with creation. */
  list(query: JobQuery): Promise<JobList>;
  /**
   * Jobs in another order than that of creation. No index keeps those: all that the query is narrowed to by owner,
   * namespace, labels or status are looked through and sorted, unless there are too many.
   */
  listSorted(query: SortedJobQuery): Promise<readonly SortedJob[] | 'too_many'>;
  /** The first fires of the window in order, at most limit; partial: not everything due in it could be looked at. */
  upcoming(query: UpcomingQuery): Promise<{ fires: readonly UpcomingFire[]; partial: boolean }>;
  /** False when the job or its plan changed since it was read: read again and decide again. key_taken: another job has its key. */
  apply(change: JobChange): Promise<boolean | 'key_taken'>;
  /** Adds a run of the job as it is now. False when there is no such job or it is cancelled. */
  enqueue(jobId: JobId, run: NewRun, audit?: AuditEntry): Promise<boolean>;
  /** The same, unless a run of this id is or was there: repeating it adds nothing. */
  enqueueOnce(jobId: JobId, run: NewRun, audit?: AuditEntry): Promise<Enqueued>;
  /** Removes the definition and what is pending; history stays until retention drops it. False: not there, or runs are alive. */
  remove(jobId: JobId, audit?: AuditEntry): Promise<boolean>;
  /** Asks a living run to stop, which its outcome answers, or ends a queued one. */
  cancelRun(runId: RunId, nowMs: number, audit?: AuditEntry): Promise<CancelVerdict>;
}
