/** Runs and dead letters as answers show them, with the column names people know from the database. */
import type { DeadReason, JobId, JsonValue, RunId, RunStatus, RunTrigger } from '@carillon/domain';
import { instantText } from './instant-text.ts';

/** What is known of a run: one attempt of one occurrence. */
export interface RunFacts {
  readonly runId: RunId;
  readonly jobId: JobId;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly epoch: number;
  readonly trigger: RunTrigger;
  readonly scheduledAtMs: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
  readonly modifiedAtMs: number;
  readonly executorId: string | undefined;
  readonly error: string | undefined;
  readonly reason: string | undefined;
  /** JSON text. */
  readonly result: string | undefined;
  readonly logUrl: string | undefined;
  readonly jobVersion: number;
  readonly occurrences: number;
  readonly lateReport: string | undefined;
}

export type RunView = ReturnType<typeof runView>;

export function runView(run: RunFacts) {
  return {
    run_id: run.runId,
    job_id: run.jobId,
    status: run.status,
    start_time: instantText(run.startedAtMs),
    end_time: instantText(run.endedAtMs),
    modified_time: instantText(run.modifiedAtMs),
    executor_id: run.executorId ?? null,
    attempt_number: run.attempt,
    error_message: run.error ?? null,
    log_url: run.logUrl ?? null,
    created_at: instantText(run.createdAtMs),
    epoch: run.epoch,
    trigger: run.trigger,
    scheduled_at: instantText(run.scheduledAtMs),
    reason: run.reason ?? null,
    result: run.result === undefined ? null : (JSON.parse(run.result) as JsonValue),
    occurrences: run.occurrences,
    job_version: run.jobVersion,
    late_report: run.lateReport ?? null,
  };
}

export interface DeadLetterFacts {
  readonly runId: RunId;
  readonly jobId: JobId;
  readonly jobName: string | undefined;
  readonly reason: DeadReason;
  readonly error: string | undefined;
  readonly attempts: number;
  readonly scheduledAtMs: number;
  readonly diedAtMs: number;
  readonly redrivenAs: RunId | undefined;
}

export type DeadLetterView = ReturnType<typeof deadLetterView>;

export function deadLetterView(letter: DeadLetterFacts) {
  return {
    run_id: letter.runId,
    job_id: letter.jobId,
    job_name: letter.jobName ?? null,
    reason: letter.reason,
    error_message: letter.error ?? null,
    attempts: letter.attempts,
    scheduled_at: instantText(letter.scheduledAtMs),
    died_at: instantText(letter.diedAtMs),
    redriven_as: letter.redrivenAs ?? null,
  };
}

export type JobStateWord = 'pending' | 'running' | 'completed' | 'failed' | 'paused' | 'cancelled';

export function jobStatusView(status: {
  jobId: JobId;
  state: JobStateWord;
  lastUpdatedMs: number;
  latestRun: RunFacts | undefined;
}) {
  return {
    job_id: status.jobId,
    status: status.state,
    last_updated: instantText(status.lastUpdatedMs),
    latest_run: status.latestRun ? runView(status.latestRun) : null,
  };
}
