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
  name: z.string().nullish().describe('1 to 200 characters.'),
  schedule_type: scheduleType.nullish().describe('Inferred from the other fields when left out.'),
  schedule_time: instant
    .nullish()
    .describe('FUTURE: when. INTERVAL: where the rhythm is counted from. ISO 8601 or a UNIX timestamp.'),
  cron_expression: z.string().nullish().describe('5 fields, or 6 with seconds first.'),
  interval: z
    .union([z.string(), z.number()], { error: 'must be a duration or a number of seconds' })
    .nullish()
    .describe('Such as 90s, 15m, 1d or PT15M, or a number of seconds.'),
  frequency: z.string().nullish().describe('hourly, daily, weekly, monthly or yearly.'),
  time_zone: z.string().nullish().describe('An IANA name; UTC when left out.'),
  start_at: instant.nullish().describe('The first instant at which an occurrence may lie.'),
  end_at: instant.nullish().describe('The last instant at which an occurrence may lie.'),
  daylight_saving: daylightSaving
    .nullish()
    .describe('What becomes of times that do not exist, or exist twice.'),
  spread_seconds: z.number().nullish().describe('Delays every occurrence by a fixed share below this.'),
  misfire: misfire.nullish().describe('What becomes of occurrences that could not start in time.'),
  handler: z.string().nullish().describe('What runs it; inferred from the payload when left out.'),
  payload: z
    .custom<JsonObject>(isBody, { error: 'must be a JSON object' })
    .meta({ type: 'object' })
    .nullish()
    .describe('For the handler: at most 256 KiB and 64 levels deep.'),
  priority: word(PRIORITIES).nullish().describe('medium when left out.'),
  max_retries: z.number().nullish().describe('0 to 100; 3 when left out.'),
  retry: retry.nullish().describe('How failed attempts are tried again.'),
  max_concurrency: z.number().nullish().describe('Runs of this job at the same time; 1 when left out.'),
  overlap: word(['queue', 'skip', 'replace'])
    .nullish()
    .describe('What happens when that many are running; queue when left out.'),
  timeout_seconds: z.number().nullish().describe('The longest time one attempt may run; 300 when left out.'),
  start_timeout_seconds: z.number().nullish().describe('The longest time a run may wait for its start.'),
  user_id: z.string().nullish().describe('Whose job it is.'),
  namespace: z.string().nullish().describe('Where it lives; it cannot move later.'),
  labels: z
    .record(z.string(), z.string({ error: 'must be a text' }))
    .nullish()
    .describe('Names with texts, to find jobs by.'),
  resources: z
    .record(z.string(), z.number({ error: 'must be a number' }))
    .nullish()
    .describe('Names with numbers: what a run takes up.'),
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
    atomic: z
      .boolean()
      .nullish()
      .describe('All or none: one bad job refuses the whole, and nothing is created. false when left out.'),
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
