/** A job as answers show it, in the words of the request: what was sent can be read back under the same names. */
import {
  FREQUENCY_WORDS,
  formatInterval,
  frequencyToInterval,
  type Interval,
  type Job,
  payloadOf,
  type Schedule,
} from '@carillon/domain';
import { instantText, secondsOf } from './instant-text.ts';

export type JobView = ReturnType<typeof jobView>;

export function jobView({ job, nextRunMs }: { job: Job; nextRunMs: number | undefined }) {
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
