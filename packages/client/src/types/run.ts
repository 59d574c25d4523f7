/** Runs, what they logged, and those that were given up. */
export type RunStatus =
  | 'QUEUED'
  | 'CLAIMED'
  | 'RUNNING'
  | 'SUCCESS'
  | 'FAILED'
  | 'CANCELLED'
  | 'TIMED_OUT'
  | 'SKIPPED';

/** One attempt of one occurrence; the attempts of an occurrence share the `run_id`. */
export interface Run {
  readonly run_id: string;
  readonly job_id: string;
  readonly status: RunStatus;
  readonly start_time: string | null;
  readonly end_time: string | null;
  readonly modified_time: string;
  readonly executor_id: string | null;
  readonly attempt_number: number;
  readonly error_message: string | null;
  readonly log_url: string | null;
  readonly created_at: string;
  readonly epoch: number;
  readonly trigger: string;
  readonly scheduled_at: string;
  readonly reason: string | null;
  /** What the handler answered. */
  readonly result: unknown;
  readonly occurrences: number;
  readonly job_version: number;
  readonly late_report: string | null;
}

export interface RunWithAttempts extends Run {
  readonly attempts: readonly Run[];
}

export interface RunAdded {
  readonly job_id: string;
  readonly run_id: string;
}

export interface RunCancelled {
  readonly run_id: string;
  /** cancelling: the worker was asked, and has not answered yet. */
  readonly status: 'cancelled' | 'cancelling';
}

export interface LogLine {
  readonly timestamp: string;
  readonly message: string;
  readonly run_id: string;
  readonly attempt_number: number;
}

export interface Logs {
  readonly job_id: string;
  readonly run_id?: string;
  readonly logs: readonly LogLine[];
}

export interface DeadLetter {
  readonly run_id: string;
  readonly job_id: string;
  readonly job_name: string | null;
  readonly reason: string;
  readonly error_message: string | null;
  readonly attempts: number;
  readonly scheduled_at: string;
  readonly died_at: string;
  readonly redriven_as: string | null;
}

export interface Redriven extends RunAdded {
  readonly redriven_from: string;
}

export interface RedriveManyRequest {
  /** {} means every dead letter that still lies there. */
  readonly filter: {
    readonly job_id?: string;
    readonly reason?: string;
    readonly namespace?: string;
    readonly handler?: string;
    readonly user_id?: string;
    readonly died_after?: string;
    readonly died_before?: string;
  };
  readonly dry_run?: boolean;
  /** At most so many in this request. */
  readonly limit?: number;
  /** The `next` of the report before, to go on with the rest. */
  readonly before?: string;
}

export interface RedriveManyReport {
  readonly dry_run: boolean;
  readonly matched: number;
  readonly redriven: number;
  /** Their job was cancelled or removed. */
  readonly refused: number;
  /** The first ids of those that matched. */
  readonly runs: readonly string[];
  /** There are more: send it as `before`. */
  readonly next: string | null;
}
