/** The query parameters of the lists. Unknown ones are refused: a filter that is silently ignored shows the wrong list. */
import {
  JOB_STATUSES,
  type JobId,
  type JobStatus,
  PRIORITIES,
  type Priority,
  parseInstant,
  type RunId,
  type ScheduleType,
} from '@carillon/domain';
import { z } from 'zod';
import { readId } from './ids.ts';
import type { Shape } from './shape.ts';

export const LIMIT_MAX = 200;
export const LIMIT_DEFAULT = 50;
const PAGE_MAX = 1_000_000;

export interface Page {
  /** Counted from 1; undefined when the caller follows Link headers instead. */
  readonly page: number | undefined;
  readonly limit: number;
}

export interface JobsQuery extends Page {
  readonly status: JobStatus | undefined;
  readonly scheduleTypes: readonly ScheduleType[] | undefined;
  readonly priority: Priority | undefined;
  readonly userId: string | undefined;
  readonly handler: string | undefined;
  readonly after: JobId | undefined;
}

export interface RunsQuery extends Page {
  readonly before: { readonly createdAtMs: number; readonly runId: RunId } | undefined;
}

/** No PostgreSQL text can hold U+0000 or half a surrogate pair, so nothing that is asked for can contain them. */
const text = z
  .string({ error: 'must be given once' })
  .min(1, { error: 'is empty' })
  .max(200, { error: 'is longer than 200 characters' })
  .refine((value) => value.isWellFormed() && !value.includes('\u0000'), {
    error: 'holds a character that cannot be stored',
  });

function count(max: number) {
  const error = `must be a whole number from 1 to ${max}`;
  return z
    .string({ error })
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
    .refine((value) => value >= 1 && value <= max, { error });
}

const paging = { page: count(PAGE_MAX).optional(), limit: count(LIMIT_MAX).default(LIMIT_DEFAULT) };

const STATUS_WORDS = new Map<string, JobStatus>([
  ...JOB_STATUSES.map((status) => [status.toLowerCase(), status] as const),
  ['pending', 'SCHEDULED'],
]);
const TYPE_WORDS = new Map<string, readonly ScheduleType[]>([
  ['immediate', ['IMMEDIATE']],
  ['future', ['FUTURE']],
  ['cron', ['CRON']],
  ['interval', ['INTERVAL']],
  ['one-time', ['IMMEDIATE', 'FUTURE']],
  ['recurring', ['CRON', 'INTERVAL']],
]);

const jobsFields = z.strictObject({
  status: oneOf(STATUS_WORDS).optional(),
  type: oneOf(TYPE_WORDS).optional(),
  priority: oneOf(new Map(PRIORITIES.map((priority) => [priority, priority]))).optional(),
  user_id: text.optional(),
  handler: text.optional(),
  after: text.optional(),
  ...paging,
});

export const JOBS_QUERY = {
  schema: jobsFields,
  aliases: { schedule_type: 'type', job_type: 'type' },
} satisfies Shape;

export function toJobsQuery(read: z.output<typeof jobsFields>): JobsQuery {
  return {
    status: read.status,
    scheduleTypes: read.type,
    priority: read.priority,
    userId: read.user_id,
    handler: read.handler,
    after: read.after === undefined ? undefined : (readId(read.after, 'job') as JobId),
    page: read.page,
    limit: read.limit,
  };
}

const runsFields = z.strictObject({ before: text.optional(), ...paging });

export const RUNS_QUERY = { schema: runsFields } satisfies Shape;

export function toRunsQuery({ before, page, limit }: z.output<typeof runsFields>): RunsQuery {
  return { before: before === undefined ? undefined : readRunPlace(before), page, limit };
}

export const WORKER_RUNS_QUERY = {
  schema: runsFields.extend({ worker_id: text }),
} satisfies Shape;

const deadLettersFields = z.strictObject({
  job_id: text.optional(),
  before: text.optional(),
  limit: paging.limit,
});

export const DEAD_LETTERS_QUERY = { schema: deadLettersFields } satisfies Shape;

export function toDeadLettersQuery(read: z.output<typeof deadLettersFields>): {
  jobId?: JobId;
  before?: { diedAtMs: number; runId: RunId };
  limit: number;
} {
  return {
    ...(read.job_id === undefined ? {} : { jobId: readId(read.job_id, 'job') as JobId }),
    ...(read.before === undefined ? {} : { before: readLetterPlace(read.before) }),
    limit: read.limit,
  };
}

/** A place as Link headers carry it, or an instant that a person typed: everything before it. */
function readLetterPlace(place: string): { diedAtMs: number; runId: RunId } {
  if (place.includes('_')) {
    const { createdAtMs, runId } = readRunPlace(place);
    return { diedAtMs: createdAtMs, runId };
  }
  return { diedAtMs: parseInstant(place, { field: 'before' }), runId: FIRST_ID };
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000' as RunId;

/** A place in a list of runs, as Link headers carry it. */
export function writeRunPlace(run: { createdAtMs: number; runId: RunId }): string {
  return `${new Date(run.createdAtMs).toISOString()}_${run.runId}`;
}

function readRunPlace(place: string): { createdAtMs: number; runId: RunId } {
  const cut = place.lastIndexOf('_');
  const createdAtMs = parseInstant(place.slice(0, Math.max(cut, 0)), { field: 'before' });
  return { createdAtMs, runId: readId(place.slice(cut + 1), 'run') as RunId };
}

function oneOf<Value>(words: ReadonlyMap<string, Value>) {
  const error = `must be one of ${[...words.keys()].join(', ')}`;
  return z
    .string({ error })
    .transform((given) => given.toLowerCase().replaceAll('_', '-'))
    .refine((given) => words.has(given), { error })
    .transform((given) => words.get(given)!);
}

const yesOrNo = oneOf(
  new Map([
    ['true', true],
    ['false', false],
  ]),
);

export const DELETE_QUERY = { schema: z.strictObject({ purge: yesOrNo.optional() }) } satisfies Shape;
