/** The query parameters of lists of jobs, and the same filters as a body. Unknown ones are refused, never ignored. */
import {
  BULK_ACTIONS,
  BULK_JOBS_MAX,
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
import { chosenIds, idsInBody } from './chosen-ids.ts';
import { filterShape, toSelection } from './filter-schemas.ts';
import type { Shape } from './shape.ts';
import {
  continuing,
  continuingBody,
  including,
  lengthMs,
  paging,
  readCursor,
  readId,
  text,
  yesOrNo,
} from './values.ts';

export interface JobsQuery extends JobSelection {
  readonly order: 'newest' | 'oldest';
  readonly after: JobId | undefined;
  /** Another order than that of creation, which then does not count. */
  readonly sorted: (JobOrder & { readonly after: JobCursor | undefined }) | undefined;
  readonly withLastRun: boolean;
  /** Counted from 1; undefined when the caller follows Link headers instead. */
  readonly page: number | undefined;
  readonly limit: number;
  /** Whether payloads are answered as well. */
  readonly payloads: boolean;
}

const filterFields = filterShape(JOB_FILTERS);

/** The name of the field that it sorts by, under which answers have it now. */
const NEXT_RUN = 'next_run_at';
const SORT_WORDS = ['created_at', ...JOB_SORT_KEYS, NEXT_RUN].flatMap((word) => [word, `-${word}`]);
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
    const by = word.slice(descending ? 1 : 0);
    return { by: by === NEXT_RUN ? 'next_run_time' : (by as JobOrder['by']), descending };
  })
  .meta({ enum: SORT_WORDS });

const jobsFields = z.strictObject({
  ...filterFields,
  sort: sort
    .optional()
    .describe(
      '-created_at, newest first, when left out. Other orders than that of creation are given for up to 10,000 jobs: narrow a larger list by user_id, namespace, label or status.',
    ),
  include: including(
    ['payload', 'last_run'],
    'payload: with the payloads, which are left out otherwise. last_run: with the latest attempt of each job.',
  ),
  ...continuing('after'),
  ...paging,
});

export const JOBS_QUERY = {
  schema: jobsFields,
  aliases: { schedule_type: 'type', job_type: 'type' },
} satisfies Shape;

export function toJobsQuery(read: z.output<typeof jobsFields>): JobsQuery {
  const { page, limit, sort: { by, descending } = { by: 'created_at', descending: true } } = read;
  const payloads = read.include?.includes('payload') ?? false;
  const withLastRun = read.include?.includes('last_run') ?? false;
  const common = { ...toSelection(JOB_FILTERS, read), page, limit, payloads, withLastRun };
  if (by === 'created_at') {
    const order = descending ? 'newest' : 'oldest';
    const after = readCursor(read, (text) => readId(text, 'job') as JobId);
    return { ...common, order, after, sorted: undefined };
  }
  const cursor = readCursor(read, (text) => readJobCursor(text, by));
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
    refuseValue('cursor', 'cursor is no position of a list in this order.');
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
    job_ids: idsInBody('job', BULK_JOBS_MAX),
    dry_run: z.boolean().nullish().describe('Only say what would be changed.'),
    ...continuingBody('after'),
  }),
} satisfies Shape;

export function toBulkRequest(read: z.output<typeof BULK_BODY.schema>) {
  return { action: read.action, dryRun: read.dry_run ?? false, of: chosenJobs(read) };
}

function chosenJobs({ filter, job_ids: ids, ...rest }: z.output<typeof BULK_BODY.schema>) {
  const { cursor, after } = rest;
  const jobIds = chosenIds<JobId>('job_ids', ids, { filter, ofFilter: { cursor, after } });
  if (jobIds) return { jobIds };
  if (Object.values(filter!).every((value) => value === undefined)) {
    refuseValue('filter', 'filter names nothing; give at least one filter, such as {"status": "scheduled"}.');
  }
  return {
    selection: toSelection(JOB_FILTERS, filter!),
    afterJobId: readCursor(rest, (text) => readId(text, 'job') as JobId),
  };
}

export const DELETE_QUERY = {
  schema: z.strictObject({
    purge: yesOrNo.optional().describe('true: remove the job too, not only cancel it.'),
  }),
} satisfies Shape;

const inNamespace = text
  .optional()
  .describe('Where the key is looked for; where the caller makes jobs when left out.');

export const JOB_KEY_QUERY = { schema: z.strictObject({ namespace: inNamespace }) } satisfies Shape;

export const APPLY_QUERY = {
  schema: z.strictObject({
    namespace: inNamespace,
    dry_run: yesOrNo.optional().describe('true: only say what would be done.'),
  }),
} satisfies Shape;

const UPCOMING_MS_MAX = 7 * 86_400_000;

export const UPCOMING_QUERY = {
  schema: z.strictObject({
    within: text.default('5m').describe('A duration such as 30s, 5m, 2h or 1d; at most 7 days.'),
    namespace: text.optional().describe('Only jobs of this namespace.'),
    limit: paging.limit,
  }),
} satisfies Shape;

export function toUpcomingQuery({ within, namespace, limit }: z.output<typeof UPCOMING_QUERY.schema>) {
  const withinMs = lengthMs(
    parseInterval(/^\d+$/.test(within) ? Number(within) : within, { field: 'within' }),
  );
  if (withinMs > UPCOMING_MS_MAX) refuseValue('within', 'within must be at most 7 days.');
  return { withinMs, namespace, limit };
}
