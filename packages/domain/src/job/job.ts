/**
 * A job: what can be run, how and when. Only people (and the end of its schedule) change it; every change makes a new
 * version, and whatever was planned under an older version is planned again.
 */
import type { JobId, JsonObject } from '../ids.ts';
import type { RetryPolicy } from '../retry/retry-policy.ts';
import type { MisfirePolicy, Schedule } from '../schedule/schedule.ts';
import type { JobStatus } from './job-status.ts';
import type { Priority } from './priority.ts';

/** When a run becomes due while max_concurrency runs of its job are alive: wait, give up, or stop the oldest and take its place. */
export type OverlapPolicy = 'queue' | 'skip' | 'replace';

/** For people, to find jobs by. */
export type Labels = Readonly<Record<string, string>>;
/** What a run of the job takes up while it runs. */
export type Resources = Readonly<Record<string, number>>;

export interface JobDefinition {
  readonly namespace: string;
  readonly name: string;
  readonly userId: string | undefined;
  readonly handler: string;
  /** JSON text of an object: parsed only where a handler needs it, so the hot path never pays for it. */
  readonly payload: string;
  readonly schedule: Schedule;
  readonly misfire: MisfirePolicy;
  readonly priority: Priority;
  readonly maxConcurrency: number;
  readonly overlap: OverlapPolicy;
  readonly retry: RetryPolicy;
  /** Longest time one attempt may run. */
  readonly timeoutMs: number;
  /** Longest time a run may wait for a start; waiting is never charged to timeoutMs. Undefined: as long as it takes. */
  readonly startTimeoutMs: number | undefined;
  readonly labels: Labels;
  readonly resources: Resources;
}

export interface Job extends JobDefinition {
  readonly jobId: JobId;
  readonly shard: number;
  readonly version: number;
  readonly status: JobStatus;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export const PAYLOAD_BYTES_MAX = 256 * 1024;
export const NAME_LENGTH_MAX = 200;
export const TIMEOUT_MS_DEFAULT = 5 * 60_000;
export const TIMEOUT_MS_MAX = 7 * 24 * 3_600_000;
export const CONCURRENCY_MAX = 1_000;
/** Runs of one job that may wait behind its own limit; one more is skipped with reason queue_full (hazard 34). */
export const QUEUED_PER_JOB_MAX = 1_000;

/** The payload as a value, for faces that show it. */
export function payloadOf(job: Pick<JobDefinition, 'payload'>): JsonObject {
  return JSON.parse(job.payload) as JsonObject;
}
