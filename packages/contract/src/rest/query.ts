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
import { type Body, spellFields } from './field-names.ts';
import { readId } from './ids.ts';
import { readWith } from './read-with.ts';

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

const jobsQuery = z.strictObject({
  status: oneOf(STATUS_WORDS).optional(),
  type: oneOf(TYPE_WORDS).optional(),
  priority: oneOf(new Map(PRIORITIES.map((priority) => [priority, priority]))).optional(),
  user_id: text.optional(),
  handler: text.optional(),
  after: text.optional(),
  ...paging,
});

export function parseJobsQuery(query: Body): JobsQuery {
  const names = Object.keys(jobsQuery.shape);
  const aliases = { schedule_type: 'type', job_type: 'type' };
  const read = readWith(jobsQuery, { ...spellFields(query, { names, aliases }) });
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

const runsQuery = z.strictObject({ before: text.optional(), ...paging });

export function parseRunsQuery(query: Body): RunsQuery {
  const names = Object.keys(runsQuery.shape);
  const { before, page, limit } = readWith(runsQuery, { ...spellFields(query, { names }) });
  return { before: before === undefined ? undefined : readRunPlace(before), page, limit };
}

const workerRunsQuery = runsQuery.extend({ worker_id: text.optional() });

export function parseWorkerRunsQuery(query: Body): RunsQuery & { workerId: string | undefined } {
  const names = Object.keys(workerRunsQuery.shape);
  const read = readWith(workerRunsQuery, { ...spellFields(query, { names }) });
  const before = read.before === undefined ? undefined : readRunPlace(read.before);
  return { workerId: read.worker_id, before, page: read.page, limit: read.limit };
}

const deadLettersQuery = z.strictObject({
  job_id: text.optional(),
  before: text.optional(),
  limit: paging.limit,
});

export function parseDeadLettersQuery(query: Body): {
  jobId?: JobId;
  before?: { diedAtMs: number; runId: RunId };
  limit: number;
} {
  const names = Object.keys(deadLettersQuery.shape);
  const read = readWith(deadLettersQuery, { ...spellFields(query, { names }) });
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

const deleteQuery = z.strictObject({
  purge: oneOf(
    new Map([
      ['true', true],
      ['false', false],
    ]),
  ).optional(),
});

export function parseDeleteQuery(query: Body): { purge: boolean } {
  const { purge = false } = readWith(deleteQuery, { ...spellFields(query, { names: ['purge'] }) });
  return { purge };
}
