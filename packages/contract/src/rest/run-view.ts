/** Runs and dead letters as answers show them, with the column names people know from the database. */
import {
  DEAD_REASONS,
  type DeadReason,
  type JobId,
  type JsonValue,
  RUN_STATUSES,
  type RunId,
  type RunStatus,
  type RunTrigger,
} from '@carillon/domain';
import { z } from 'zod';
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

const instant = z.iso.datetime();

/** One attempt of a run, with the run's own facts. */
export const runAnswer = z
  .strictObject({
    run_id: z.uuid(),
    job_id: z.uuid(),
    status: z.enum(RUN_STATUSES),
    start_time: instant.nullable(),
    end_time: instant.nullable(),
    modified_time: instant,
    executor_id: z.string().nullable(),
    attempt_number: z.int(),
    error_message: z.string().nullable(),
    log_url: z.string().nullable(),
    created_at: instant,
    epoch: z.int(),
    trigger: z.enum(['schedule', 'manual', 'redrive']),
    scheduled_at: instant,
    reason: z.string().nullable().describe('Why it was skipped, or what it waits for.'),
    result: z.unknown().describe('What the handler answered.'),
    occurrences: z.int().describe('A skipped range stands for several.'),
    job_version: z.int(),
    late_report: z.string().nullable(),
  })
  .meta({ id: 'Run' });

export type RunView = z.output<typeof runAnswer>;

export const runDetailsAnswer = runAnswer.extend({ attempts: z.array(runAnswer) }).meta({ id: 'RunDetails' });

export function runView(run: RunFacts): RunView {
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

export const deadLetterAnswer = z
  .strictObject({
    run_id: z.uuid(),
    job_id: z.uuid(),
    job_name: z.string().nullable(),
    reason: z.enum(DEAD_REASONS),
    error_message: z.string().nullable(),
    attempts: z.int(),
    scheduled_at: instant,
    died_at: instant,
    redriven_as: z.uuid().nullable(),
  })
  .meta({ id: 'DeadLetter' });

export type DeadLetterView = z.output<typeof deadLetterAnswer>;

export function deadLetterView(letter: DeadLetterFacts): DeadLetterView {
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

export const JOB_STATES = ['pending', 'running', 'completed', 'failed', 'paused', 'cancelled'] as const;
export type JobStateWord = (typeof JOB_STATES)[number];

export const jobStatusAnswer = z
  .strictObject({
    job_id: z.uuid(),
    status: z.enum(JOB_STATES),
    last_updated: instant,
    latest_run: runAnswer.nullable(),
  })
  .meta({ id: 'JobStatus' });

export function jobStatusView(status: {
  jobId: JobId;
  state: JobStateWord;
  lastUpdatedMs: number;
  latestRun: RunFacts | undefined;
}): z.output<typeof jobStatusAnswer> {
  return {
    job_id: status.jobId,
    status: status.state,
    last_updated: instantText(status.lastUpdatedMs),
    latest_run: status.latestRun ? runView(status.latestRun) : null,
  };
}
