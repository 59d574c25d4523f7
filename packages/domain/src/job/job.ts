/**
 * A job: what can be run, how and when. Only people (and the end of its schedule) change it; every change makes a new
 * version, and whatever was planned under an older version is planned again.
 */
import type { JobId, JsonObject } from '../ids.ts';
import type { RetryPolicy } from '../retry/retry-policy.ts';
import type { MisfirePolicy, Schedule } from '../schedule/schedule.ts';
import type { InputsOf, ValuesOf } from './field-kinds.ts';
import type { JOB_FIELDS, SCHEDULE_FIELDS } from './job-fields.ts';
import type { JobStatus } from './job-status.ts';

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
