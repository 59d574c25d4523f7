/** A job as answers show it, in the words of the request: what was sent can be read back under the same names. */
import {
  FREQUENCY_WORDS,
  formatInterval,
  frequencyToInterval,
  type Interval,
  JOB_FIELDS,
  JOB_STATUSES,
  type Job,
  MISFIRE_FIELDS,
  payloadOf,
  RETRY_FIELDS,
  SCHEDULE_FIELDS,
  type Schedule,
} from '@carillon/domain';
import { z } from 'zod';
import { answerShape, nullable, viewOf } from './field-schemas.ts';
import { instantText, secondsOf } from './instant-text.ts';

const instant = z.iso.datetime();
const fields = answerShape(JOB_FIELDS);
const { name, namespace, user_id } = fields;

/** A job; fields that its schedule does not use are null. */
export const jobAnswer = z
  .strictObject({
    job_id: z.uuid(),
    ...{ name, namespace, user_id },
    status: z.enum(JOB_STATUSES),
    ...fields,
    ...nullable(answerShape(SCHEDULE_FIELDS)),
    schedule_type: fields.schedule_type,
    version: z.int(),
    next_run_time: instant.nullable(),
    created_at: instant,
    updated_at: instant,
  })
  .meta({ id: 'Job' });

export type JobView = z.output<typeof jobAnswer>;

/** So that fields come in the order of the schema, however they are put together. */
const IN_ORDER: object = Object.fromEntries(Object.keys(jobAnswer.shape).map((name) => [name, null]));
const plainView = viewOf(JOB_FIELDS);
const misfireView = viewOf(MISFIRE_FIELDS);
const retryView = viewOf(RETRY_FIELDS);

export function jobView({ job, nextRunMs }: { job: Job; nextRunMs: number | undefined }): JobView {
  return {
    ...IN_ORDER,
    job_id: job.jobId,
    name: job.name,
    namespace: job.namespace,
    status: job.status,
    ...scheduleView(job.schedule),
    misfire: misfireView(job.misfire),
    handler: job.handler,
    payload: payloadOf(job),
    max_retries: job.retry.maxRetries,
    retry: retryView(job.retry),
    ...plainView(job),
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
