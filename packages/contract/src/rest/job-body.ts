/**
 * The body that creates or changes a job: shapes and words, strictly. Every field is optional here; what a job needs and
 * what goes together is judged by the domain. null means the default.
 */

import type { JobInput } from '@carillon/domain';
import { type JsonObject, PRIORITIES, Refusal } from '@carillon/domain';
import { z } from 'zod';
import { isBody } from './field-names.ts';
import { readShape, type Shape } from './shape.ts';

export const BATCH_JOBS_MAX = 1_000;

const instant = z.union([z.string(), z.number()], { error: 'must be an ISO 8601 text or a UNIX timestamp' });

/** Case is forgiven. */
function word<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.preprocess(
    (given) => (typeof given === 'string' ? given.trim().toLowerCase() : given),
    z.enum(words),
  );
}

const scheduleType = z.preprocess(
  (given) => (typeof given === 'string' ? given.trim().toUpperCase().replaceAll(/[- ]/g, '_') : given),
  z.enum(['IMMEDIATE', 'FUTURE', 'CRON', 'INTERVAL', 'ONE_TIME', 'RECURRING']),
);

const daylightSaving = z.strictObject({
  gap: word(['run_after', 'skip']).nullish(),
  overlap: word(['first', 'second', 'both']).nullish(),
});

const misfire = z.strictObject({
  policy: word(['none', 'last', 'all']).nullish(),
  max_runs: z.number().nullish(),
  window_seconds: z.number().nullish(),
});

const retry = z.strictObject({
  strategy: word(['none', 'fixed', 'exponential']).nullish(),
  delay_seconds: z.number().nullish(),
  max_delay_seconds: z.number().nullish(),
  jitter: z.boolean().nullish(),
  deadline_seconds: z.number().nullish(),
});

export const jobBody = z.strictObject({
  name: z.string().nullish(),
  schedule_type: scheduleType.nullish(),
  schedule_time: instant.nullish(),
  cron_expression: z.string().nullish(),
  interval: z
    .union([z.string(), z.number()], { error: 'must be a duration or a number of seconds' })
    .nullish(),
  frequency: z.string().nullish(),
  time_zone: z.string().nullish(),
  start_at: instant.nullish(),
  end_at: instant.nullish(),
  daylight_saving: daylightSaving.nullish(),
  spread_seconds: z.number().nullish(),
  misfire: misfire.nullish(),
  handler: z.string().nullish(),
  payload: z.custom<JsonObject>(isBody, { error: 'must be a JSON object' }).nullish(),
  priority: word(PRIORITIES).nullish(),
  max_retries: z.number().nullish(),
  retry: retry.nullish(),
  max_concurrency: z.number().nullish(),
  overlap: word(['queue', 'skip', 'replace']).nullish(),
  timeout_seconds: z.number().nullish(),
  start_timeout_seconds: z.number().nullish(),
  user_id: z.string().nullish(),
  namespace: z.string().nullish(),
  labels: z.record(z.string(), z.string({ error: 'must be a text' })).nullish(),
  resources: z.record(z.string(), z.number({ error: 'must be a number' })).nullish(),
});

export const JOB_BODY = {
  schema: jobBody,
  aliases: {
    job_name: 'name',
    job_type: 'schedule_type',
    execution_time: 'schedule_time',
    timezone: 'time_zone',
  },
} satisfies Shape;

/** For creating a job and for changing one: in a change, fields that are left out stay as they are. */
export function parseJobBody(body: unknown): JobInput {
  return toJobInput(readShape(JOB_BODY, body));
}

const JOBS_DEMAND = `must be an array of 1 to ${BATCH_JOBS_MAX} jobs`;

export const BATCH_BODY = {
  schema: z.strictObject({
    // Each job is judged by itself, so what is wrong with one must not refuse the whole.
    jobs: z
      .array(z.unknown(), { error: JOBS_DEMAND })
      .min(1, { error: JOBS_DEMAND })
      .max(BATCH_JOBS_MAX, { error: JOBS_DEMAND }),
  }),
} satisfies Shape;

/** Each entry is read by itself: a request, or the refusal that reading it ended with. */
export function readBatch(jobs: readonly unknown[]): (JobInput | Refusal)[] {
  return jobs.map((job: unknown) => {
    try {
      return parseJobBody(job);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  });
}

/** Refuses a body where none is expected: whoever sends one believes that it does something. */
export function requireNoBody(body: unknown): void {
  if (body === undefined || body === null || (isBody(body) && Object.keys(body).length === 0)) return;
  throw new Refusal('field_unknown', 'This request takes no body.');
}

export function toJobInput(body: z.output<typeof jobBody>): JobInput {
  const { daylight_saving: daylight, misfire: missed, retry: again } = body;
  return {
    name: body.name,
    scheduleType: body.schedule_type,
    scheduleTime: body.schedule_time,
    cronExpression: body.cron_expression,
    interval: body.interval,
    frequency: body.frequency,
    timeZone: body.time_zone,
    startAt: body.start_at,
    endAt: body.end_at,
    daylightSaving: daylight,
    spreadSeconds: body.spread_seconds,
    misfire: missed && {
      policy: missed.policy,
      maxRuns: missed.max_runs,
      windowSeconds: missed.window_seconds,
    },
    handler: body.handler,
    payload: body.payload,
    priority: body.priority,
    maxRetries: body.max_retries,
    retry: again && {
      strategy: again.strategy,
      delaySeconds: again.delay_seconds,
      maxDelaySeconds: again.max_delay_seconds,
      jitter: again.jitter,
      deadlineSeconds: again.deadline_seconds,
    },
    maxConcurrency: body.max_concurrency,
    overlap: body.overlap,
    timeoutSeconds: body.timeout_seconds,
    startTimeoutSeconds: body.start_timeout_seconds,
    userId: body.user_id,
    namespace: body.namespace,
    labels: body.labels,
    resources: body.resources,
  };
}
