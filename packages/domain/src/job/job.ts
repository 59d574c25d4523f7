/**
 * A job: what can be run, how and when. Only people (and the end of its schedule) change it; every change makes a new
 * version, and whatever was planned under an older version is planned again.
 */
import type { JobId, JsonObject } from '../ids.ts';
import type { RetryPolicy } from '../retry/retry-policy.ts';
import type { MisfirePolicy, Schedule } from '../schedule/schedule.ts';
import type { SkippedFire } from '../schedule/skipped-fires.ts';
import type { InputsOf, ValuesOf } from './field-kinds.ts';
import type { JOB_FIELDS, SCHEDULE_FIELDS } from './job-fields.ts';

export interface JobDefinition extends ValuesOf<typeof JOB_FIELDS> {
  readonly namespace: string;
  readonly name: string;
  readonly handler: string;
  /** JSON text of an object: parsed only where a handler needs it, so the hot path never pays for it. */
  readonly payload: string;
  readonly schedule: Schedule;
  readonly misfire: MisfirePolicy;
  readonly retry: RetryPolicy;
}

export type Labels = JobDefinition['labels'];

export interface Job extends JobDefinition {
  readonly jobId: JobId;
  readonly shard: number;
  readonly version: number;
  readonly status: JobStatus;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Fires that a person has skipped, the earliest first; those that have passed may still be among them. */
  readonly skips?: readonly SkippedFire[] | undefined;
}

/** A job as somebody asks for it: words and numbers whose shape is right and whose meaning nobody has judged yet. */
export type JobInput = InputsOf<typeof JOB_FIELDS>;
export type ScheduleInput = InputsOf<typeof SCHEDULE_FIELDS>;
/** What a change names; everything else of the job stays. */
export type JobPatch = JobInput;

export const PAYLOAD_BYTES_MAX = 256 * 1024;
export const NAME_LENGTH_MAX = 200;
/** Runs of one job that may wait behind its own limit; one more is skipped with reason queue_full (hazard 34). */
export const QUEUED_PER_JOB_MAX = 1_000;

/** The payload as a value, for faces that show it. */
export function payloadOf(job: Pick<JobDefinition, 'payload'>): JsonObject {
  return JSON.parse(job.payload) as JsonObject;
}

export const JOB_STATUSES = ['SCHEDULED', 'PAUSED', 'CANCELLED', 'COMPLETED', 'FAILED'] as const;
/** The status of the job itself, whatever its runs do. */
export type JobStatus = (typeof JOB_STATUSES)[number];

export const SHOWN_JOB_STATUSES = [
  'SCHEDULED',
  'RUNNING',
  'PAUSED',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
] as const;
/** The status as every interface shows it. */
export type ShownJobStatus = (typeof SHOWN_JOB_STATUSES)[number];

/**
 * Paused and cancelled were requested by a person and come first; then a living run, then one that waits: a finished job that
 * is run again is not finished.
 */
export function shownStatus(
  status: JobStatus,
  { isRunning, isWaiting }: { isRunning: boolean; isWaiting: boolean },
): ShownJobStatus {
  if (status === 'PAUSED' || status === 'CANCELLED') return status;
  if (isRunning) return 'RUNNING';
  return isWaiting ? 'SCHEDULED' : status;
}

/** The words of GET /jobs/{id}/status. */
export const JOB_STATES = ['pending', 'running', 'completed', 'failed', 'paused', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

export function stateWord(status: ShownJobStatus): JobState {
  return status === 'SCHEDULED' ? 'pending' : (status.toLowerCase() as Lowercase<typeof status>);
}

/** Runs that wait are counted up to here. */
export const WAITING_RUNS_MAX = 1_000;

/** A finished one-off can be run again by hand, but its own state stays; editing its schedule brings it back to SCHEDULED. */
const MOVES: Record<JobStatus, readonly JobStatus[]> = {
  SCHEDULED: ['PAUSED', 'CANCELLED', 'COMPLETED', 'FAILED'],
  PAUSED: ['SCHEDULED', 'CANCELLED', 'COMPLETED', 'FAILED'],
  COMPLETED: ['SCHEDULED', 'CANCELLED'],
  FAILED: ['SCHEDULED', 'CANCELLED'],
  // Only where its definition is applied again by its key.
  CANCELLED: ['SCHEDULED'],
};

export function canMoveJob(from: JobStatus, to: JobStatus): boolean {
  return MOVES[from].includes(to);
}

/**
 * Priority decides which of the runs that wait get the next free slots: the highest first. So that nothing starves, a priority
 * whose oldest run has waited for long gets a share of the slots in any case.
 */
export const PRIORITIES = ['low', 'medium', 'high'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A run that has waited for this long is starving. */
export const STARVING_MS = 10 * 60_000;
/** One of so many slots goes to those who starve, however much that is more urgent waits. */
export const STARVING_SHARE = 8;

/** Jobs are spread over a fixed number of virtual shards; the number is part of the stored data and never changes. */
export const SHARD_COUNT = 64;

/** A job belongs to the shard of its id's hash (FNV-1a), for life. */
export function shardOf(jobId: JobId): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < jobId.length; i += 1) {
    hash ^= jobId.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return (hash ^ (hash >>> 16)) & (SHARD_COUNT - 1);
}

/** Work on many jobs or dead letters by one request: what can be done, and how much of it at once. */
export const BULK_ACTIONS = ['pause', 'resume', 'cancel'] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

/** Per request: about two seconds of work. */
export const BULK_JOBS_MAX = 1_000;
export const BULK_LETTERS_MAX = 1_000;
export const BULK_RUNS_MAX = 1_000;
