/** The rows of `due` as the memory adapter keeps them: what the ports show of them, and what only the storage knows. */
import {
  isRecurring,
  type Job,
  type JobId,
  type PendingRun,
  type Priority,
  type RunId,
} from '@carillon/domain';
import type { Cursor, DueRow, FirstDue, NewCursor, NewRun } from '../due.ts';

interface PlacedRecord {
  /** Second half of the row's place in its lane: the run's id, or the job's id for a cursor (a job has at most one). */
  readonly rowId: string;
  readonly jobId: JobId;
  readonly shard: number;
  readonly priority: Priority;
  readonly fireAtMs: number;
  readonly nominalAtMs: number;
  readonly jobVersion: number;
  /** The job is paused: nobody but people sees the row. */
  readonly held: boolean;
  readonly handler: string;
  readonly maxConcurrency: number;
  readonly overlap: PendingRun['overlap'];
  readonly startTimeoutMs: number | undefined;
}

export interface CursorRecord extends PlacedRecord {
  readonly kind: 'cursor';
  readonly schedule: Cursor['schedule'];
  readonly misfire: Cursor['misfire'];
}

export interface RunRecord extends PlacedRecord {
  readonly kind: 'run';
  readonly runId: RunId;
  readonly trigger: NewRun['trigger'];
  readonly endsJob: boolean;
  readonly attempt: number;
  readonly crashes: number;
  /** The epoch that the next handing-out will have. */
  readonly epoch: number;
  readonly blockedReason: string | undefined;
}

export type DueRecord = CursorRecord | RunRecord;

export function firstRecord(job: Job, first: FirstDue): DueRecord {
  return first.kind === 'run' ? runRecord(job, first.run) : cursorRecord(job, first.cursor);
}

export function runRecord(job: Job, run: NewRun): RunRecord {
  return {
    kind: 'run',
    rowId: run.runId,
    runId: run.runId,
    jobId: job.jobId,
    shard: job.shard,
    fireAtMs: run.fireAtMs,
    nominalAtMs: run.nominalAtMs,
    trigger: run.trigger,
    endsJob: run.endsJob,
    attempt: 1,
    crashes: 0,
    epoch: 1,
    blockedReason: undefined,
    held: job.status === 'PAUSED' && !isAskedFor(run),
    ...runTerms(job),
  };
}

/** What a person asks for right now runs though the job is paused. */
export function isAskedFor(row: {
  readonly kind?: 'cursor' | 'run';
  readonly trigger?: NewRun['trigger'];
}): boolean {
  const { trigger } = row;
  return trigger === 'manual' || trigger === 'redrive';
}

function cursorRecord(job: Job, cursor: NewCursor): CursorRecord {
  return {
    kind: 'cursor',
    rowId: job.jobId,
    jobId: job.jobId,
    shard: job.shard,
    fireAtMs: cursor.fireAtMs,
    nominalAtMs: cursor.nominalAtMs,
    held: job.status === 'PAUSED',
    ...cursorTerms(job),
  };
}

/** The row under the job's present definition. */
export function refreshed(record: DueRecord, job: Job): DueRecord {
  return record.kind === 'run' ? { ...record, ...runTerms(job) } : { ...record, ...cursorTerms(job) };
}

function runTerms(job: Job) {
  return {
    jobVersion: job.version,
    priority: job.priority,
    handler: job.handler,
    maxConcurrency: job.maxConcurrency,
    overlap: job.overlap,
    startTimeoutMs: job.startTimeoutMs,
  };
}

function cursorTerms(job: Job) {
  if (!isRecurring(job.schedule)) throw new Error(`job ${job.jobId} has a cursor but no recurring schedule`);
  return { ...runTerms(job), schedule: job.schedule, misfire: job.misfire };
}

/** The only occurrence of a one-off, never handed out: together with cursors, what an edit of the schedule replaces. */
export function isPlan(record: DueRecord): boolean {
  return record.kind === 'cursor' || (record.trigger === 'once' && record.epoch === 1);
}

export function shownTrigger(trigger: NewRun['trigger']): PendingRun['trigger'] {
  return trigger === 'once' ? 'schedule' : trigger;
}

export function dueRow(record: DueRecord): DueRow {
  const { jobId, shard, priority, fireAtMs, nominalAtMs, handler, maxConcurrency, overlap, startTimeoutMs } =
    record;
  const common = {
    ...{ jobId, shard, priority, fireAtMs, nominalAtMs },
    ...{ handler, maxConcurrency, overlap, startTimeoutMs },
  };
  if (record.kind === 'cursor') {
    const { jobVersion, schedule, misfire } = record;
    return { kind: 'cursor', ...common, jobVersion, schedule, misfire };
  }
  const { runId, attempt } = record;
  return { kind: 'run', ...common, runId, trigger: shownTrigger(record.trigger), attempt };
}
