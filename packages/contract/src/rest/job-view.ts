/** A job as answers show it, in the words of the request: what was sent can be read back under the same names. */
import {
  FREQUENCY_WORDS,
  formatInterval,
  frequencyToInterval,
  type Interval,
  JOB_STATUSES,
  type Job,
  type JsonObject,
  PRIORITIES,
  payloadOf,
  type Schedule,
} from '@carillon/domain';
import { z } from 'zod';
import { instantText, secondsOf } from './instant-text.ts';

const instant = z.iso.datetime();

/** A job; fields that its schedule does not use are null. */
export const jobAnswer = z
  .strictObject({
    job_id: z.uuid(),
    name: z.string(),
    namespace: z.string(),
    user_id: z.string().nullable(),
    status: z.enum(JOB_STATUSES),
    schedule_type: z.enum(['IMMEDIATE', 'FUTURE', 'CRON', 'INTERVAL']),
    schedule_time: instant.nullable(),
    cron_expression: z.string().nullable(),
    interval: z.string().nullable(),
    frequency: z.string().nullable(),
    time_zone: z.string().nullable(),
    start_at: instant.nullable(),
    end_at: instant.nullable(),
    daylight_saving: z
      .strictObject({ gap: z.enum(['run_after', 'skip']), overlap: z.enum(['first', 'second', 'both']) })
      .nullable(),
    spread_seconds: z.number().nullable(),
    misfire: z.strictObject({
      policy: z.enum(['none', 'last', 'all']),
      max_runs: z.int(),
      window_seconds: z.number(),
    }),
    handler: z.string(),
    payload: z
      .custom<JsonObject>((value) => typeof value === 'object' && value !== null)
      .meta({ type: 'object' }),
    priority: z.enum(PRIORITIES),
    max_retries: z.int(),
    retry: z.strictObject({
      strategy: z.enum(['none', 'fixed', 'exponential']),
      delay_seconds: z.number(),
      max_delay_seconds: z.number(),
      jitter: z.boolean(),
      deadline_seconds: z.number().nullable(),
    }),
    max_concurrency: z.int(),
    overlap: z.enum(['queue', 'skip', 'replace']),
    timeout_seconds: z.number(),
    start_timeout_seconds: z.number().nullable(),
    labels: z.record(z.string(), z.string()),
    resources: z.record(z.string(), z.number()),
    version: z.int(),
    next_run_time: instant.nullable(),
    created_at: instant,
    updated_at: instant,
  })
  .meta({ id: 'Job' });

export type JobView = z.output<typeof jobAnswer>;

export function jobView({ job, nextRunMs }: { job: Job; nextRunMs: number | undefined }): JobView {
  const { retry, misfire } = job;
  return {
    job_id: job.jobId,
    name: job.name,
    namespace: job.namespace,
    user_id: job.userId ?? null,
    status: job.status,
    ...scheduleView(job.schedule),
    misfire: { policy: misfire.kind, max_runs: misfire.maxRuns, window_seconds: secondsOf(misfire.windowMs) },
    handler: job.handler,
    payload: payloadOf(job),
    priority: job.priority,
    max_retries: retry.maxRetries,
    retry: {
      strategy: retry.strategy,
      delay_seconds: secondsOf(retry.delayMs),
      max_delay_seconds: secondsOf(retry.delayMsMax),
      jitter: retry.jitter,
      deadline_seconds: secondsOf(retry.deadlineMs),
    },
    max_concurrency: job.maxConcurrency,
    overlap: job.overlap,
    timeout_seconds: secondsOf(job.timeoutMs),
    start_timeout_seconds: secondsOf(job.startTimeoutMs),
    labels: job.labels,
    resources: job.resources,
    version: job.version,
    next_run_time: instantText(nextRunMs),
    created_at: instantText(job.createdAtMs),
    updated_at: instantText(job.updatedAtMs),
  };
}

function scheduleView(schedule: Schedule) {
  const recurring = schedule.type === 'CRON' || schedule.type === 'INTERVAL' ? schedule : undefined;
  const interval = schedule.type === 'INTERVAL' ? schedule.interval : undefined;
  const timeMs = schedule.type === 'FUTURE' ? schedule.atMs : undefined;
  return {
    schedule_type: schedule.type,
    schedule_time: instantText(schedule.type === 'INTERVAL' ? schedule.anchorMs : timeMs),
    cron_expression: schedule.type === 'CRON' ? schedule.expression : null,
    interval: interval ? formatInterval(interval) : null,
    frequency: interval ? frequencyWord(interval) : null,
    time_zone: recurring?.zone ?? null,
    start_at: instantText(recurring?.startMs),
    end_at: instantText(recurring?.endMs),
    daylight_saving: recurring?.daylightSaving ?? null,
    spread_seconds: secondsOf(recurring?.spreadMs),
  };
}

const WORDS = new Map(FREQUENCY_WORDS.map((word) => [formatInterval(frequencyToInterval(word)), word]));

function frequencyWord(interval: Interval): string | null {
  return WORDS.get(formatInterval(interval)) ?? null;
}
