/**
 * What happened, as listeners are told: which kinds there are and what each tells. An event is recorded with the very change
 * it tells of, so it is exactly as durable.
 */
import type { JobId, NodeId, RunId, WorkerId } from '../ids.ts';
import type { Labels } from '../job/job.ts';
import type { RunTrigger } from '../run/run.ts';
import type { RunStatus } from '../run/run-status.ts';
import type { ScheduleType } from '../schedule/schedule.ts';
import type { EventPlace } from './event-place.ts';

export const EVENT_KINDS = [
  'job.created',
  'job.updated',
  'job.paused',
  'job.resumed',
  'job.cancelled',
  'job.deleted',
  'run.started',
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
}

/** The worker or the server that an event is about. */
export interface EventMember {
  readonly workerId: WorkerId | undefined;
  readonly nodeId: NodeId;
}

export interface RecordedEvent {
  readonly place: EventPlace;
  readonly kind: EventKind;
  readonly atMs: number;
  /** Undefined for members, and for runs of jobs that are gone without a trace. */
  readonly job: EventJob | undefined;
  readonly run: EventRun | undefined;
  readonly member: EventMember | undefined;
}

/** How the end of an attempt is told: tried again is no end, whatever the attempt's own status says. */
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
