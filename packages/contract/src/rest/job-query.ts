/** The query parameters of lists of jobs, and the same filters as a body. Unknown ones are refused, never ignored. */
import {
  BULK_ACTIONS,
  BULK_JOBS_MAX,
  type Interval,
  JOB_FILTERS,
  JOB_SORT_KEYS,
  type JobCursor,
  type JobId,
  type JobOrder,
  type JobSelection,
  parseInterval,
  refuseValue,
} from '@carillon/domain';
import { z } from 'zod';
import { filterShape, toSelection } from './filter-schemas.ts';
import type { Shape } from './shape.ts';
import { anyOf, count, LIMIT_DEFAULT, LIMIT_MAX, paging, readId, text, textUpTo, yesOrNo } from './values.ts';

export interface JobsQuery extends JobSelection {
  readonly order: 'newest' | 'oldest';
  readonly after: JobId | undefined;
  /** Another order than that of creation, which then does not count. */
  readonly sorted: (JobOrder & { readonly after: JobCursor | undefined }) | undefined;
  readonly withLastRun: boolean;
  /** Counted from 1; undefined when the caller follows Link headers instead. */
  readonly page: number | undefined;
  readonly limit: number;
}

const filterFields = filterShape(JOB_FILTERS);

const SORT_WORDS = ['created_at', ...JOB_SORT_KEYS].flatMap((word) => [word, `-${word}`]);
const sort = z
  .string({ error: 'must be given once' })
  .transform((given) => {
    const word = given.trim().toLowerCase();
    // The sign in front stays what it is.
    return word.slice(0, 1) + word.slice(1).replaceAll('-', '_');
  })
  .refine((word) => SORT_WORDS.includes(word), {
    error: `must be one of ${SORT_WORDS.filter((word) => !word.startsWith('-')).join(', ')}, with - in front for the other way round`,
  })
  .transform((word): { by: 'created_at' | JobOrder['by']; descending: boolean } => {
    const descending = word.startsWith('-');
    return { by: word.slice(descending ? 1 : 0) as JobOrder['by'], descending };
  })
  .meta({ enum: SORT_WORDS });

/** A name in small letters, twice as long as it may be where letters need it, and the id before it. */
const PLACE_LENGTH_MAX = 1_000;

const INCLUDED = new Map([['last-run', 'last_run' as const]]);

const jobsFields = z.strictObject({
  ...filterFields,
  sort: sort
    .optional()
    .describe(
      '-created_at, newest first, when left out. Other orders than that of creation are given for up to 10,000 jobs: narrow a larger list by user_id, namespace, label or status.',
    ),
  after: textUpTo(PLACE_LENGTH_MAX)
    .optional()
    .describe('The place that the list continues after; see the Link header.'),
  include: anyOf(INCLUDED).optional().describe('last_run: with the latest attempt of each job.'),
  ...paging,
});

export const JOBS_QUERY = {
  schema: jobsFields,
  aliases: { schedule_type: 'type', job_type: 'type' },
} satisfies Shape;

export function toJobsQuery(read: z.output<typeof jobsFields>): JobsQuery {
  if (read.after !== undefined && read.page !== undefined) {
    refuseValue('page', 'page and after contradict each other; give only one of them.');
  }
  const { after, page, limit, sort: { by, descending } = { by: 'created_at', descending: true } } = read;
  const withLastRun = read.include?.includes('last_run') ?? false;
  const common = { ...toSelection(JOB_FILTERS, read), withLastRun, page, limit };
  if (by === 'created_at') {
    const order = descending ? 'newest' : 'oldest';
    const cursor = after === undefined ? undefined : (readId(after, 'job') as JobId);
    return { ...common, order, after: cursor, sorted: undefined };
  }
  const cursor = after === undefined ? undefined : readJobCursor(after, by);
  return { ...common, order: 'newest', after: undefined, sorted: { by, descending, after: cursor } };
}

/** A cursor in a sorted list of jobs, as Link headers carry it. */
export function writeJobCursor({ key, jobId }: JobCursor): string {
  return `${jobId}_${key}`;
}

function readJobCursor(cursor: string, by: JobOrder['by']): JobCursor {
  const cut = cursor.indexOf('_');
  const text = cursor.slice(cut + 1);
  if (cut < 0 || (by !== 'name' && !/^-?\d{1,16}$/.test(text))) {
    refuseValue('after', 'after is no place of a list in this order; take it from the Link header.');
  }
  const jobId = readId(cursor.slice(0, cut), 'job') as JobId;
  return { key: by === 'name' ? text : Number(text), jobId };
}

export const BULK_BODY = {
  schema: z.strictObject({
    action: z.enum(BULK_ACTIONS),
    filter: z
      .strictObject(filterFields)
      .nullish()
      .describe('The filters of GET /api/jobs; at least one, so that nothing means everything by accident.'),
    job_ids: z
      .array(z.uuid({ error: 'must be the id of a job' }), { error: 'must be ids of jobs' })
      .min(1, { error: 'names no job' })
      .max(BULK_JOBS_MAX, { error: `names more than ${BULK_JOBS_MAX} jobs` })
      .nullish()
      .describe(`Instead of a filter: these jobs, up to ${BULK_JOBS_MAX}.`),
    dry_run: z.boolean().nullish().describe('Only say what would be changed.'),
    after: text.nullish().describe('The "next" of the answer before, to go on with the rest.'),
  }),
} satisfies Shape;

export function toBulkRequest(read: z.output<typeof BULK_BODY.schema>) {
  return { action: read.action, dryRun: read.dry_run ?? false, of: chosenJobs(read) };
}

function chosenJobs({ filter, job_ids: ids, after }: z.output<typeof BULK_BODY.schema>) {
  if (ids != null) {
    if (filter != null)
      refuseValue('job_ids', 'job_ids and filter contradict each other; give only one of them.');
    if (after != null) refuseValue('after', 'after continues a filter; job_ids are done by one request.');
    return { jobIds: ids.map((id) => id.toLowerCase() as JobId) };
  }
  if (filter == null) refuseValue('filter', 'filter is missing; give a filter or job_ids.', 'field_missing');
  if (Object.values(filter).every((value) => value === undefined)) {
    refuseValue('filter', 'filter names nothing; give at least one filter, such as {"status": "scheduled"}.');
  }
  const afterJobId = after == null ? undefined : (readId(after, 'job') as JobId);
  return { selection: toSelection(JOB_FILTERS, filter), afterJobId };
}

export const DELETE_QUERY = {
  schema: z.strictObject({
    purge: yesOrNo.optional().describe('true: remove the job too, not only cancel it.'),
  }),
} satisfies Shape;

const UPCOMING_MS_MAX = 7 * 86_400_000;
const DAY_MS = 86_400_000;

export const UPCOMING_QUERY = {
  schema: z.strictObject({
    within: text.default('5m').describe('A duration such as 30s, 5m, 2h or 1d; at most 7 days.'),
    limit: count(LIMIT_MAX).default(LIMIT_DEFAULT),
  }),
} satisfies Shape;

const UPCOMING_CALL_MAX = 1_000;

/** The same as calls of RPC ask for it. */
export const UPCOMING_CALL = {
  schema: UPCOMING_QUERY.schema.extend({ limit: count(UPCOMING_CALL_MAX).default(UPCOMING_CALL_MAX) }),
} satisfies Shape;

export function toUpcomingQuery({ within, limit }: z.output<typeof UPCOMING_QUERY.schema>) {
  const withinMs = lengthMs(
    parseInterval(/^\d+$/.test(within) ? Number(within) : within, { field: 'within' }),
  );
  if (withinMs > UPCOMING_MS_MAX) refuseValue('within', 'within must be at most 7 days.');
  return { withinMs, limit };
}

function lengthMs(interval: Interval): number {
  if (interval.kind === 'exact') return interval.everyMs;
  const days = { day: 1, week: 7, month: 31 }[interval.unit];
  return interval.every * days * DAY_MS;
}
