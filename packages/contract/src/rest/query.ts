/** The query parameters of lists of runs and dead letters. Unknown ones are refused: a filter that is ignored shows the wrong list. */
import {
  BULK_LETTERS_MAX,
  DEAD_LETTER_FILTERS,
  type DeadLetterSelection,
  parseInstant,
  type RunId,
} from '@carillon/domain';
import { z } from 'zod';
import { filterShape, toSelection } from './filter-schemas.ts';
import { readId } from './ids.ts';
import { count, FIRST_ID, paging, refuseValue, text, yesOrNo } from './query-values.ts';
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

const letterFilter = filterShape(DEAD_LETTER_FILTERS);

type LetterPlace = { readonly diedAtMs: number; readonly runId: RunId };

const deadLettersFields = z.strictObject({
  ...letterFilter,
  redriven: yesOrNo.optional().describe('Only those sent round again, or only those that still lie there.'),
  before: text.optional().describe('A place from the Link header, or an instant.'),
  limit: paging.limit,
});

export const DEAD_LETTERS_QUERY = { schema: deadLettersFields } satisfies Shape;

export function toDeadLettersQuery(read: z.output<typeof deadLettersFields>): DeadLetterSelection & {
  redriven: boolean | undefined;
  before: LetterPlace | undefined;
  limit: number;
} {
  return {
    ...toSelection(DEAD_LETTER_FILTERS, read),
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
    selection: toSelection(DEAD_LETTER_FILTERS, read.filter),
    dryRun: read.dry_run ?? false,
    limit: read.limit ?? BULK_LETTERS_MAX,
    before: read.before == null ? undefined : readLetterPlace(read.before),
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
