/** Written by scripts/generate-client-types.ts from the schemas of packages/contract: edit those, then `npm run generate`. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

export type ScheduleType = 'IMMEDIATE' | 'FUTURE' | 'CRON' | 'INTERVAL';

export type JobStatus = 'SCHEDULED' | 'RUNNING' | 'PAUSED' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

export type JobState = 'pending' | 'running' | 'completed' | 'failed' | 'paused' | 'cancelled';

export type Priority = 'low' | 'medium' | 'high';

export type RunStatus =
  | 'QUEUED'
  | 'CLAIMED'
  | 'RUNNING'
  | 'CANCELLING'
  | 'SUCCESS'
  | 'FAILED'
  | 'CANCELLED'
  | 'TIMED_OUT'
  | 'SKIPPED'
  | 'RETURNED'
  | 'LOST';

export type DeadReason =
  | 'retries_exhausted'
  | 'not_retryable'
  | 'deadline_passed'
  | 'crashed_workers'
  | 'never_started'
  | 'retries_stopped';

export type Role = 'viewer' | 'observer' | 'operator' | 'editor' | 'admin';

/** Other orders than that of creation are given for up to 10,000 jobs. */
export type JobSort = 'created_at' | 'name' | 'priority' | 'updated_at' | 'next_run_time';

/** ISO 8601 text, or a UNIX timestamp in seconds. */
export type Instant = string | number;

/** Everything about when a job runs. */
export interface ScheduleFields {
  /** Inferred from the other fields when left out. */
  readonly schedule_type?: ScheduleType | 'one_time' | 'one-time' | 'recurring' | null | undefined;
  /** FUTURE: when. INTERVAL: where the rhythm is counted from. ISO 8601 or a UNIX timestamp. */
  readonly schedule_time?: string | number | null | undefined;
  /** 5 fields, or 6 with seconds first. */
  readonly cron_expression?: string | null | undefined;
  /** Such as 90s, 15m, 1d or PT15M, or a number of seconds. */
  readonly interval?: string | number | null | undefined;
  /** hourly, daily, weekly, monthly or yearly. */
  readonly frequency?: 'hourly' | 'daily' | 'weekly' | 'monthly' | 'yearly' | null | undefined;
  /** An IANA name; UTC when left out. */
  readonly time_zone?: string | null | undefined;
  /** The first instant at which an occurrence may lie. */
  readonly start_at?: string | number | null | undefined;
  /** The last instant at which an occurrence may lie. */
  readonly end_at?: string | number | null | undefined;
  /** What becomes of times that do not exist, or exist twice. */
  readonly daylight_saving?: {
    readonly gap?: 'run_after' | 'skip' | null | undefined;
    readonly overlap?: 'first' | 'second' | 'both' | null | undefined;
  } | null | undefined;
  /** Delays every occurrence by a fixed share below this. */
  readonly spread_seconds?: number | null | undefined;
}

export interface PreviewRequest extends ScheduleFields {
  /** A job that is there: without schedule fields its own schedule is shown. Its skipped fires are marked, and it is not counted among the others. */
  readonly job_id?: string | null | undefined;
  /** Where other jobs are counted; that of the job, or the one the caller makes jobs in, when left out. */
  readonly namespace?: string | null | undefined;
  /** How many instants to show; 5 when left out. */
  readonly count?: number | null | undefined;
  /** Count from here instead of from now. */
  readonly after?: string | number | null | undefined;
  /** No instants after this one, at most 42 days later; the answer then counts them day by day. */
  readonly until?: string | number | null | undefined;
}

export interface SchedulePreview {
  readonly description: string;
  readonly schedule_type: ScheduleType;
  readonly time_zone: string;
  readonly fires: readonly {
    readonly at: string;
    /** The wall-clock time in the zone, with its offset. */
    readonly local: string;
    /** Of the job that was named: who has skipped this fire; null: nobody. */
    readonly skipped_by: string | null;
  }[];
  readonly warnings: readonly {
    readonly kind: 'gap' | 'overlap' | 'fixed_offset';
    readonly message: string;
    readonly at: string;
  }[];
  /** How often it fires on each day of the zone, from after to until; empty without until. */
  readonly per_day: readonly {
    readonly date: string;
    readonly count: number;
  }[];
  /** How many other recurring jobs of the namespace fire at the first 50 of these instants, as far as they are known; instants without any are left out. Jobs with a spread start beside them and are not counted. */
  readonly others_at: readonly {
    readonly at: string;
    /** Up to 1,000. */
    readonly count: number;
    /** True: there are more than were counted. */
    readonly more: boolean;
  }[];
}

/** What a job can be given; null means the default. */
export interface JobFields extends ScheduleFields {
  /** 1 to 200 characters; the key when left out. */
  readonly name?: string | null | undefined;
  /** What the caller knows it by: unique in its namespace, up to 200 characters. */
  readonly key?: string | null | undefined;
  /** What becomes of occurrences that could not start in time. */
  readonly misfire?: {
    readonly policy?: 'none' | 'last' | 'all' | null | undefined;
    readonly max_runs?: number | null | undefined;
    readonly window_seconds?: number | null | undefined;
  } | null | undefined;
  /** What runs it; inferred from the payload when left out. */
  readonly handler?: string | null | undefined;
  /** For the handler: at most 256 KiB and 64 levels deep. */
  readonly payload?: JsonObject | null | undefined;
  /** medium when left out. */
  readonly priority?: Priority | null | undefined;
  /** 0 to 100; 3 when left out. */
  readonly max_retries?: number | null | undefined;
  /** How failed attempts are tried again. */
  readonly retry?: {
    readonly strategy?: 'none' | 'fixed' | 'exponential' | null | undefined;
    readonly delay_seconds?: number | null | undefined;
    readonly max_delay_seconds?: number | null | undefined;
    readonly jitter?: boolean | null | undefined;
    readonly deadline_seconds?: number | null | undefined;
  } | null | undefined;
  /** Runs of this job at the same time; 1 when left out. */
  readonly max_concurrency?: number | null | undefined;
  /** What happens when that many are running; queue when left out. */
  readonly overlap?: 'queue' | 'skip' | 'replace' | null | undefined;
  /** The longest time one attempt may run; 300 when left out. */
  readonly timeout_seconds?: number | null | undefined;
  /** The longest time a run may wait for its start. */
  readonly start_timeout_seconds?: number | null | undefined;
  /** Whose job it is. */
  readonly user_id?: string | null | undefined;
  /** Where it lives; it cannot move later. */
  readonly namespace?: string | null | undefined;
  /** Names with texts, to find jobs by. */
  readonly labels?: Readonly<Record<string, string>> | null | undefined;
  /** Names with numbers: what a run takes up. */
  readonly resources?: Readonly<Record<string, number>> | null | undefined;
}

export interface NewJob extends JobFields {
  /** 1 to 200 characters; the key when left out. */
  readonly name: string;
}

export interface KeyedJob extends JobFields {
  /** What the caller knows it by: unique in its namespace, up to 200 characters. */
  readonly key: string;
}

/** Fields that the schedule of the job does not use are null. */
export interface Job {
  readonly job_id: string;
  readonly name: string;
  readonly key: string | null;
  readonly namespace: string;
  readonly user_id: string | null;
  /** RUNNING while a run of it is claimed or running, unless it was paused or cancelled. */
  readonly status: JobStatus;
  readonly schedule_type: ScheduleType;
  readonly schedule_time: string | null;
  readonly cron_expression: string | null;
  readonly interval: string | null;
  readonly frequency: string | null;
  readonly time_zone: string | null;
  readonly start_at: string | null;
  readonly end_at: string | null;
  readonly daylight_saving: {
    readonly gap: 'run_after' | 'skip';
    readonly overlap: 'first' | 'second' | 'both';
  } | null;
  readonly spread_seconds: number | null;
  readonly misfire: {
    readonly policy: 'none' | 'last' | 'all';
    readonly max_runs: number;
    readonly window_seconds: number;
  };
  readonly handler: string;
  readonly payload: JsonObject;
  readonly priority: Priority;
  readonly max_retries: number;
  readonly retry: {
    readonly strategy: 'none' | 'fixed' | 'exponential';
    readonly delay_seconds: number;
    readonly max_delay_seconds: number;
    readonly jitter: boolean;
    readonly deadline_seconds: number | null;
  };
  readonly max_concurrency: number;
  readonly overlap: 'queue' | 'skip' | 'replace';
  readonly timeout_seconds: number;
  readonly start_timeout_seconds: number | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly resources: Readonly<Record<string, number>>;
  readonly version: number;
  /** The next occurrence that nobody has skipped; null when none lies ahead. */
  readonly next_run_at: string | null;
  /** @deprecated The older name of next_run_at. */
  readonly next_run_time: string | null;
  /** Coming fires that a person has skipped, earliest first; the schedule goes on after them. In lists the first 3. */
  readonly skipped_fires: readonly {
    readonly at: string;
    /** The name of who skipped it; `key` and its name for a key of nobody. */
    readonly by: string;
    readonly skipped_at: string;
  }[];
  readonly created_at: string;
  readonly updated_at: string;
  /** What the user of user_id is called, where jobs are read; null when no user has that id. */
  readonly user_name?: string | null | undefined;
  /** Runs that are due and wait, counted up to 1000. In lists only with include=last_run, and up to 100. */
  readonly waiting_runs?: number | undefined;
  /** What the first of them waits for; null when none waits. In lists only with include=last_run. */
  readonly waiting_reason?: string | null | undefined;
  /** Its latest attempt, where it was asked for by include=last_run; null when it never had one. */
  readonly last_run?: Run | null | undefined;
}

export interface JobFilter {
  /** One or several, separated by commas. */
  readonly status?: string | readonly string[] | undefined;
  /** A schedule type, `one_time` or `recurring`. */
  readonly type?: string | undefined;
  readonly priority?: Priority | undefined;
  /** Whose jobs; "me" for those of the caller. */
  readonly user_id?: string | undefined;
  readonly namespace?: string | undefined;
  /** name:value; given several times, all must hold. */
  readonly label?: string | readonly string[] | undefined;
  readonly handler?: string | undefined;
  /** Part of the name, in any case. */
  readonly text?: string | undefined;
  /** Exactly this name. */
  readonly name?: string | undefined;
  /** Exactly this key. */
  readonly key?: string | undefined;
  /** Keys that begin with this. */
  readonly key_prefix?: string | undefined;
  /** Made at or after this instant. */
  readonly created_after?: Date | string | undefined;
  /** Made before this instant. */
  readonly created_before?: Date | string | undefined;
  /** -created_at, newest first, when left out. Other orders than that of creation are given for up to 10,000 jobs: narrow a larger list by user_id, namespace, label or status. */
  readonly sort?: 'created_at' | '-created_at' | 'name' | '-name' | 'priority' | '-priority' | 'updated_at' | '-updated_at' | 'next_run_time' | '-next_run_time' | 'next_run_at' | '-next_run_at' | undefined;
  /** payload: with the payloads, which are left out otherwise. last_run: with the latest attempt of each job. */
  readonly include?: string | readonly string[] | undefined;
  /** Where the list continues: take it from the Link header, or from "next" of the answer before. */
  readonly cursor?: string | undefined;
  /** Entries per answer; 50 when left out. */
  readonly limit?: number | undefined;
}

/** created false: accepted before, under the same key. */
export interface JobCreated extends JobChanged {
  readonly created: boolean;
}

/** One entry of a batch: accepted, or refused and why. */
export type BatchAnswer = {
  readonly job_id: string;
  readonly outcome: 'submitted';
  /** @deprecated The older name of outcome. */
  readonly status: 'submitted';
  /** False: accepted before, under the same Idempotency-Key. */
  readonly created: boolean;
} | {
  readonly outcome: 'refused';
  /** @deprecated The older name of outcome. */
  readonly status: 'refused';
  readonly error: Problem;
};

/** What a server of this version refuses with. A newer one may know more. */
export type ErrorCode =
  | 'body_not_json'
  | 'content_type_unsupported'
  | 'body_too_large'
  | 'request_malformed'
  | 'host_not_allowed'
  | 'credential_in_clear'
  | 'message_unreadable'
  | 'request_too_slow'
  | 'headers_too_large'
  | 'body_too_deep'
  | 'field_unknown'
  | 'field_invalid'
  | 'field_missing'
  | 'sort_too_wide'
  | 'field_conflict'
  | 'payload_too_large'
  | 'cron_invalid'
  | 'cron_never_fires'
  | 'interval_invalid'
  | 'zone_unknown'
  | 'time_invalid'
  | 'time_out_of_range'
  | 'schedule_never_fires'
  | 'fire_not_found'
  | 'fire_passed'
  | 'version_not_recorded'
  | 'job_not_recurring'
  | 'skips_full'
  | 'unauthorized'
  | 'certificate_refused'
  | 'forbidden'
  | 'sign_in_refused'
  | 'csrf_rejected'
  | 'rate_limited'
  | 'namespace_not_found'
  | 'namespace_exists'
  | 'namespace_recently_removed'
  | 'namespace_in_use'
  | 'handler_not_found'
  | 'user_not_found'
  | 'user_exists'
  | 'last_administrator'
  | 'password_required'
  | 'key_changed'
  | 'keys_full'
  | 'key_not_found'
  | 'signing_key_not_found'
  | 'signing_keys_full'
  | 'secret_not_found'
  | 'secret_unknown'
  | 'secret_changed'
  | 'secrets_full'
  | 'secrets_unsealed'
  | 'settings_of_nobody'
  | 'view_not_found'
  | 'view_name_taken'
  | 'views_full'
  | 'session_not_found'
  | 'job_not_found'
  | 'run_not_found'
  | 'checkpoint_not_found'
  | 'result_not_found'
  | 'artifact_not_found'
  | 'dead_letter_not_found'
  | 'worker_not_found'
  | 'method_not_allowed'
  | 'route_not_found'
  | 'job_key_taken'
  | 'job_already_finished'
  | 'job_cancelled'
  | 'job_changed'
  | 'job_still_running'
  | 'version_mismatch'
  | 'run_already_finished'
  | 'run_not_finished'
  | 'batch_refused'
  | 'log_elsewhere'
  | 'logs_unavailable'
  | 'range_not_satisfiable'
  | 'idempotency_key_reused'
  | 'too_many_listeners'
  | 'overloaded'
  | 'storage_unavailable'
  | 'internal';

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  /** What it is about. */
  readonly field?: string | undefined;
  readonly detail: string;
  /** What to do about it. */
  readonly fix: string;
  readonly request_id: string;
  /** Of a request that holds many: what is wrong with which entry. */
  readonly errors?: readonly {
    /** Which entry, counted from 0. */
    readonly index: number;
    readonly code: string;
    /** What it is about. */
    readonly field?: string | undefined;
    readonly detail: string;
    /** What to do about it. */
    readonly fix: string;
  }[] | undefined;
}

/** The job after a change. A key that may not read jobs gets only its id, status and version. */
export interface JobChanged {
  readonly job_id: string;
  readonly name?: string | undefined;
  readonly key?: string | null | undefined;
  readonly namespace?: string | undefined;
  readonly user_id?: string | null | undefined;
  /** RUNNING while a run of it is claimed or running, unless it was paused or cancelled. */
  readonly status: JobStatus;
  readonly schedule_type?: ScheduleType | undefined;
  readonly schedule_time?: string | null | undefined;
  readonly cron_expression?: string | null | undefined;
  readonly interval?: string | null | undefined;
  readonly frequency?: string | null | undefined;
  readonly time_zone?: string | null | undefined;
  readonly start_at?: string | null | undefined;
  readonly end_at?: string | null | undefined;
  readonly daylight_saving?: {
    readonly gap: 'run_after' | 'skip';
    readonly overlap: 'first' | 'second' | 'both';
  } | null | undefined;
  readonly spread_seconds?: number | null | undefined;
  readonly misfire?: {
    readonly policy: 'none' | 'last' | 'all';
    readonly max_runs: number;
    readonly window_seconds: number;
  } | undefined;
  readonly handler?: string | undefined;
  readonly payload?: JsonObject | undefined;
  readonly priority?: Priority | undefined;
  readonly max_retries?: number | undefined;
  readonly retry?: {
    readonly strategy: 'none' | 'fixed' | 'exponential';
    readonly delay_seconds: number;
    readonly max_delay_seconds: number;
    readonly jitter: boolean;
    readonly deadline_seconds: number | null;
  } | undefined;
  readonly max_concurrency?: number | undefined;
  readonly overlap?: 'queue' | 'skip' | 'replace' | undefined;
  readonly timeout_seconds?: number | undefined;
  readonly start_timeout_seconds?: number | null | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly resources?: Readonly<Record<string, number>> | undefined;
  readonly version: number;
  /** The next occurrence that nobody has skipped; null when none lies ahead. */
  readonly next_run_at?: string | null | undefined;
  /** @deprecated The older name of next_run_at. */
  readonly next_run_time?: string | null | undefined;
  /** Coming fires that a person has skipped, earliest first; the schedule goes on after them. In lists the first 3. */
  readonly skipped_fires?: readonly {
    readonly at: string;
    /** The name of who skipped it; `key` and its name for a key of nobody. */
    readonly by: string;
    readonly skipped_at: string;
  }[] | undefined;
  readonly created_at?: string | undefined;
  readonly updated_at?: string | undefined;
  /** What the user of user_id is called, where jobs are read; null when no user has that id. */
  readonly user_name?: string | null | undefined;
  /** Runs that are due and wait, counted up to 1000. In lists only with include=last_run, and up to 100. */
  readonly waiting_runs?: number | undefined;
  /** What the first of them waits for; null when none waits. In lists only with include=last_run. */
  readonly waiting_reason?: string | null | undefined;
  /** Its latest attempt, where it was asked for by include=last_run; null when it never had one. */
  readonly last_run?: Run | null | undefined;
  /** What was asked for. */
  readonly outcome: 'submitted' | 'updated' | 'paused' | 'resumed' | 'skipped' | 'unskipped' | 'cancelled';
  /** False: the job already was as requested, or had been accepted before. */
  readonly changed: boolean;
}

export interface JobRemoved {
  readonly job_id: string;
  readonly outcome: 'deleted';
  /** @deprecated The older name of outcome. */
  readonly status: 'deleted';
}

export interface JobApplied {
  readonly outcome: 'created' | 'updated' | 'unchanged';
  /** true: this is what would be; nothing was changed. */
  readonly dry_run: boolean;
  /** Of an update: the fields that differ. */
  readonly changes: readonly {
    readonly field: string;
    /** As it was. */
    readonly before: unknown;
    /** As it is now, or would be. */
    readonly after: unknown;
  }[];
  /** null where the job is not there: in a dry run. */
  readonly job_id: string | null;
  readonly name: string;
  readonly key: string | null;
  readonly namespace: string;
  readonly user_id: string | null;
  /** RUNNING while a run of it is claimed or running, unless it was paused or cancelled. */
  readonly status: JobStatus;
  readonly schedule_type: ScheduleType;
  readonly schedule_time: string | null;
  readonly cron_expression: string | null;
  readonly interval: string | null;
  readonly frequency: string | null;
  readonly time_zone: string | null;
  readonly start_at: string | null;
  readonly end_at: string | null;
  readonly daylight_saving: {
    readonly gap: 'run_after' | 'skip';
    readonly overlap: 'first' | 'second' | 'both';
  } | null;
  readonly spread_seconds: number | null;
  readonly misfire: {
    readonly policy: 'none' | 'last' | 'all';
    readonly max_runs: number;
    readonly window_seconds: number;
  };
  readonly handler: string;
  readonly payload: JsonObject;
  readonly priority: Priority;
  readonly max_retries: number;
  readonly retry: {
    readonly strategy: 'none' | 'fixed' | 'exponential';
    readonly delay_seconds: number;
    readonly max_delay_seconds: number;
    readonly jitter: boolean;
    readonly deadline_seconds: number | null;
  };
  readonly max_concurrency: number;
  readonly overlap: 'queue' | 'skip' | 'replace';
  readonly timeout_seconds: number;
  readonly start_timeout_seconds: number | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly resources: Readonly<Record<string, number>>;
  readonly version: number;
  /** The next occurrence that nobody has skipped; null when none lies ahead. */
  readonly next_run_at: string | null;
  /** @deprecated The older name of next_run_at. */
  readonly next_run_time: string | null;
  /** Coming fires that a person has skipped, earliest first; the schedule goes on after them. In lists the first 3. */
  readonly skipped_fires: readonly {
    readonly at: string;
    /** The name of who skipped it; `key` and its name for a key of nobody. */
    readonly by: string;
    readonly skipped_at: string;
  }[];
  readonly created_at: string;
  readonly updated_at: string;
  /** What the user of user_id is called, where jobs are read; null when no user has that id. */
  readonly user_name?: string | null | undefined;
  /** Runs that are due and wait, counted up to 1000. In lists only with include=last_run, and up to 100. */
  readonly waiting_runs?: number | undefined;
  /** What the first of them waits for; null when none waits. In lists only with include=last_run. */
  readonly waiting_reason?: string | null | undefined;
  /** Its latest attempt, where it was asked for by include=last_run; null when it never had one. */
  readonly last_run?: Run | null | undefined;
}

export interface JobStatusReport {
  readonly job_id: string;
  /** The status of the job in small letters, where SCHEDULED is called pending. */
  readonly status: JobState;
  readonly updated_at: string;
  /** @deprecated The older name of updated_at. */
  readonly last_updated: string;
  readonly latest_run: Run | null;
  /** Runs that are due and wait, counted up to 1000. */
  readonly waiting_runs: number;
  /** What the first of them waits for; null when none waits. */
  readonly waiting_reason: string | null;
}

export interface UpcomingRun {
  readonly job_id: string;
  readonly name: string;
  readonly namespace: string;
  readonly user_id: string | null;
  readonly handler: string;
  readonly priority: Priority;
  readonly run_at: string;
  /** @deprecated The older name of run_at. */
  readonly run_time: string;
}

export interface BulkRequest {
  readonly action: 'pause' | 'resume' | 'cancel';
  /** The filters of GET /api/jobs; at least one, so that nothing means everything by accident. */
  readonly filter?: {
    /** One or several, separated by commas. */
    readonly status?: string | readonly string[] | undefined;
    /** One or several, separated by commas. */
    readonly type?: string | undefined;
    readonly priority?: Priority | undefined;
    /** Whose jobs; "me" for those of the caller. */
    readonly user_id?: string | undefined;
    readonly namespace?: string | undefined;
    /** name:value; given several times, all must hold. */
    readonly label?: string | readonly string[] | undefined;
    readonly handler?: string | undefined;
    /** Part of the name, in any case. */
    readonly text?: string | undefined;
    /** Exactly this name. */
    readonly name?: string | undefined;
    /** Exactly this key. */
    readonly key?: string | undefined;
    /** Keys that begin with this. */
    readonly key_prefix?: string | undefined;
    /** Made at or after this instant. */
    readonly created_after?: string | undefined;
    /** Made before this instant. */
    readonly created_before?: string | undefined;
  } | null | undefined;
  /** Instead of a filter: these jobs, up to 1000. */
  readonly job_ids?: readonly string[] | null | undefined;
  /** Only say what would be changed. */
  readonly dry_run?: boolean | null | undefined;
  /** Where the list continues: take it from the Link header, or from "next" of the answer before. */
  readonly cursor?: string | null | undefined;
  /** @deprecated The older name of cursor. */
  readonly after?: string | null | undefined;
}

export interface BulkReport {
  readonly action: 'pause' | 'resume' | 'cancel';
  readonly dry_run: boolean;
  readonly matched: number;
  readonly changed: number;
  /** They already were as requested. */
  readonly unchanged: number;
  /** Could not be changed: they have ended, for instance. */
  readonly refused: number;
  /** The first 100 that matched. */
  readonly job_ids: readonly string[];
  /** @deprecated The older name of job_ids. */
  readonly jobs: readonly string[];
  /** One for each job that was to be changed; in a dry run, only those that cannot be. */
  readonly results: readonly {
    readonly job_id: string;
    /** unchanged: it already was as requested. */
    readonly outcome: 'changed' | 'unchanged' | 'refused';
    /** Why it was refused; null otherwise. */
    readonly error: {
      readonly code: string;
      readonly message: string;
    } | null;
  }[];
  /** Send it as "cursor" to go on with the rest; null: there is none. */
  readonly next: string | null;
}

export interface BulkRunsRequest {
  readonly action: 'cancel' | 'rerun';
  /** The filters of GET /api/runs; at least one, so that nothing means everything by accident. */
  readonly filter?: {
    /** One or several, separated by commas. */
    readonly status?: string | readonly string[] | undefined;
    /** Of this job, those that wait included. */
    readonly job_id?: string | undefined;
    readonly namespace?: string | undefined;
    /** Whose jobs; "me" for those of the caller. */
    readonly user_id?: string | undefined;
    readonly handler?: string | undefined;
    /** name:value; given several times, all must hold. */
    readonly label?: string | readonly string[] | undefined;
    /** Handed to this worker. */
    readonly worker_id?: string | undefined;
    /** Part of the error message, in any case. Needs payloads.read. */
    readonly error?: string | undefined;
    /** Failures that are alike: the fingerprint of a group of GET /api/failures. Other than "other". */
    readonly failure?: string | undefined;
    /** Handed out since then, and those that ended otherwise than well since then. An instant, or how long ago: 15m, 1h, 1d. */
    readonly since?: string | undefined;
    /** Handed out before then. An instant, or how long ago. */
    readonly until?: string | undefined;
  } | null | undefined;
  /** Instead of a filter: these runs, up to 1000. */
  readonly run_ids?: readonly string[] | null | undefined;
  /** Only say what would be done. */
  readonly dry_run?: boolean | null | undefined;
  /** Why runs are run again, in one line: kept with each and in the audit log. */
  readonly reason?: string | null | undefined;
  /** Where a filter continues: take it from "next" of the answer before. */
  readonly cursor?: string | null | undefined;
}

export interface BulkRunsReport {
  readonly action: 'cancel' | 'rerun';
  readonly dry_run: boolean;
  readonly matched: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Could not be changed: they have ended, for instance. */
  readonly refused: number;
  /** The first 100 that matched. */
  readonly run_ids: readonly string[];
  /** One for each run; in a dry run, only those that cannot be changed. */
  readonly results: readonly {
    readonly run_id: string;
    /** unchanged: it was asked to stop before, or was run again under the same Idempotency-Key. */
    readonly outcome: 'changed' | 'unchanged' | 'refused';
    /** Of a run that is run again. */
    readonly new_run_id: string | null;
    /** Why it was refused; null otherwise. */
    readonly error: {
      readonly code: string;
      readonly message: string;
    } | null;
  }[];
  /** Send it as "cursor" to go on with the rest; null: there is none. */
  readonly next: string | null;
}

/** Why a job or a run does not run now, or how it ended. */
export interface Why {
  readonly state: 'scheduled' | 'waiting' | 'running' | 'paused' | 'succeeded' | 'failed' | 'cancelled' | 'skipped' | 'ended';
  /** The first reason: what matters most. */
  readonly text: string;
  readonly reasons: readonly {
    readonly code: 'paused' | 'not_due' | 'retry_wait' | 'at_limit' | 'no_worker' | 'scripts_off' | 'workers_draining' | 'slots_busy' | 'behind_others' | 'starting' | 'start_timeout' | 'no_scheduler' | 'running' | 'cancelling' | 'interrupted' | 'succeeded' | 'failed' | 'dead_letter' | 'cancelled' | 'skipped' | 'fire_skipped' | 'schedule_ended';
    /** What is the matter, in plain sentences. */
    readonly text: string;
    readonly since_at: string | null;
    /** When it ends by itself, where that is known. */
    readonly until_at: string | null;
    /** The runs that hold what it waits for, at most ten. */
    readonly held_by: readonly {
      readonly run_id: string;
      readonly job_id: string;
      /** Null: it may start, and was not handed to a worker yet. */
      readonly worker_id: string | null;
    }[];
    /** What a person can do; null: nothing needs to be done. */
    readonly fix: string | null;
  }[];
  /** Of a run that waits, counted from 1 and up to 1,001: behind the limit of its job among the runs of the job, else among those of the same owner, handler and priority. */
  readonly position: number | null;
  /** When it is due, or a guess from how long the latest runs of the job took; null: unknown. */
  readonly estimated_start_at: string | null;
}

/** The last outcomes of a job. */
export interface Strip {
  readonly job_id: string;
  /** The newest first; of a run that was tried again, its latest attempt. */
  readonly runs: readonly {
    readonly run_id: string;
    readonly status: RunStatus;
    readonly scheduled_at: string;
    readonly started_at: string | null;
    readonly ended_at: string | null;
    /** From start to end; null while it runs, and where it never started. */
    readonly duration_ms: number | null;
    readonly attempt: number;
  }[];
}

export interface SearchResult {
  /** At most 20, the best first. */
  readonly hits: readonly {
    readonly kind: 'job' | 'run' | 'worker' | 'user' | 'namespace';
    readonly id: string;
    readonly title: string;
    readonly detail: string;
    readonly namespace: string | null;
  }[];
  /** More may match: there were too many, or names were looked for among the newest 10,000 jobs of what the caller sees and there are more. */
  readonly partial: boolean;
}

export interface JobRestored {
  readonly outcome: 'restored' | 'unchanged';
  /** true: this is what would be; nothing was changed. */
  readonly dry_run: boolean;
  /** The fields that differ. */
  readonly changes: readonly {
    readonly field: string;
    /** As it was. */
    readonly before: unknown;
    /** As it is now, or would be. */
    readonly after: unknown;
  }[];
  /** Credentials are not kept with versions: these stay as the job has them now, or are left out where it has none. */
  readonly not_recorded: readonly string[];
  readonly job_id: string;
  readonly name: string;
  readonly key: string | null;
  readonly namespace: string;
  readonly user_id: string | null;
  /** RUNNING while a run of it is claimed or running, unless it was paused or cancelled. */
  readonly status: JobStatus;
  readonly schedule_type: ScheduleType;
  readonly schedule_time: string | null;
  readonly cron_expression: string | null;
  readonly interval: string | null;
  readonly frequency: string | null;
  readonly time_zone: string | null;
  readonly start_at: string | null;
  readonly end_at: string | null;
  readonly daylight_saving: {
    readonly gap: 'run_after' | 'skip';
    readonly overlap: 'first' | 'second' | 'both';
  } | null;
  readonly spread_seconds: number | null;
  readonly misfire: {
    readonly policy: 'none' | 'last' | 'all';
    readonly max_runs: number;
    readonly window_seconds: number;
  };
  readonly handler: string;
  readonly payload: JsonObject;
  readonly priority: Priority;
  readonly max_retries: number;
  readonly retry: {
    readonly strategy: 'none' | 'fixed' | 'exponential';
    readonly delay_seconds: number;
    readonly max_delay_seconds: number;
    readonly jitter: boolean;
    readonly deadline_seconds: number | null;
  };
  readonly max_concurrency: number;
  readonly overlap: 'queue' | 'skip' | 'replace';
  readonly timeout_seconds: number;
  readonly start_timeout_seconds: number | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly resources: Readonly<Record<string, number>>;
  readonly version: number;
  /** The next occurrence that nobody has skipped; null when none lies ahead. */
  readonly next_run_at: string | null;
  /** @deprecated The older name of next_run_at. */
  readonly next_run_time: string | null;
  /** Coming fires that a person has skipped, earliest first; the schedule goes on after them. In lists the first 3. */
  readonly skipped_fires: readonly {
    readonly at: string;
    /** The name of who skipped it; `key` and its name for a key of nobody. */
    readonly by: string;
    readonly skipped_at: string;
  }[];
  readonly created_at: string;
  readonly updated_at: string;
  /** What the user of user_id is called, where jobs are read; null when no user has that id. */
  readonly user_name?: string | null | undefined;
  /** Runs that are due and wait, counted up to 1000. In lists only with include=last_run, and up to 100. */
  readonly waiting_runs?: number | undefined;
  /** What the first of them waits for; null when none waits. In lists only with include=last_run. */
  readonly waiting_reason?: string | null | undefined;
  /** Its latest attempt, where it was asked for by include=last_run; null when it never had one. */
  readonly last_run?: Run | null | undefined;
}

export interface JobVersion {
  /** Null: it was made by a server that did not record it. */
  readonly version: number | null;
  /** The earlier version that it brought back. */
  readonly restored_version: number | null;
  readonly at: string;
  /** Such as jobs.update or jobs.pause. */
  readonly action: string;
  readonly actor: {
    readonly kind: 'server' | 'user' | 'key';
    readonly id: string;
    readonly name: string;
  };
  /** Values of a payload are hidden from callers without payloads.read. */
  readonly changes: readonly {
    /** Under the name that it has in the audit log. */
    readonly field: string;
    readonly before: unknown;
    readonly after: unknown;
  }[];
}

/** One attempt of one occurrence; the attempts of an occurrence share the `run_id`. */
export interface Run {
  readonly run_id: string;
  readonly job_id: string;
  readonly status: RunStatus;
  /** Who it was handed to. */
  readonly worker_id: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** When anything of it last changed. */
  readonly updated_at: string;
  readonly attempt_number: number;
  readonly error_message: string | null;
  /** Where what it wrote is read. */
  readonly log_url: string | null;
  readonly created_at: string;
  readonly epoch: number;
  readonly trigger: 'schedule' | 'manual' | 'redrive';
  readonly scheduled_at: string;
  /** From when it should have started, with the spread of its schedule, to its start, whatever held it up: also a slot of its job. null: not measured, as of retries, of what was redriven or run again, and of runs taken over from a lost worker. */
  readonly start_delay_ms: number | null;
  /** Why it was skipped, or what it waits for. */
  readonly reason: string | null;
  /** What the handler answered; null when it is too large, and result_url names where it is read. */
  readonly result: unknown;
  /** Bytes of a result that is read at result_url. */
  readonly result_size: number | null;
  /** Where a result of more than 64 KiB is read. */
  readonly result_url: string | null;
  /** A skipped range stands for several. */
  readonly occurrences: number;
  readonly job_version: number;
  readonly late_report: string | null;
  /** Why a person asked for it, in their words. */
  readonly request_reason: string | null;
  /** How far the attempt is, as it said last; null when it said nothing. */
  readonly progress: Progress | null;
  /** The most memory that the attempt had at a time; null where it is not known. */
  readonly peak_memory_bytes: number | null;
  /** CPU time of the attempt; null where it is not known. */
  readonly cpu_seconds: number | null;
  /** @deprecated The older name of started_at. */
  readonly start_time: string | null;
  /** @deprecated The older name of ended_at. */
  readonly end_time: string | null;
  /** @deprecated The older name of updated_at. */
  readonly modified_time: string;
  /** @deprecated The older name of worker_id. */
  readonly executor_id: string | null;
}

/** A job of a list: its payload is there only when it was asked for. */
export interface ListedJob {
  readonly job_id: string;
  readonly name: string;
  readonly key: string | null;
  readonly namespace: string;
  readonly user_id: string | null;
  /** RUNNING while a run of it is claimed or running, unless it was paused or cancelled. */
  readonly status: JobStatus;
  readonly schedule_type: ScheduleType;
  readonly schedule_time: string | null;
  readonly cron_expression: string | null;
  readonly interval: string | null;
  readonly frequency: string | null;
  readonly time_zone: string | null;
  readonly start_at: string | null;
  readonly end_at: string | null;
  readonly daylight_saving: {
    readonly gap: 'run_after' | 'skip';
    readonly overlap: 'first' | 'second' | 'both';
  } | null;
  readonly spread_seconds: number | null;
  readonly misfire: {
    readonly policy: 'none' | 'last' | 'all';
    readonly max_runs: number;
    readonly window_seconds: number;
  };
  readonly handler: string;
  /** Only with include=payload. */
  readonly payload?: JsonObject | undefined;
  readonly priority: Priority;
  readonly max_retries: number;
  readonly retry: {
    readonly strategy: 'none' | 'fixed' | 'exponential';
    readonly delay_seconds: number;
    readonly max_delay_seconds: number;
    readonly jitter: boolean;
    readonly deadline_seconds: number | null;
  };
  readonly max_concurrency: number;
  readonly overlap: 'queue' | 'skip' | 'replace';
  readonly timeout_seconds: number;
  readonly start_timeout_seconds: number | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly resources: Readonly<Record<string, number>>;
  readonly version: number;
  /** The next occurrence that nobody has skipped; null when none lies ahead. */
  readonly next_run_at: string | null;
  /** @deprecated The older name of next_run_at. */
  readonly next_run_time: string | null;
  /** Coming fires that a person has skipped, earliest first; the schedule goes on after them. In lists the first 3. */
  readonly skipped_fires: readonly {
    readonly at: string;
    /** The name of who skipped it; `key` and its name for a key of nobody. */
    readonly by: string;
    readonly skipped_at: string;
  }[];
  readonly created_at: string;
  readonly updated_at: string;
  /** What the user of user_id is called, where jobs are read; null when no user has that id. */
  readonly user_name?: string | null | undefined;
  /** Runs that are due and wait, counted up to 1000. In lists only with include=last_run, and up to 100. */
  readonly waiting_runs?: number | undefined;
  /** What the first of them waits for; null when none waits. In lists only with include=last_run. */
  readonly waiting_reason?: string | null | undefined;
  /** Its latest attempt, where it was asked for by include=last_run; null when it never had one. */
  readonly last_run?: Run | null | undefined;
}

/** A run of a list: its result is there only when it was asked for. */
export interface ShortRun {
  readonly run_id: string;
  readonly job_id: string;
  readonly status: RunStatus;
  /** Who it was handed to. */
  readonly worker_id: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** When anything of it last changed. */
  readonly updated_at: string;
  readonly attempt_number: number;
  readonly error_message: string | null;
  /** Where what it wrote is read. */
  readonly log_url: string | null;
  readonly created_at: string;
  readonly epoch: number;
  readonly trigger: 'schedule' | 'manual' | 'redrive';
  readonly scheduled_at: string;
  /** From when it should have started, with the spread of its schedule, to its start, whatever held it up: also a slot of its job. null: not measured, as of retries, of what was redriven or run again, and of runs taken over from a lost worker. */
  readonly start_delay_ms: number | null;
  /** Why it was skipped, or what it waits for. */
  readonly reason: string | null;
  /** What the handler answered; only with include=result. */
  readonly result?: unknown | undefined;
  /** Bytes of a result that is read at result_url. */
  readonly result_size?: number | null | undefined;
  /** Where a result of more than 64 KiB is read. */
  readonly result_url?: string | null | undefined;
  /** A skipped range stands for several. */
  readonly occurrences: number;
  readonly job_version: number;
  readonly late_report: string | null;
  /** Why a person asked for it, in their words. */
  readonly request_reason: string | null;
  /** How far the attempt is, as it said last; null when it said nothing. */
  readonly progress: Progress | null;
  /** The most memory that the attempt had at a time; null where it is not known. */
  readonly peak_memory_bytes: number | null;
  /** CPU time of the attempt; null where it is not known. */
  readonly cpu_seconds: number | null;
  /** @deprecated The older name of started_at. */
  readonly start_time: string | null;
  /** @deprecated The older name of ended_at. */
  readonly end_time: string | null;
  /** @deprecated The older name of updated_at. */
  readonly modified_time: string;
  /** @deprecated The older name of worker_id. */
  readonly executor_id: string | null;
}

/** A run with its job. */
export interface ListedRun extends ShortRun {
  /** Null when the job was deleted. */
  readonly job_name: string | null;
  readonly namespace: string | null;
  readonly user_id: string | null;
  readonly handler: string | null;
  /** Another attempt of the run has followed this one, or waits: it is not the last word. */
  readonly tried_again: boolean;
}

export interface RunFilter {
  /** One or several, separated by commas. */
  readonly status?: string | readonly string[] | undefined;
  /** Of this job, those that wait included. */
  readonly job_id?: string | undefined;
  readonly namespace?: string | undefined;
  /** Whose jobs; "me" for those of the caller. */
  readonly user_id?: string | undefined;
  readonly handler?: string | undefined;
  /** name:value; given several times, all must hold. */
  readonly label?: string | readonly string[] | undefined;
  /** Handed to this worker. */
  readonly worker_id?: string | undefined;
  /** Part of the error message, in any case. Needs payloads.read. */
  readonly error?: string | undefined;
  /** Failures that are alike: the fingerprint of a group of GET /api/failures. Other than "other". */
  readonly failure?: string | undefined;
  /** An instant, or how long ago, such as `1h`. */
  readonly since?: Date | string | undefined;
  /** An instant, or how long ago. */
  readonly until?: Date | string | undefined;
  /** all: an entry for each attempt, as when left out. last: one for each run, its latest attempt; filters are about that one. */
  readonly attempts?: 'all' | 'last' | undefined;
  /** result: with what handlers answered, which is left out otherwise. */
  readonly include?: string | readonly string[] | undefined;
  /** Where the list continues: take it from the Link header, or from "next" of the answer before. */
  readonly cursor?: string | undefined;
  /** Entries per answer; 50 when left out. */
  readonly limit?: number | undefined;
}

export interface RunWithAttempts extends Run {
  readonly attempts: readonly Run[];
  /** What its next attempt goes on from; null when there is none. */
  readonly checkpoint: Checkpoint | null;
  /** What it was asked for with, merged over the payload of its job. */
  readonly input: Readonly<Record<string, unknown>> | null;
  /** It was given up; null when it was not. */
  readonly dead_letter: DeadLetter | null;
  /** The ended run that was redriven or run again as this one; null for others. */
  readonly origin_run_id: string | null;
  /** Who asked for it: ran the job now, or redrove or repeated the run before (`key` and its name for a key of nobody); null for occurrences of a schedule, and where it is not known. */
  readonly requested_by: string | null;
  /** The runs that it was redriven or run again as, the latest first; at most ten. */
  readonly repeated_as: readonly {
    readonly run_id: string;
    readonly requested_by: string | null;
    readonly requested_at: string;
  }[];
  /** Who asked for its end, as in requested_by; null where it is not known. */
  readonly cancelled_by: string | null;
}

export interface Progress {
  /** From 0 to 100. */
  readonly percent: number;
  readonly message: string | null;
}

export interface Checkpoint {
  readonly saved_at: string;
  /** Of its value as JSON text. */
  readonly bytes: number;
  /** Of the attempt that saved it. */
  readonly epoch: number;
}

export interface CheckpointValue extends Checkpoint {
  readonly run_id: string;
  /** What was saved. */
  readonly value: unknown;
}

/** A file that a run left. */
export interface Artifact {
  readonly name: string;
  readonly bytes: number;
  /** That left it, counted from 1. */
  readonly attempt: number;
  /** When it was collected, after the end of its attempt. */
  readonly created_at: string;
}

export interface RunAdded {
  readonly job_id: string;
  readonly run_id: string;
}

/** What may be said when a run is asked for. */
export interface RunRequest {
  /** A JSON merge patch (RFC 7386) over the payload of the job, for this run alone: members replace those of the payload at every depth, null removes one. Needs payloads.read; to change more of an http job than body and expect_status also jobs.update. */
  readonly input?: Readonly<Record<string, unknown>> | null | undefined;
  /** Why it is asked for, in one line: kept with the run and in the audit log. */
  readonly reason?: string | null | undefined;
}

/** `cancelling`: the worker was asked, and has not answered yet. */
export interface RunCancelled {
  readonly run_id: string;
  readonly job_id: string;
  /** cancelled: it was waiting, and has ended. cancelling: it is running, and was asked to stop. */
  readonly outcome: 'cancelled' | 'cancelling';
  /** False: it was asked to stop before. */
  readonly changed: boolean;
  /** The run as it is now; null for callers without runs.read. */
  readonly run: Run | null;
  /** @deprecated The older name of outcome. */
  readonly status: 'cancelled' | 'cancelling';
}

export interface LogLine {
  readonly at: string;
  readonly message: string;
  readonly run_id: string;
  readonly attempt_number: number;
  /** Of the handing-out: an attempt that was lost or given back has several. */
  readonly epoch: number;
  /** @deprecated The older name of at. */
  readonly timestamp: string;
}

export interface Logs {
  readonly job_id: string;
  readonly run_id?: string | undefined;
  readonly logs: readonly LogLine[];
}

export interface DeadLetter {
  readonly run_id: string;
  readonly job_id: string;
  readonly job_name: string | null;
  readonly reason: DeadReason;
  readonly error_message: string | null;
  readonly attempts: number;
  readonly scheduled_at: string;
  readonly died_at: string;
  /** The run that was added when it was redriven or run again; null before. */
  readonly redriven_run_id: string | null;
  /** @deprecated The older name of redriven_run_id. */
  readonly redriven_as: string | null;
  /** The later run of its one-off job that succeeded. */
  readonly resolved_by: string | null;
}

export interface DeadLetterFilter {
  readonly job_id?: string | undefined;
  readonly reason?: string | undefined;
  readonly handler?: string | undefined;
  readonly namespace?: string | undefined;
  /** Whose jobs; "me" for those of the caller. */
  readonly user_id?: string | undefined;
  /** Part of the error message, in any case. Needs payloads.read. */
  readonly error?: string | undefined;
  /** Given up at or after this instant. */
  readonly died_after?: Date | string | undefined;
  /** Given up before this instant. */
  readonly died_before?: Date | string | undefined;
  /** true: only those that were redriven or run again, or whose job has succeeded since; false: only the others. */
  readonly handled?: boolean | undefined;
  /** Where the list continues: take it from the Link header, or from "next" of the answer before. */
  readonly cursor?: string | undefined;
  /** Entries per answer; 50 when left out. */
  readonly limit?: number | undefined;
}

export interface Redriven extends RunAdded {
  readonly redriven_from: string;
}

export interface RedriveManyRequest {
  /** The filters of GET /api/dead-letters; {} means every dead letter that still lies there. */
  readonly filter?: {
    readonly job_id?: string | undefined;
    readonly reason?: string | undefined;
    readonly handler?: string | undefined;
    readonly namespace?: string | undefined;
    /** Whose jobs; "me" for those of the caller. */
    readonly user_id?: string | undefined;
    /** Part of the error message, in any case. Needs payloads.read. */
    readonly error?: string | undefined;
    /** Given up at or after this instant. */
    readonly died_after?: string | undefined;
    /** Given up before this instant. */
    readonly died_before?: string | undefined;
  } | null | undefined;
  /** Instead of a filter: the dead letters of these runs, up to 1000. */
  readonly run_ids?: readonly string[] | null | undefined;
  /** Only say what would be sent round. */
  readonly dry_run?: boolean | null | undefined;
  /** At most so many in this request; 1000 when left out. */
  readonly limit?: number | null | undefined;
  /** Where the list continues: take it from the Link header, or from "next" of the answer before. */
  readonly cursor?: string | null | undefined;
  /** @deprecated The older name of cursor. */
  readonly before?: string | null | undefined;
}

export interface RedriveManyReport {
  readonly dry_run: boolean;
  readonly matched: number;
  readonly redriven: number;
  /** They were redriven before. */
  readonly unchanged: number;
  /** Could not be redriven: their job was cancelled, for instance. */
  readonly refused: number;
  /** The first 100 that matched. */
  readonly run_ids: readonly string[];
  /** One for each dead letter; in a dry run, only those of run_ids that cannot be redriven. */
  readonly results: readonly {
    /** The run that was given up. */
    readonly run_id: string;
    /** unchanged: it was redriven before, as new_run_id. */
    readonly outcome: 'redriven' | 'unchanged' | 'refused';
    /** null where it was refused. */
    readonly job_id: string | null;
    /** null where it was refused. */
    readonly new_run_id: string | null;
    /** Why it was refused; null otherwise. */
    readonly error: {
      readonly code: string;
      readonly message: string;
    } | null;
  }[];
  /** @deprecated The older name of run_ids. */
  readonly runs: readonly string[];
  /** Send it as "cursor" to go on with the rest; null: there is none. */
  readonly next: string | null;
}

export interface StatsFilter {
  /** An instant, or how long ago, such as `6h`. */
  readonly from?: Date | string | undefined;
  /** An instant, or how long ago. Left out: now. */
  readonly to?: Date | string | undefined;
  /** auto: minutes up to six hours, else hours. */
  readonly bucket?: 'auto' | 'minute' | 'hour' | undefined;
  /** Left out: all in which you may read every run. */
  readonly namespace?: string | undefined;
  readonly handler?: string | undefined;
  /** Of this job alone: counted from its latest 2,000 attempts. from in the answer tells how far back they reach. */
  readonly job_id?: string | undefined;
}

export interface RunStats {
  /** The beginning of the first bucket. */
  readonly from: string;
  readonly to: string;
  readonly bucket: 'minute' | 'hour';
  /** In order; those in which nothing ended are left out. */
  readonly buckets: readonly {
    /** When it begins. */
    readonly at: string;
    /** Attempts that had started, and ended in this bucket. */
    readonly started: number;
    readonly succeeded: number;
    /** Attempts, not runs: one that is tried again counts too. */
    readonly failed: number;
    readonly timed_out: number;
    readonly cancelled: number;
    /** Occurrences that did not run. */
    readonly skipped: number;
    /** Attempts that failed and are tried again. */
    readonly retried: number;
    /** Attempts whose worker fell silent. */
    readonly lost: number;
    /** From when it should have started, with the spread of its schedule, to its start. Left out: retries, what was redriven or run again, runs taken over from a lost worker, and runs that waited for a slot of their job. Contained: the wait for a worker that offers the handler. null: not measured. */
    readonly start_delay_ms: {
      readonly p50: number;
      readonly p95: number;
      readonly p99: number;
    } | null;
    /** Within 5 %. null: nothing was measured. */
    readonly duration_ms: {
      readonly p50: number;
      readonly p95: number;
      readonly p99: number;
    } | null;
  }[];
}

export interface StatsNow {
  readonly as_of: string;
  /** Runs that workers hold, of the whole installation. null: you may not read workers. */
  readonly running: number | null;
  /** Of living workers that take runs. null: you may not read workers. */
  readonly slots: number | null;
  /** Living ones. null: you may not read workers. */
  readonly workers: number | null;
  /** Since when the run that waits for longest could have started. null: none waits. */
  readonly oldest_waiting_at: string | null;
  /** Runs that could start and wait for a worker, also where none offers their handler; counting ends at 1,000. */
  readonly waiting_at_least: number;
  /** Handlers of runs that wait which no living worker offers; at most ten. */
  readonly unoffered_handlers: readonly string[];
  /** Of the last five minutes, as in Stats. null: nothing that is measured started. */
  readonly start_delay_ms: {
    readonly p50: number;
    readonly p95: number;
    readonly p99: number;
  } | null;
  /** Attempts that failed or took too long. */
  readonly failed_last_hour: number;
  /** Runs that were given up and that nobody has handled; counting ends at 100. null: you may not read them. */
  readonly open_dead_letters: number | null;
}

export interface FailureFilter {
  /** An instant, or how long ago, such as `6h`. */
  readonly from?: Date | string | undefined;
  /** An instant, or how long ago. Left out: now. */
  readonly to?: Date | string | undefined;
  /** Left out: all in which you may read every run. */
  readonly namespace?: string | undefined;
  /** Of this job alone: of its latest 2,000 attempts. */
  readonly job_id?: string | undefined;
  /** Groups; 50 when left out. */
  readonly limit?: number | undefined;
}

/** Failures that are alike. */
export interface FailureGroup {
  /** Of the handler and the error without ids, numbers, times, and paths and queries of addresses. other: errors past 100 groups of an hour. */
  readonly fingerprint: string;
  readonly namespace: string;
  /** null: of several. */
  readonly handler: string | null;
  /** The beginning of one of the errors; what it quotes is hidden from those who may not read payloads. */
  readonly message: string;
  /** Attempts. */
  readonly count: number;
  /** Different jobs; of each hour, up to 20 are told apart. */
  readonly jobs: number;
  readonly first_at: string;
  readonly last_at: string;
  /** A run that failed so, lately. */
  readonly sample_run_id: string;
  readonly sample_job_id: string;
  /** null: the job was deleted. */
  readonly sample_job_name: string | null;
}

export interface Worker {
  readonly worker_id: string;
  /** What it calls itself. */
  readonly name: string | null;
  /** The server process that it is part of, or that it is connected to. */
  readonly node_id: string;
  /** A process of its own, not part of a server. */
  readonly remote: boolean;
  /** What it is written in. */
  readonly language: string | null;
  readonly version: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** False: it was lost. */
  readonly alive: boolean;
  /** When it was given up for dead; such workers are listed for an hour. null: it is not. */
  readonly lost_at: string | null;
  /** Of a lost one: how many runs it held, which are tried again. */
  readonly lost_runs: number;
  /** The first 20 of them. */
  readonly lost_run_ids: readonly string[];
  /** Runs it takes at once. */
  readonly slots: number;
  /** Runs it holds now. */
  readonly running: number;
  /** Handlers that have not returned though they were told to stop: their slots stay in use. */
  readonly stuck: number;
  /** It takes no more runs, and ends those that it holds. */
  readonly draining: boolean;
  readonly handlers: readonly string[];
  readonly last_seen_at: string;
  /** @deprecated The older name of last_seen_at. */
  readonly last_seen: string;
}

/** What jobs can name as their `handler`. */
export interface Handler {
  /** As jobs name it. */
  readonly name: string;
  readonly description: string | null;
  /** A JSON Schema of its payload, by which jobs are checked; null: it takes any. */
  readonly parameters: Readonly<Record<string, unknown>> | null;
  /** Who brings it: Carillon itself, a plugin of the settings of a server, the program that embeds a server, a remote worker. null: its workers do not say. */
  readonly origin: 'built_in' | 'plugin' | 'program' | 'worker' | null;
  /** Living workers that offer it. */
  readonly workers: number;
}

/** What happened, as a CloudEvent. */
export interface CarillonEvent {
  readonly specversion: '1.0';
  /** A stream that is given it continues after this event. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string | undefined;
  readonly time: string;
  readonly datacontenttype: string;
  readonly data: { readonly [name: string]: Json | undefined };
}

/** What to read again. `refetch`: more changed than is named. */
export interface LiveUpdate {
  /** For Last-Event-ID; null: the one before still holds. */
  readonly id: string | null;
  readonly as_of: string;
  readonly changed: {
    /** Those that changed, and those of the runs that did. */
    readonly jobs: readonly string[];
    readonly runs: readonly string[];
    /** Workers or servers came or went. */
    readonly workers: boolean;
    readonly dead_letters: boolean;
  };
  /** More changed than is named: read again what is shown. */
  readonly refetch: boolean;
}

export interface EventSelection {
  /** Types, with or without "io.carillon."; "run" stands for all of runs. Any of them. */
  readonly type?: string | readonly string[] | undefined;
  /** Of this job and its runs. */
  readonly job_id?: string | undefined;
  /** Of this run. */
  readonly run_id?: string | undefined;
  /** Of jobs in this namespace. */
  readonly namespace?: string | undefined;
  /** Of jobs of this user. */
  readonly user_id?: string | undefined;
  /** Of jobs with this handler. */
  readonly handler?: string | undefined;
  /** name:value; given several times, all must hold. */
  readonly label?: string | readonly string[] | undefined;
}

export interface Grant {
  /** A namespace, or * for all of them and for what belongs to none. */
  readonly namespace: string;
  readonly role: Role;
  /** Only for jobs whose user_id is theirs. */
  readonly own_only?: boolean | undefined;
}

export interface User {
  readonly user_id: string;
  readonly name: string;
  readonly display_name: string;
  readonly disabled: boolean;
  readonly has_password: boolean;
  /** The OpenID Connect provider that they sign in with. */
  readonly issuer: string | null;
  readonly grants: readonly Grant[];
  readonly created_at: string;
  readonly updated_at: string;
}

export interface NewUser {
  /** What they sign in with. */
  readonly name: string;
  readonly display_name?: string | undefined;
  /** Left out: they use keys that others make for them. */
  readonly password?: string | undefined;
  readonly grants?: readonly Grant[] | undefined;
  /** Your own. Keys of nobody need none. */
  readonly current_password?: string | undefined;
}

export interface UserChange {
  readonly display_name?: string | undefined;
  readonly disabled?: boolean | undefined;
  /** Your own, to enable a user; keys of nobody need none. */
  readonly current_password?: string | undefined;
}

export interface PasswordChange {
  readonly password: string;
  /** Your own. Keys of nobody need none. */
  readonly current_password?: string | undefined;
  /** Also end the keys that the user made, or rotated with something else than the key, whoever owns them. */
  readonly end_keys?: boolean | undefined;
}

export interface Credentials {
  /** With password: the name of a user. */
  readonly name: string;
  readonly password: string;
}

/** One way of signing in: `name` and `password`, or `ticket`, or `key`. */
export interface SignIn {
  /** With password: the name of a user. */
  readonly name?: string | undefined;
  readonly password?: string | undefined;
  /** Instead: what follows #ticket= in the link that the server printed. */
  readonly ticket?: string | undefined;
  /** Instead: the admin key of the server. */
  readonly key?: string | undefined;
}

export interface SignInMethods {
  /** With name and password. */
  readonly password: boolean;
  /** With the link that the server printed. */
  readonly ticket: boolean;
  /** With the admin key. */
  readonly key: boolean;
  readonly oidc: {
    /** For the button. */
    readonly label: string;
    /** Where the browser goes; next=/path says where it comes back to. */
    readonly start_url: string;
    /** Where the browser goes after signing out, to leave the provider too. */
    readonly logout_url: string;
  } | null;
}

export interface NewKey {
  /** What it is for, so that people know it again. */
  readonly name: string;
  /** Where it may work; * for everywhere its owner may. Left out: default. */
  readonly namespace?: string | undefined;
  /** What it may there. With grants, leave it out. */
  readonly role?: Role | undefined;
  /** Only for jobs of its owner. */
  readonly own_only?: boolean | undefined;
  /** Instead of namespace, role and own_only: several grants. */
  readonly grants?: readonly Grant[] | undefined;
  /** A worker key: connects workers and may do nothing else. Needs keys.manage and workers.connect. */
  readonly worker?: {
    /** The handlers that its worker may offer. */
    readonly handlers: readonly string[];
    /** Whose jobs it may be given. Left out: those of all namespaces in which you may connect workers. */
    readonly namespaces?: readonly string[] | undefined;
  } | undefined;
  /** Only these permissions of the role; left out: all of them. */
  readonly scopes?: readonly string[] | null | undefined;
  /** Left out: it does not expire. */
  readonly expires_at?: string | number | null | undefined;
  /** Whose key it is; left out: yours. */
  readonly user_id?: string | null | undefined;
  /** Yours, for a key that lasts longer than the session or key you came with, or than 30 days, and for every key that is not your own. */
  readonly current_password?: string | undefined;
}

export interface ApiKey {
  readonly key_id: string;
  readonly name: string;
  readonly prefix: string;
  readonly user_id: string | null;
  readonly user_name: string | null;
  readonly grants: readonly Grant[];
  /** Of the first grant. */
  readonly namespace: string;
  /** Of the first grant. */
  readonly role: Role;
  /** Of the first grant. */
  readonly own_only: boolean;
  readonly scopes: readonly string[] | null;
  /** Of a worker key: the handlers that its worker may offer, and for the jobs of which namespaces. */
  readonly worker: {
    readonly handlers: readonly string[];
    readonly namespaces: readonly string[];
  } | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  /** To the minute. */
  readonly last_used_at: string | null;
  /** The address that it was last used from. */
  readonly last_used_address: string | null;
  /** After a rotation: the prefix of the secret before. */
  readonly previous_prefix: string | null;
  /** When that secret ends, or ended. */
  readonly previous_expires_at: string | null;
  /** When that secret was last used, to the minute. */
  readonly previous_last_used_at: string | null;
}

export interface KeyChange {
  /** What it is for, so that people know it again. */
  readonly name: string;
}

export interface KeyRotation {
  /** For so long the secret before still works, such as 24h; 0: it ends at once. */
  readonly overlap?: string | number | undefined;
  /** When the key expires from now on; null: never. Left out: as before. */
  readonly expires_at?: string | number | null | undefined;
  /** Yours, for a key that lasts longer than the session or key you came with, or than 30 days, and for every key that is not your own. */
  readonly current_password?: string | undefined;
}

export interface KeyFilter {
  /** Only those of this user. */
  readonly user_id?: string | undefined;
  /** Only those with a grant in this namespace. */
  readonly namespace?: string | undefined;
  /** Only those with this name. */
  readonly name?: string | undefined;
  /** true: only those that have expired; false: only those that have not. */
  readonly expired?: boolean | undefined;
  /** Only those that were neither made nor used since this instant. */
  readonly unused_since?: Date | string | undefined;
  /** Where the list continues: take it from the Link header, or from "next" of the answer before. */
  readonly cursor?: string | undefined;
  /** Entries per answer; 50 when left out. */
  readonly limit?: number | undefined;
}

export interface UserFilter {
  /** Where the list continues: take it from the Link header, or from "next" of the answer before. */
  readonly cursor?: string | undefined;
  /** Entries per answer; 50 when left out. */
  readonly limit?: number | undefined;
  /** Only the user with this name. */
  readonly name?: string | undefined;
}

/** Somebody who is signed in. */
export interface UserSession {
  readonly session_id: string;
  /** null: of the admin key. */
  readonly user_id: string | null;
  readonly user_name: string | null;
  /** How it was opened. */
  readonly method: 'password' | 'oidc' | 'ticket' | 'admin_key';
  /** The request came with this one. */
  readonly current: boolean;
  readonly created_at: string;
  /** To the minute. */
  readonly last_seen_at: string;
  readonly expires_at: string;
  readonly address: string | null;
  readonly user_agent: string | null;
}

export interface SessionFilter {
  /** Left out: your own. */
  readonly user_id?: string | undefined;
  /** true: of everybody. */
  readonly all?: boolean | undefined;
  /** Where the list continues: take it from the Link header, or from "next" of the answer before. */
  readonly cursor?: string | undefined;
  /** Entries per answer; 50 when left out. */
  readonly limit?: number | undefined;
}

export interface CreatedKey extends ApiKey {
  /** The whole key. It is shown this once. */
  readonly key: string;
}

export interface SigningKey {
  readonly signing_key_id: string;
  readonly namespace: string;
  readonly created_at: string;
  /** It signs from then on. */
  readonly starts_at: string;
  /** It signs until then; null: until it is deleted. */
  readonly ends_at: string | null;
}

export interface NewSigningKey {
  /** When it begins to sign; left out: now. */
  readonly starts_at?: string | number | null | undefined;
  /** The other keys of the namespace end so long after this one has begun; left out: they go on. */
  readonly overlap_seconds?: number | null | undefined;
}

export interface CreatedSigningKey extends SigningKey {
  /** What receivers verify signatures with. It is shown this once. */
  readonly secret: string;
}

export interface Secret {
  readonly name: string;
  readonly namespace: string;
  /** 1 when it was made; each new value has the next. */
  readonly version: number;
  /** Whether runs mask it in their output, results and errors: a value of less than 8 characters is not. */
  readonly masked: boolean;
  readonly created_at: string;
  /** The name of who made it. */
  readonly created_by: string;
  /** When its value was set last. */
  readonly updated_at: string;
  /** The name of who set it last. */
  readonly updated_by: string;
}

export interface SecretFilter {
  /** Whose secrets; where the caller makes jobs when left out. */
  readonly namespace?: string | undefined;
}

/** The filters and the order of a list, under a name. */
export interface SavedView {
  readonly view_id: string;
  readonly screen: 'jobs' | 'runs';
  readonly name: string;
  /** The query of the address of the screen: filters and order. */
  readonly query: Readonly<Record<string, string>>;
  readonly updated_at: string;
}

export interface SavedViewFields {
  readonly screen: 'jobs' | 'runs';
  /** Each name once per screen. */
  readonly name: string;
  /** The query of the address of the screen: filters and order. */
  readonly query: Readonly<Record<string, string>>;
}

export interface Preferences {
  /** null: never chosen. */
  readonly zone: string | null;
  readonly scheme: 'auto' | 'light' | 'dark' | null;
  readonly shortcuts: boolean | null;
}

export interface PreferencesChange {
  /** The IANA name of the zone that times are shown in; `local`: that of the browser; `job`: that of the schedule where a page is about one job, otherwise that of the browser. */
  readonly zone?: string | null | undefined;
  readonly scheme?: 'auto' | 'light' | 'dark' | null | undefined;
  /** Whether keys are shortcuts. */
  readonly shortcuts?: boolean | null | undefined;
}

export interface Namespace {
  readonly name: string;
  readonly description: string;
  readonly created_at: string;
}

export interface NewNamespace {
  readonly name: string;
  /** For people. */
  readonly description?: string | undefined;
}

export interface NamespaceChange {
  /** For people. */
  readonly description?: string | undefined;
}

export interface AuditEntry {
  readonly audit_id: number;
  readonly at: string;
  readonly actor: {
    readonly kind: string;
    readonly id: string;
    readonly name: string;
    readonly via: {
      readonly kind: string;
      readonly id: string;
      readonly name: string | null;
    } | null;
  };
  readonly action: string;
  readonly namespace: string | null;
  readonly subject: {
    readonly kind: string;
    readonly id: string;
    /** Of a job, user or key that is there: what it is called now. */
    readonly name: string | null;
  };
  /** The fields that changed, as they were. */
  readonly before: unknown;
  /** The fields that changed, as they are. */
  readonly after: unknown;
  readonly address: string | null;
  readonly user_agent: string | null;
  readonly request_id: string | null;
}

export interface AuditFilter {
  readonly namespace?: string | undefined;
  /** The id or the name of who did it, or of the session or key that they came with. */
  readonly actor?: string | undefined;
  /** What was done, such as jobs.update. */
  readonly action?: string | undefined;
  /** The id of what it was done to. */
  readonly subject_id?: string | undefined;
  /** From this instant on. */
  readonly from?: Date | string | undefined;
  /** Before this instant. */
  readonly until?: Date | string | undefined;
  /** Where the list continues: take it from the Link header, or from "next" of the answer before. */
  readonly cursor?: string | undefined;
  /** Entries per answer; 50 when left out. */
  readonly limit?: number | undefined;
}

/** Whoever asks, as the server sees them. */
export interface Whoami {
  readonly kind: 'server' | 'user' | 'key';
  readonly id: string;
  readonly name: string;
  readonly user_id: string | null;
  /** The name of that user. */
  readonly user_name: string | null;
  readonly grants: readonly Grant[];
  readonly scopes: readonly string[] | null;
  /** Of a session: how it was opened. */
  readonly method: 'password' | 'oidc' | 'ticket' | 'admin_key' | null;
  /** Of a session: for X-CSRF-Token. */
  readonly csrf_token: string | null;
  /** When the session ends at the latest, or the key of a person expires. */
  readonly expires_at: string | null;
  /** Of administrators of all namespaces: what `carillon` needs on the machine of this server to find it, such as ` --data /srv/carillon`; empty: nothing. */
  readonly command_flags: string | null;
}

export interface SignedIn {
  /** null: the session is one of the admin key, and belongs to nobody. */
  readonly user: User | null;
  readonly csrf_token: string;
  readonly expires_at: string;
}
