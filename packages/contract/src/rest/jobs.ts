/** Jobs as answers show them, in the words of the request, and what became of requests about them. */
import {
  BULK_ACTIONS,
  type BulkAction,
  FREQUENCY_WORDS,
  formatInterval,
  frequencyToInterval,
  type Interval,
  JOB_FIELDS,
  JOB_STATES,
  type Job,
  type JobId,
  MISFIRE_FIELDS,
  payloadOf,
  RETRY_FIELDS,
  type Refusal,
  type RunFacts,
  SCHEDULE_FIELDS,
  type Schedule,
  SHOWN_JOB_STATUSES,
  type ShownJobStatus,
  SKIPS_LISTED_MAX,
  type SkippedFire,
  stateWord,
  WAITING_RUNS_MAX,
  type WaitsFor,
  waitText,
} from '@carillon/domain';
import { z } from 'zod';
import { answerOf, deprecated, instant, instantText, secondsOf } from './answer.ts';
import { NAMED_MAX } from './dead-letters.ts';
import { answerShape, nullable, viewOf } from './field-schemas.ts';
import { problemAnswer } from './problem.ts';
import { runAnswer, runView } from './runs.ts';

const fields = answerShape(JOB_FIELDS);
const { name, key, namespace, user_id } = fields;

const skippedFire = answerOf<SkippedFire>('SkippedFire')({
  at: [instant, ({ atMs }) => instantText(atMs)],
  by: [
    z.string().describe('The name of who skipped it; `key` and its name for a key of nobody.'),
    ({ by }) => by,
  ],
  skipped_at: [instant, ({ skippedAtMs }) => instantText(skippedAtMs)],
});

/** A job; fields that its schedule does not use are null. */
export const jobAnswer = z
  .strictObject({
    job_id: z.uuid(),
    ...{ name, key, namespace, user_id },
    status: z
      .enum(SHOWN_JOB_STATUSES)
      .describe('RUNNING while a run of it is claimed or running, unless it was paused or cancelled.'),
    ...fields,
    ...nullable(answerShape(SCHEDULE_FIELDS)),
    schedule_type: fields.schedule_type,
    version: z.int(),
    next_run_at: instant
      .nullable()
      .describe('The next occurrence that nobody has skipped; null when none lies ahead.'),
    next_run_time: deprecated(instant.nullable(), 'next_run_at'),
    skipped_fires: z
      .array(skippedFire.answer)
      .describe(
        `Coming fires that a person has skipped, earliest first; the schedule goes on after them. In lists the first ${SKIPS_LISTED_MAX}.`,
      ),
    created_at: instant,
    updated_at: instant,
    user_name: z
      .string()
      .nullable()
      .optional()
      .describe('What the user of user_id is called, where jobs are read; null when no user has that id.'),
    waiting_runs: z
      .int()
      .optional()
      .describe(
        `Runs that are due and wait, counted up to ${WAITING_RUNS_MAX}. In lists only with include=last_run, and up to 100.`,
      ),
    waiting_reason: z
      .string()
      .nullable()
      .optional()
      .describe(
        'What the first of them waits for; null when none waits. In lists only with include=last_run.',
      ),
    last_run: runAnswer
      .nullable()
      .optional()
      .describe(
        'Its latest attempt, where it was asked for by include=last_run; null when it never had one.',
      ),
  })
  .meta({ id: 'Job' });

export type JobView = z.output<typeof jobAnswer>;

/** Payloads are left out of lists, unless they are asked for. */
export const listedJobAnswer = jobAnswer
  .extend({ payload: jobAnswer.shape.payload.optional().describe('Only with include=payload.') })
  .meta({ id: 'ListedJob' });

/** So that fields come in the order of the schema, however they are put together. */
const IN_ORDER: object = Object.fromEntries(
  Object.entries(jobAnswer.shape).flatMap(([name, schema]) =>
    schema instanceof z.ZodOptional ? [] : [[name, null]],
  ),
);
const plainView = viewOf(JOB_FIELDS);
const misfireView = viewOf(MISFIRE_FIELDS);
const retryView = viewOf(RETRY_FIELDS);

export interface JobFacts {
  readonly job: Job;
  readonly status: ShownJobStatus;
  readonly nextRunMs: number | undefined;
  readonly skips?: readonly SkippedFire[] | undefined;
  readonly waiting?: { readonly waitingRuns: number; readonly waitsFor: WaitsFor | undefined };
  readonly owner?: { readonly name: string | undefined };
  readonly last?: { readonly run: RunFacts | undefined };
}

export function jobView({ job, status, nextRunMs, skips = [], owner, waiting, last }: JobFacts): JobView {
  return {
    ...IN_ORDER,
    job_id: job.jobId,
    name: job.name,
    namespace: job.namespace,
    status,
    ...scheduleView(job.schedule),
    misfire: misfireView(job.misfire),
    handler: job.handler,
    payload: payloadOf(job),
    max_retries: job.retry.maxRetries,
    retry: retryView(job.retry),
    ...plainView(job),
    version: job.version,
    next_run_at: instantText(nextRunMs),
    next_run_time: instantText(nextRunMs),
    skipped_fires: skips.map(skippedFire.view),
    created_at: instantText(job.createdAtMs),
    updated_at: instantText(job.updatedAtMs),
    ...(owner && { user_name: owner.name ?? null }),
    ...(waiting && waitingView(waiting)),
    ...(last && { last_run: last.run ? runView(last.run) : null }),
  };
}

/** Without the payload: lists leave it unread. */
export function listedJobView(details: JobFacts) {
  const { payload: _, ...view } = jobView(details);
  return view;
}

function waitingView({ waitingRuns, waitsFor }: NonNullable<JobFacts['waiting']>) {
  const reason =
    waitingRuns === 0 ? null : ((waitsFor && waitText(waitsFor)) ?? 'waits to be handed to a worker');
  return { waiting_runs: waitingRuns, waiting_reason: reason };
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

/** The word that the first versions answered as status, when only a status was answered. */
export const OUTCOMES = [
  'submitted',
  'updated',
  'paused',
  'resumed',
  'skipped',
  'unskipped',
  'cancelled',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

const outcome = {
  outcome: z.enum(OUTCOMES).describe('What was asked for.'),
  changed: z.boolean().describe('False: the job already was as requested, or had been accepted before.'),
};
const jobActed = jobAnswer.extend(outcome).meta({ id: 'JobActed' });
const jobActedShort = jobAnswer
  .pick({ job_id: true, status: true, version: true })
  .extend(outcome)
  .meta({ id: 'JobActedShort' });

/** What creating and changing a job answers: the job, or little of it where that was preferred or the caller may not read it. */
export const jobActedAnswer = z.union([jobActed, jobActedShort]);

interface Acted {
  readonly outcome: Outcome;
  readonly changed: boolean;
}

export function jobActedView(facts: JobFacts, { outcome: word, changed }: Acted) {
  return { ...jobView(facts), outcome: word, changed };
}

export function jobActedShortView(
  { job, status }: Pick<JobFacts, 'status'> & { job: Pick<Job, 'jobId' | 'version'> },
  { outcome: word, changed }: Acted,
) {
  return { job_id: job.jobId, status, version: job.version, outcome: word, changed };
}

export const batchAnswer = z.array(
  z.union([
    z
      .strictObject({
        job_id: z.uuid(),
        outcome: z.literal('submitted'),
        status: deprecated(z.literal('submitted'), 'outcome'),
        created: z.boolean().describe('False: accepted before, under the same Idempotency-Key.'),
      })
      .meta({ id: 'JobOfBatch' }),
    z
      .strictObject({
        outcome: z.literal('refused'),
        status: deprecated(z.literal('refused'), 'outcome'),
        error: problemAnswer,
      })
      .meta({ id: 'JobRefused' }),
  ]),
);

export const jobRemovedAnswer = z
  .strictObject({
    job_id: z.uuid(),
    outcome: z.literal('deleted'),
    status: deprecated(z.literal('deleted'), 'outcome'),
  })
  .meta({ id: 'JobRemoved' });

interface JobStatusFacts {
  readonly jobId: JobId;
  readonly status: ShownJobStatus;
  readonly waiting: NonNullable<JobFacts['waiting']>;
  readonly lastUpdatedMs: number;
  readonly latestRun: RunFacts | undefined;
}

export const { answer: jobStatusAnswer, view: jobStatusView } = answerOf<JobStatusFacts>('JobStatus')({
  job_id: [z.uuid(), ({ jobId }) => jobId],
  status: [
    z.enum(JOB_STATES).describe('The status of the job in small letters, where SCHEDULED is called pending.'),
    ({ status }) => stateWord(status),
  ],
  updated_at: [instant, ({ lastUpdatedMs }) => instantText(lastUpdatedMs)],
  last_updated: [deprecated(instant, 'updated_at'), ({ lastUpdatedMs }) => instantText(lastUpdatedMs)],
  latest_run: [runAnswer.nullable(), ({ latestRun }) => (latestRun ? runView(latestRun) : null)],
  waiting_runs: [
    z.int().describe(`Runs that are due and wait, counted up to ${WAITING_RUNS_MAX}.`),
    ({ waiting }) => waiting.waitingRuns,
  ],
  waiting_reason: [
    z.string().nullable().describe('What the first of them waits for; null when none waits.'),
    ({ waiting }) => waitingView(waiting).waiting_reason,
  ],
});

interface BulkRequest {
  readonly action: BulkAction;
  readonly dryRun: boolean;
}
interface BulkReport {
  readonly matched: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: number;
  readonly jobIds: readonly JobId[];
  readonly results: readonly BulkResult[];
  readonly next: JobId | undefined;
}
interface BulkResult {
  readonly jobId: JobId;
  readonly outcome: (typeof BULK_OUTCOMES)[number];
  readonly error?: Refusal;
}

const BULK_OUTCOMES = ['changed', 'unchanged', 'refused'] as const;
const bulkResult = answerOf<BulkResult>('BulkResult')({
  job_id: [z.uuid(), ({ jobId }) => jobId],
  outcome: [
    z.enum(BULK_OUTCOMES).describe('unchanged: it already was as requested.'),
    (result) => result.outcome,
  ],
  error: [
    z
      .strictObject({ code: z.string(), message: z.string() })
      .nullable()
      .describe('Why it was refused; null otherwise.'),
    ({ error }) => (error ? { code: error.code, message: error.message } : null),
  ],
});

const bulkReport = answerOf<BulkRequest & BulkReport>('BulkReport')({
  action: [z.enum(BULK_ACTIONS), (report) => report.action],
  dry_run: [z.boolean(), (report) => report.dryRun],
  matched: [z.int(), (report) => report.matched],
  changed: [z.int(), (report) => report.changed],
  unchanged: [z.int().describe('They already were as requested.'), (report) => report.unchanged],
  refused: [
    z.int().describe('Could not be changed: they have ended, for instance.'),
    (report) => report.refused,
  ],
  job_ids: [
    z.array(z.uuid()).describe(`The first ${NAMED_MAX} that matched.`),
    (report) => report.jobIds.slice(0, NAMED_MAX),
  ],
  jobs: [deprecated(z.array(z.uuid()), 'job_ids'), (report) => report.jobIds.slice(0, NAMED_MAX)],
  results: [
    z
      .array(bulkResult.answer)
      .describe('One for each job that was to be changed; in a dry run, only those that cannot be.'),
    (report) => report.results.map(bulkResult.view),
  ],
  next: [
    z.uuid().nullable().describe('Send it as "cursor" to go on with the rest; null: there is none.'),
    (report) => report.next ?? null,
  ],
});
export const bulkAnswer = bulkReport.answer;

export function bulkView({ action, dryRun }: BulkRequest, report: BulkReport) {
  return bulkReport.view({ action, dryRun, ...report });
}
