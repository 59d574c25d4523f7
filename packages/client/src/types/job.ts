/** Jobs in the words of the REST interface: what is sent can be read back under the same names. */
import type { Run } from './run.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

export type ScheduleType = 'IMMEDIATE' | 'FUTURE' | 'CRON' | 'INTERVAL';
export type JobStatus = 'SCHEDULED' | 'PAUSED' | 'CANCELLED' | 'COMPLETED' | 'FAILED';
export type JobState = 'pending' | 'running' | 'completed' | 'failed' | 'paused' | 'cancelled';
export type Priority = 'low' | 'medium' | 'high';
/** ISO 8601 text, or a UNIX timestamp in seconds. */
export type Instant = string | number;

/** Everything about when a job runs. */
export interface ScheduleFields {
  /** Left out: inferred from the other fields. */
  readonly schedule_type?: ScheduleType | 'one-time' | 'recurring' | null;
  readonly schedule_time?: Instant | null;
  /** 5 fields, or 6 with seconds first. */
  readonly cron_expression?: string | null;
  /** `15m`, `6h`, `1d`, `PT15M`, or a number of seconds. */
  readonly interval?: string | number | null;
  readonly frequency?: 'hourly' | 'daily' | 'weekly' | 'monthly' | 'yearly' | null;
  /** IANA name. */
  readonly time_zone?: string | null;
  readonly start_at?: Instant | null;
  readonly end_at?: Instant | null;
  readonly daylight_saving?: {
    readonly gap?: 'run_after' | 'skip' | null;
    readonly overlap?: 'first' | 'second' | 'both' | null;
  } | null;
  readonly spread_seconds?: number | null;
}

/** What a job can be given; null means the default. */
export interface JobFields extends ScheduleFields {
  readonly name?: string | null;
  readonly handler?: string | null;
  readonly payload?: JsonObject | null;
  readonly priority?: Priority | null;
  readonly max_retries?: number | null;
  readonly retry?: {
    readonly strategy?: 'none' | 'fixed' | 'exponential' | null;
    readonly delay_seconds?: number | null;
    readonly max_delay_seconds?: number | null;
    readonly jitter?: boolean | null;
    readonly deadline_seconds?: number | null;
  } | null;
  readonly misfire?: {
    readonly policy?: 'none' | 'last' | 'all' | null;
    readonly max_runs?: number | null;
    readonly window_seconds?: number | null;
  } | null;
  readonly max_concurrency?: number | null;
  readonly overlap?: 'queue' | 'skip' | 'replace' | null;
  readonly timeout_seconds?: number | null;
  readonly start_timeout_seconds?: number | null;
  readonly user_id?: string | null;
  readonly namespace?: string | null;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly resources?: Readonly<Record<string, number>> | null;
}

export interface NewJob extends JobFields {
  readonly name: string;
}

export interface Job {
  readonly job_id: string;
  readonly name: string;
  readonly namespace: string;
  readonly user_id: string | null;
  readonly status: JobStatus;
  readonly schedule_type: ScheduleType;
  readonly schedule_time: string | null;
  readonly cron_expression: string | null;
  readonly interval: string | null;
  readonly frequency: string | null;
  readonly time_zone: string | null;
  readonly start_at: string | null;
  readonly end_at: string | null;
  readonly daylight_saving: { readonly gap: string; readonly overlap: string } | null;
  readonly spread_seconds: number | null;
  readonly misfire: {
    readonly policy: string;
    readonly max_runs: number;
    readonly window_seconds: number;
  };
  readonly handler: string;
  readonly payload: JsonObject;
  readonly priority: Priority;
  readonly max_retries: number;
  readonly retry: {
    readonly strategy: string;
    readonly delay_seconds: number;
    readonly max_delay_seconds: number;
    readonly jitter: boolean;
    readonly deadline_seconds: number | null;
  };
  readonly max_concurrency: number;
  readonly overlap: string;
  readonly timeout_seconds: number;
  readonly start_timeout_seconds: number | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly resources: Readonly<Record<string, number>>;
  readonly version: number;
  readonly next_run_time: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface JobCreated {
  readonly job_id: string;
  readonly status: 'submitted';
  /** False: there already, made under the same idempotency key. */
  readonly created?: boolean;
}

/** One entry of a batch: accepted, or refused and why. */
export type BatchAnswer =
  | (JobCreated & { readonly created: boolean })
  | { readonly status: 'refused'; readonly error: Problem };

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly field?: string | undefined;
  readonly detail: string;
  readonly fix: string;
  readonly request_id: string;
}

export interface JobUpdated {
  readonly job_id: string;
  readonly status: 'updated';
  readonly version: number;
}

export interface JobChanged {
  readonly job_id: string;
  readonly status: 'paused' | 'resumed' | 'cancelled' | 'deleted';
}

export interface JobStatusReport {
  readonly job_id: string;
  readonly status: JobState;
  readonly last_updated: string;
  readonly latest_run: Run | null;
}

export interface UpcomingRun {
  readonly job_id: string;
  readonly name: string;
  readonly namespace: string;
  readonly user_id: string | null;
  readonly handler: string;
  readonly priority: Priority;
  readonly run_time: string;
}

export interface BulkRequest {
  readonly action: 'pause' | 'resume' | 'cancel';
  readonly filter: {
    readonly status?: string;
    readonly type?: string;
    readonly priority?: Priority;
    readonly user_id?: string;
    readonly namespace?: string;
    readonly label?: string | readonly string[];
    readonly handler?: string;
    readonly text?: string;
  };
  readonly dry_run?: boolean;
  /** The `next` of the report before, to go on with the rest. */
  readonly after?: string;
}

export interface BulkReport {
  readonly action: string;
  readonly dry_run: boolean;
  readonly matched: number;
  readonly changed: number;
  readonly refused: number;
  /** The first ids of those that matched. */
  readonly jobs: readonly string[];
  /** There are more: send it as `after`. */
  readonly next: string | null;
}
