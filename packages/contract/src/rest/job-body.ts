/**
 * The bodies that create jobs, change one or preview a schedule: shapes and words, strictly. Every field is optional here;
 * what a job needs and what goes together is judged by the domain. null means the default.
 */
import {
  JOB_FIELDS,
  type JobId,
  type JobInput,
  parseInstant,
  Refusal,
  SCHEDULE_FIELDS,
} from '@carillon/domain';
import { z } from 'zod';
import { inputShape, toInput } from './field-schemas.ts';
import { isBody, readShape, type Shape } from './shape.ts';
import { countInBody } from './values.ts';

export const BATCH_JOBS_MAX = 1_000;

export const JOB_BODY = {
  schema: z.strictObject(inputShape(JOB_FIELDS)),
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

export function toJobInput(body: z.output<typeof JOB_BODY.schema>): JobInput {
  return toInput(JOB_FIELDS, body);
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

const scheduleFields = inputShape(SCHEDULE_FIELDS);

/** Which fire of a job is skipped, or is skipped no longer. */
export const SKIP_BODY = {
  schema: z.strictObject({
    at: z
      .union([z.string(), z.number()])
      .describe('The instant of a coming fire, as the preview answers it: ISO 8601 with an offset.'),
  }),
} satisfies Shape;

export function toSkipRequest({ at }: z.output<typeof SKIP_BODY.schema>): { readonly atMs: number } {
  return { atMs: parseInstant(at, { field: 'at' }) };
}

/** Which version of a job to bring back. */
export const RESTORE_BODY = {
  schema: z.strictObject({
    version: z.int().min(1).describe('As GET /jobs/{id}/versions lists it.'),
    dry_run: z.boolean().nullish().describe('true: only what would be; nothing is changed.'),
  }),
} satisfies Shape;

export function toRestoreRequest({ version, dry_run: dryRun }: z.output<typeof RESTORE_BODY.schema>) {
  return { version, dryRun: dryRun ?? false };
}

/** The fields of a job that make its schedule, and which of its instants to show. */
export const PREVIEW_BODY = {
  schema: z.strictObject({
    ...scheduleFields,
    job_id: z
      .uuid()
      .nullish()
      .describe(
        'A job that is there: without schedule fields its own schedule is shown. Its skipped fires are marked, and it is not counted among the others.',
      ),
    namespace: z
      .string()
      .min(1)
      .max(100)
      .nullish()
      .describe(
        'Where other jobs are counted; that of the job, or the one the caller makes jobs in, when left out.',
      ),
    count: countInBody(100).describe('How many instants to show; 5 when left out.'),
    after: scheduleFields.start_at.describe('Count from here instead of from now.'),
    until: scheduleFields.start_at.describe(
      'No instants after this one, at most 42 days later; the answer then counts them day by day.',
    ),
  }),
  aliases: JOB_BODY.aliases,
} satisfies Shape;

export function toPreviewRequest(read: z.output<typeof PREVIEW_BODY.schema>) {
  const { count, after, until, job_id: jobId, namespace, ...schedule } = read;
  return {
    schedule: toInput(SCHEDULE_FIELDS, schedule),
    jobId: (jobId ?? undefined) as JobId | undefined,
    namespace: namespace ?? undefined,
    count: count ?? 5,
    afterMs: after == null ? undefined : parseInstant(after, { field: 'after' }),
    untilMs: until == null ? undefined : parseInstant(until, { field: 'until' }),
  };
}
