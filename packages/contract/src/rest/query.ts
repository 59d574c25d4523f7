/** The query parameters of lists of runs and dead letters. Unknown ones are refused: a filter that is ignored shows the wrong list. */
import {
  BULK_LETTERS_MAX,
  DEAD_REASONS,
  type DeadReason,
  type JobId,
  parseInstant,
  type RunId,
} from '@carillon/domain';
import { z } from 'zod';
import { readId } from './ids.ts';
import { instantOf } from './job-query.ts';
import { count, FIRST_ID, oneOf, paging, refuseValue, text, yesOrNo } from './query-values.ts';
import type { Shape } from './shape.ts';

export interface RunsQuery {
  readonly before: { readonly createdAtMs: number; readonly runId: RunId } | undefined;
  /** Counted from 1; undefined when the caller follows Link headers instead. */
  readonly page: number | undefined;
  readonly limit: number;
  /** Entries before the page. */
  readonly offset: number;
}

const runsFields = z.strictObject({
  before: text.optional().describe('The place that the list continues before; see the Link header.'),
  ...paging,
});

export const RUNS_QUERY = { schema: runsFields } satisfies Shape;

/** Living runs come before the history: behind them a list continues by the count of entries. */
const COUNTED = /^\+(\d{1,6})$/;

export function toRunsQuery({ before, page, limit }: z.output<typeof runsFields>): RunsQuery {
  if (before !== undefined && page !== undefined) {
    refuseValue('page', 'page and before contradict each other; give only one of them.');
  }
  const counted = COUNTED.exec(before ?? '')?.[1];
  if (counted !== undefined) return { before: undefined, page, limit, offset: Number(counted) };
  const offset = page === undefined ? 0 : (page - 1) * limit;
  return { before: before === undefined ? undefined : readRunPlace(before), page, limit, offset };
}

export const WORKER_RUNS_QUERY = {
  schema: runsFields.omit({ before: true }).extend({ worker_id: text }),
} satisfies Shape;

export function toWorkerRunsQuery(read: z.output<typeof WORKER_RUNS_QUERY.schema>) {
  const { worker_id: workerId, ...paging } = read;
  return { workerId, ...toRunsQuery(paging) };
}

export const LOGS_QUERY = {
  schema: z.strictObject({
    limit: count(200).default(50).describe('The latest attempts that lines are told of; 50 when left out.'),
  }),
} satisfies Shape;

const REASON_WORDS = new Map(DEAD_REASONS.map((reason) => [reason.replaceAll('_', '-'), reason] as const));

const letterFilter = {
  job_id: text.optional(),
  reason: oneOf<DeadReason>(REASON_WORDS)
    .meta({ enum: [...DEAD_REASONS] })
    .optional(),
  handler: text.optional(),
  namespace: text.optional(),
  user_id: text.optional().describe('Whose jobs; "me" for those of the caller.'),
  died_after: text.optional().describe('Given up at or after this instant.'),
  died_before: text.optional().describe('Given up before this instant.'),
};

export interface DeadLettersFilter {
  readonly jobId: JobId | undefined;
  readonly reason: DeadReason | undefined;
  readonly handler: string | undefined;
  readonly namespace: string | undefined;
  readonly userId: string | undefined;
  readonly diedFromMs: number | undefined;
  readonly diedToMs: number | undefined;
}

type LetterPlace = { readonly diedAtMs: number; readonly runId: RunId };

const deadLettersFields = z.strictObject({
  ...letterFilter,
  redriven: yesOrNo.optional().describe('Only those sent round again, or only those that still lie there.'),
  before: text.optional().describe('A place from the Link header, or an instant.'),
  limit: paging.limit,
});

export const DEAD_LETTERS_QUERY = { schema: deadLettersFields } satisfies Shape;

export function toDeadLettersQuery(read: z.output<typeof deadLettersFields>): DeadLettersFilter & {
  redriven: boolean | undefined;
  before: LetterPlace | undefined;
  limit: number;
} {
  return {
    ...toLetterFilter(read),
    redriven: read.redriven,
    before: read.before === undefined ? undefined : readLetterPlace(read.before),
    limit: read.limit,
  };
}

const REDRIVE_DEMAND = `must be a whole number from 1 to ${BULK_LETTERS_MAX}`;

export const REDRIVE_BODY = {
  schema: z.strictObject({
    filter: z
      .strictObject(letterFilter)
      .describe('The filters of GET /api/dead-letters; {} means every dead letter that still lies there.'),
    dry_run: z.boolean().nullish().describe('Only say what would be sent round.'),
    limit: z
      .int({ error: REDRIVE_DEMAND })
      .min(1, { error: REDRIVE_DEMAND })
      .max(BULK_LETTERS_MAX, { error: REDRIVE_DEMAND })
      .nullish()
      .describe(`At most so many in this request; ${BULK_LETTERS_MAX} when left out.`),
    before: text.nullish().describe('The "next" of the answer before, to go on with the rest.'),
  }),
} satisfies Shape;

export function toRedriveRequest(read: z.output<typeof REDRIVE_BODY.schema>) {
  return {
    selection: toLetterFilter(read.filter),
    dryRun: read.dry_run ?? false,
    limit: read.limit ?? BULK_LETTERS_MAX,
    before: read.before == null ? undefined : readLetterPlace(read.before),
  };
}

function toLetterFilter(read: z.output<z.ZodObject<typeof letterFilter>>): DeadLettersFilter {
  return {
    jobId: read.job_id === undefined ? undefined : (readId(read.job_id, 'job') as JobId),
    reason: read.reason,
    handler: read.handler,
    namespace: read.namespace,
    userId: read.user_id,
    diedFromMs: instantOf(read.died_after, 'died_after'),
    diedToMs: instantOf(read.died_before, 'died_before'),
  };
}

/** A place as Link headers carry it, or an instant that a person typed: everything before it. */
function readLetterPlace(place: string): LetterPlace {
  if (place.includes('_')) {
    const { createdAtMs, runId } = readRunPlace(place);
    return { diedAtMs: createdAtMs, runId };
  }
  return { diedAtMs: parseInstant(place, { field: 'before' }), runId: FIRST_ID };
}

/** A place in a list of runs, as Link headers carry it. */
export function writeRunPlace(run: { createdAtMs: number; runId: RunId }): string {
  return `${new Date(run.createdAtMs).toISOString()}_${run.runId}`;
}

function readRunPlace(place: string): { createdAtMs: number; runId: RunId } {
  const cut = place.lastIndexOf('_');
  const createdAtMs = parseInstant(place.slice(0, Math.max(cut, 0)), { field: 'before' });
  return { createdAtMs, runId: readId(place.slice(cut + 1), 'run') as RunId };
}

export const DELETE_QUERY = {
  schema: z.strictObject({
    purge: yesOrNo.optional().describe('true: remove the job too, not only cancel it.'),
  }),
} satisfies Shape;
