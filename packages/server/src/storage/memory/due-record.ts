/** The rows of `cursors` and `due` as the memory adapter keeps them. */
import {
  isFirstEpoch,
  isRecurring,
  type Job,
  type JobId,
  type PendingRun,
  type PendingState,
  type RunId,
} from '@carillon/domain';
import type { Cursor, NewCursor, NewRun, RunRequest } from '../due.ts';
import { type LaneKey, laneOf } from '../lane.ts';

export interface CursorRecord extends Cursor {
  /** The job is paused: nobody but people sees the row. */
  readonly held: boolean;
}

export interface RunRecord {
  readonly runId: RunId;
  readonly jobId: JobId;
  readonly shard: number;
  readonly lane: LaneKey;
  readonly laneAtMs: number;
  readonly fireAtMs: number;
  readonly nominalAtMs: number;
  readonly jobVersion: number;
  readonly handler: string;
  readonly expiresAtMs: number | undefined;
  readonly trigger: NewRun['trigger'];
  readonly endsJob: boolean;
  readonly attempt: number;
  readonly crashes: number;
  /** The epoch that the next handing-out will have. */
  readonly epoch: number;
  readonly state: PendingState;
  /** It holds a slot of its job. */
  readonly admitted: boolean;
  readonly held: boolean;
  readonly request: RunRequest | undefined;
}

/** The only run of a one-off is open from the start; whatever comes later asks for a slot. */
export function runRecord(job: Job, run: NewRun, state: PendingState): RunRecord {
  return {
    runId: run.runId,
    jobId: job.jobId,
    shard: job.shard,
    laneAtMs: run.fireAtMs,
    fireAtMs: run.fireAtMs,
    nominalAtMs: run.nominalAtMs,
    trigger: run.trigger,
    endsJob: run.endsJob,
    attempt: 1,
    crashes: 0,
    epoch: 1,
    state,
    admitted: false,
    held: job.status === 'PAUSED' && !isAskedFor(run),
    request: run.request,
    ...runTerms(job, run),
  };
}

/** What a person asks for right now runs though the job is paused. */
export function isAskedFor({ trigger }: { readonly trigger: NewRun['trigger'] }): boolean {
  return trigger === 'manual' || trigger === 'redrive';
}

/** Its slot is taken. What a person asked for and nothing held up begins its wait for a worker here. */
export function openedAt(run: RunRecord, nowMs: number): RunRecord {
  const laneAtMs = Math.max(run.fireAtMs, nowMs);
  const isPrompt = run.state === 'planned' && run.trigger === 'manual' && run.epoch === 1;
  return { ...run, state: 'open', admitted: true, laneAtMs, fireAtMs: isPrompt ? laneAtMs : run.fireAtMs };
}

export function isRepeat({ trigger, request }: Pick<RunRecord, 'trigger' | 'request'>): boolean {
  return trigger === 'redrive' || (trigger === 'manual' && request?.originRunId !== undefined);
}

/** When it should have started: at its nominal instant, unless it waited for a slot of its job, was handed out before or repeats another. */
export function dueAtMs(run: RunRecord): number {
  const { attempt, epoch, laneAtMs, fireAtMs, nominalAtMs } = run;
  const isFirst = attempt === 1 && isFirstEpoch(epoch) && !isRepeat(run);
  return isFirst && laneAtMs <= fireAtMs ? nominalAtMs : Math.max(fireAtMs, laneAtMs);
}

export function cursorRecord(job: Job, cursor: NewCursor): CursorRecord {
  return {
    jobId: job.jobId,
    shard: job.shard,
    fireAtMs: cursor.fireAtMs,
    nominalAtMs: cursor.nominalAtMs,
    resumedAtMs: undefined,
    held: job.status === 'PAUSED',
    ...cursorTerms(job),
  };
}

/** The row under the job's present definition; in another lane it stands as from now on. */
export function refreshedRun(record: RunRecord, job: Job, nowMs: number): RunRecord {
  const terms = runTerms(job, record);
  const isMoved =
    terms.lane.priority !== record.lane.priority ||
    terms.lane.handlerKey !== record.lane.handlerKey ||
    terms.lane.tenant !== record.lane.tenant;
  return { ...record, ...terms, laneAtMs: isMoved ? Math.max(record.laneAtMs, nowMs) : record.laneAtMs };
}

export function cursorTerms(job: Job): Pick<Cursor, 'jobVersion' | 'schedule' | 'misfire' | 'skips'> {
  if (!isRecurring(job.schedule)) throw new Error(`job ${job.jobId} has a cursor but no recurring schedule`);
  return { jobVersion: job.version, schedule: job.schedule, misfire: job.misfire, skips: job.skips };
}

export function runTerms(job: Job, { fireAtMs }: { readonly fireAtMs: number }) {
  return {
    jobVersion: job.version,
    lane: laneOf(job),
    handler: job.handler,
    expiresAtMs: job.startTimeoutMs === undefined ? undefined : fireAtMs + job.startTimeoutMs,
  };
}

/** The only occurrence of a one-off, never handed out: what an edit of the schedule replaces. */
export function isUnstarted(record: RunRecord): boolean {
  return record.trigger === 'once' && record.epoch === 1;
}

export function shownTrigger(trigger: NewRun['trigger']): PendingRun['trigger'] {
  return trigger === 'once' ? 'schedule' : trigger;
}

export function pendingRun(record: RunRecord): PendingRun {
  const { jobId, runId, shard, fireAtMs, nominalAtMs, attempt, handler, expiresAtMs, state, held } = record;
  return {
    ...{ jobId, runId, shard, priority: record.lane.priority, fireAtMs, nominalAtMs },
    ...{ trigger: shownTrigger(record.trigger), attempt, handler, expiresAtMs, state, held },
  };
}
