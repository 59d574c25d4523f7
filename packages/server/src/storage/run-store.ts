/** Reads of what waits, runs and ran, for people. One row per attempt; the status shown is composed here. */

import type {
  DeadLetter,
  DeadLetterSelection,
  Job,
  JobId,
  PendingRun,
  RunId,
  RunRepeat,
  RunSelection,
  RunStatus,
  RunFacts as RunView,
  Visible,
  WaitsFor,
} from '@carillon/domain';
import type { AuditEntry } from './audit-store.ts';
import type { RunRequest } from './due.ts';
import { errorGroupOf, shownFingerprint } from './error-group.ts';

export type { DeadLetter, RunView };

export interface DeadLetterCursor {
  readonly diedAtMs: number;
  readonly runId: RunId;
}

export interface DeadLetterFilter extends DeadLetterSelection {
  /** True: only those that were redriven or that a later success made obsolete; false: only the others. */
  readonly handled?: boolean | undefined;
}

export interface DeadLetterQuery extends DeadLetterFilter {
  /** Only of jobs of one of these owners; undefined: all. */
  readonly visible?: readonly Visible[] | undefined;
  readonly before?: DeadLetterCursor | undefined;
  readonly limit: number;
}

export interface DeadLetterList {
  readonly letters: readonly DeadLetter[];
  /** Where looking stopped before the limit was reached: more may follow. Undefined: nothing does. */
  readonly stoppedAt: DeadLetterCursor | undefined;
}

export interface RunPage {
  readonly before?: { readonly createdAtMs: number; readonly runId: RunId } | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
  /** So many characters of each result are read; undefined: all. */
  readonly resultCharsMax?: number | undefined;
}

/**
 * The position of a run in a list across jobs: when it was handed out; of one that never was, when it ended, or when it may start.
 * A run that ends while a list is read keeps its position.
 */
export interface RunCursor {
  readonly atMs: number;
  readonly runId: RunId;
  readonly epoch: number;
}

/** The position in the list of everything that waits: the runs of the newest job first. */
export interface WaitingCursor {
  readonly jobId: JobId;
  readonly runId: RunId;
}

export interface RunFilter extends Omit<RunSelection, 'since' | 'until'> {
  /** Handed out since then; of those that did not succeed, also what ended since then and was handed out up to a day before. */
  readonly sinceMs?: number | undefined;
  /** Handed out before then. */
  readonly untilMs?: number | undefined;
}

export interface RunQuery extends RunFilter {
  /** Only of jobs of one of these owners; undefined: all, deleted jobs included. */
  readonly visible?: readonly Visible[] | undefined;
  readonly before?: RunCursor | WaitingCursor | undefined;
  /** The key that fingerprints are shown under; with failure. */
  readonly failureKey?: string | undefined;
  /** Whether results are read as well. */
  readonly results?: boolean | undefined;
  /** Each run once, by the attempt that was handed out last; by the one that waits, where the list has those that wait. */
  readonly lastAttempts?: boolean | undefined;
  readonly limit: number;
  readonly nowMs: number;
}

export interface ListedRun {
  readonly run: RunView;
  /** Another attempt of the run has followed this one, or waits. */
  readonly triedAgain: boolean;
  /** Undefined when it was deleted. */
  readonly job: Pick<Job, 'name' | 'namespace' | 'userId' | 'handler'> | undefined;
  readonly cursor: RunCursor | WaitingCursor;
}

/** What a change in bulk needs to know of a run. */
export interface LatestAttempt
  extends Pick<RunView, 'runId' | 'jobId' | 'status' | 'epoch' | 'trigger' | 'scheduledAtMs'> {
  /** Undefined when it was deleted. */
  readonly job: Pick<Job, 'namespace' | 'userId'> | undefined;
}

export interface RunList {
  readonly runs: readonly ListedRun[];
  /** Where looking stopped before the limit was reached: more may follow. Undefined: nothing does. */
  readonly stoppedAt: RunCursor | WaitingCursor | undefined;
}

/** Whether it is one of the failures that are alike, where those are asked for. Of a deleted job, nobody knows what ran it. */
export function isOfFailure(
  { failure, failureKey = '' }: Pick<RunQuery, 'failure' | 'failureKey'>,
  { run, job }: { run: Pick<RunView, 'error'>; job: Pick<Job, 'handler' | 'namespace'> | undefined },
): boolean {
  if (failure === undefined) return true;
  if (run.error === undefined || job === undefined) return false;
  const { fingerprint } = errorGroupOf(job.handler, run.error);
  return shownFingerprint(failureKey, { namespace: job.namespace, fingerprint }) === failure;
}

/** How long before `since` a run that ended badly after it may have been handed out. */
export const LOOK_BACK_MS = 24 * 3_600_000;

/**
 * Up to millions of runs wait. They are listed by themselves, when nothing but QUEUED is asked for, or among the others of one job;
 * never among the others of all jobs.
 */
export function listsWaiting({ jobId, statuses }: RunFilter): 'only' | 'too' | 'not' {
  if (jobId !== undefined) return asksFor(statuses, 'QUEUED') ? 'too' : 'not';
  return statuses?.length === 1 && statuses[0] === 'QUEUED' ? 'only' : 'not';
}

/** Whether the list has what waits of a run before its ended attempts, which are then left out of a list of last attempts. */
export function listsNextAttempts(query: RunFilter): boolean {
  const { error, failure, workerId, untilMs } = query;
  return (
    [error, failure, workerId, untilMs].every((given) => given === undefined) && listsWaiting(query) === 'too'
  );
}

/** What ended so may be tried again. */
export const MAY_FOLLOW: readonly RunStatus[] = ['FAILED', 'TIMED_OUT', 'LOST', 'RETURNED'];

export function asksFor(statuses: readonly RunStatus[] | undefined, ...any: readonly RunStatus[]): boolean {
  return statuses === undefined || statuses.length === 0 || any.some((status) => statuses.includes(status));
}

/** Newest first. */
export function compareRunCursors(a: RunCursor, b: RunCursor): number {
  if (a.atMs !== b.atMs) return b.atMs - a.atMs;
  if (a.runId !== b.runId) return a.runId < b.runId ? 1 : -1;
  return b.epoch - a.epoch;
}

/** What the runs of a job are doing. */
export interface JobActivity {
  readonly isRunning: boolean;
  /** Any run of it waits, also for a later instant. */
  readonly isWaiting: boolean;
  /** Runs whose instant has come, or that are tried again; counted up to WAITING_RUNS_MAX. */
  readonly waitingRuns: number;
  /** What the first of them waits for. */
  readonly waitsFor: WaitsFor | undefined;
}

/** In a list, of each job. */
export const WAITING_LISTED_MAX = 100;

/** The new run. */
export interface Redrive {
  readonly runId: RunId;
  readonly nowMs: number;
  readonly request?: RunRequest | undefined;
  readonly audit?: AuditEntry;
}

export interface RunStore {
  /** What waits of the job, in the order of instants, whatever it waits for; at most limit. */
  pending(jobId: JobId, limit: number): Promise<PendingRun[]>;
  /** Newest first: alive and waiting ones before the history. */
  ofJob(jobId: JobId, page: RunPage, nowMs: number): Promise<RunView[]>;
  /** Newest first, across jobs; a call looks through a bounded number of runs. */
  list(query: RunQuery): Promise<RunList>;
  latestOfJob(jobId: JobId, nowMs: number): Promise<RunView | undefined>;
  activityOfJob(jobId: JobId, nowMs: number): Promise<JobActivity>;
  /** Of each job that has any: runs that wait, of the first WAITING_LISTED_MAX, and what the earliest of them waits for. */
  waitingOfJobs(
    jobIds: readonly JobId[],
    nowMs: number,
  ): Promise<ReadonlyMap<JobId, Pick<JobActivity, 'waitingRuns' | 'waitsFor'>>>;
  /** Of each job that has any: the attempt that was handed to a worker or ended last, without its result. */
  lastOfJobs(jobIds: readonly JobId[]): Promise<ReadonlyMap<JobId, RunView>>;
  /** The latest attempt of each run that there is, as attempts would show it, with its job: one read, whatever their number. */
  latest(runIds: readonly RunId[], nowMs: number): Promise<ReadonlyMap<RunId, LatestAttempt>>;
  /** Every attempt of one run, latest first. */
  attempts(runId: RunId, nowMs: number): Promise<RunView[]>;
  onWorker(workerId: string, page: RunPage, nowMs: number): Promise<RunView[]>;
  /** Latest first; `before` is the cursor of the last one read, since a failing batch dies in one instant. */
  deadLetters(query: DeadLetterQuery): Promise<DeadLetterList>;
  deadLetter(runId: RunId): Promise<DeadLetter | undefined>;
  /** Marks the letter as redriven and enqueues the new run, in one transaction. False: no letter, or no job left. */
  redrive(runId: RunId, as: Redrive): Promise<boolean>;
  /** What a person said when they asked for the run; undefined: nothing, or nobody asked. */
  request(runId: RunId): Promise<RunRequest | undefined>;
  /** The runs that the run was redriven or run again as, the latest first. */
  repeatsOf(runId: RunId, limit: number): Promise<RunRepeat[]>;
}
