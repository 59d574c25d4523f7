/**
 * What listeners receive: the kinds of events and the content of each. An event is recorded with the very change
 * it tells of, so it is exactly as durable.
 */
import type { JobId, NodeId, RunId, WorkerId } from '../ids.ts';
import type { Labels } from '../job/job.ts';
import type { RunProgress, RunStatus, RunTrigger } from '../run/run.ts';
import type { ScheduleType } from '../schedule/schedule.ts';

export const EVENT_KINDS = [
  'job.created',
  'job.updated',
  'job.paused',
  'job.resumed',
  'job.cancelled',
  'job.deleted',
  'run.started',
  'run.progress',
  'run.succeeded',
  'run.failed',
  'run.timed_out',
  'run.cancelled',
  'run.skipped',
  'run.retrying',
  'run.dead_lettered',
  'worker.joined',
  'worker.lost',
  'worker.left',
  'node.joined',
  'node.lost',
  'node.left',
  'gap',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** The job that an event is about, as it is when the event is read; of a deleted one, what was kept of it. */
export interface EventJob {
  readonly jobId: JobId;
  readonly name: string;
  readonly namespace: string;
  readonly userId: string | undefined;
  readonly handler: string | undefined;
  readonly scheduleType: ScheduleType | undefined;
  readonly labels: Labels;
}

/** The attempt that an event is about. */
export interface EventRun {
  readonly runId: RunId;
  readonly jobId: JobId;
  readonly attempt: number;
  readonly epoch: number;
  readonly status: RunStatus;
  readonly trigger: RunTrigger;
  readonly scheduledAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
  readonly executorId: string | undefined;
  readonly error: string | undefined;
  readonly reason: string | undefined;
  readonly occurrences: number;
  /** Of run.retrying: when the next attempt is due. */
  readonly retryAtMs: number | undefined;
  /** Of run.dead_lettered: why it was given up. */
  readonly deadReason: string | undefined;
  /** The latest when the event is read. */
  readonly progress: RunProgress | undefined;
}

/** The worker or the server that an event is about. */
export interface EventMember {
  readonly workerId: WorkerId | undefined;
  readonly nodeId: NodeId;
}

export interface RecordedEvent {
  readonly cursor: EventCursor;
  readonly kind: EventKind;
  readonly atMs: number;
  /** Undefined for members, and for runs of jobs that are gone without a trace. */
  readonly job: EventJob | undefined;
  readonly run: EventRun | undefined;
  readonly member: EventMember | undefined;
}

/** The kind of event for the end of an attempt: tried again is no end, whatever the attempt's own status says. */
export function kindOfEnd(status: RunStatus, { isTriedAgain }: { isTriedAgain: boolean }): EventKind {
  if (isTriedAgain) return 'run.retrying';
  switch (status) {
    case 'SUCCESS':
      return 'run.succeeded';
    case 'TIMED_OUT':
      return 'run.timed_out';
    case 'CANCELLED':
      return 'run.cancelled';
    case 'SKIPPED':
      return 'run.skipped';
    default:
      return 'run.failed';
  }
}

/**
 * Where an event stands in the one order of all: the transaction that recorded it, its row, and its number within the row.
 * Written out it is the event's id, and reading goes on exactly after it.
 */
export interface EventCursor {
  /** Counted on through the generations of the storage. */
  readonly xid: number;
  readonly seq: number;
  /** ROW_END: after all of the row. */
  readonly index: number;
}

/** So many transactions lie between two generations of the storage. */
export const CURSORS_PER_GENERATION = 2 ** 38;

export const ROW_END = 2 ** 31 - 1;
/** Before everything. */
export const FIRST_EVENT_CURSOR: EventCursor = { xid: 0, seq: 0, index: ROW_END };

export function writeEventCursor({ xid, seq, index }: EventCursor): string {
  return index === ROW_END ? `${xid}-${seq}` : `${xid}-${seq}-${index}`;
}

/** Undefined: not written by writeEventCursor. */
export function readEventCursor(text: string): EventCursor | undefined {
  const [, xid, seq, index] = /^(\d{1,15})-(\d{1,15})(?:-(\d{1,9}))?$/.exec(text) ?? [];
  if (xid === undefined) return undefined;
  return { xid: Number(xid), seq: Number(seq), index: index === undefined ? ROW_END : Number(index) };
}

/** Of the storage, when the event was recorded. */
export function generationOf({ xid }: Pick<EventCursor, 'xid'>): number {
  return Math.floor(xid / CURSORS_PER_GENERATION);
}

export function compareEventCursors(a: EventCursor, b: EventCursor): number {
  return a.xid - b.xid || a.seq - b.seq || a.index - b.index;
}
