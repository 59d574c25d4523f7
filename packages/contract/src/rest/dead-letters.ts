/** Dead letters: queries, the body that redrives them, and answers. */
import {
  BULK_LETTERS_MAX,
  DEAD_LETTER_FILTERS,
  DEAD_REASONS,
  type DeadLetter,
  parseInstant,
  type RunId,
} from '@carillon/domain';
import { z } from 'zod';
import { answerOf, deprecated, instant, instantText } from './answer.ts';
import { filterShape, toSelection } from './filter-schemas.ts';
import { readRunCursor, runAddedAnswer } from './runs.ts';
import type { Shape } from './shape.ts';
import { continuing, continuingBody, countInBody, FIRST_ID, paging, readCursor, yesOrNo } from './values.ts';

const letterFilter = filterShape(DEAD_LETTER_FILTERS);

type LetterCursor = { readonly diedAtMs: number; readonly runId: RunId };

const deadLettersFields = z.strictObject({
  ...letterFilter,
  handled: yesOrNo
    .optional()
    .describe(
      'true: only those that were redriven or run again, or whose job has succeeded since; false: only the others.',
    ),
  ...continuing('before'),
  limit: paging.limit,
});

export const DEAD_LETTERS_QUERY = {
  schema: deadLettersFields,
  aliases: { redriven: 'handled' },
} satisfies Shape;

export function toDeadLettersQuery(read: z.output<typeof deadLettersFields>) {
  return {
    ...toSelection(DEAD_LETTER_FILTERS, read),
    handled: read.handled,
    before: readCursor(read, readLetterCursor),
    limit: read.limit,
  };
}

export const REDRIVE_BODY = {
  schema: z.strictObject({
    filter: z
      .strictObject(letterFilter)
      .describe('The filters of GET /api/dead-letters; {} means every dead letter that still lies there.'),
    dry_run: z.boolean().nullish().describe('Only say what would be sent round.'),
    limit: countInBody(BULK_LETTERS_MAX).describe(
      `At most so many in this request; ${BULK_LETTERS_MAX} when left out.`,
    ),
    ...continuingBody('before'),
  }),
} satisfies Shape;

export function toRedriveRequest(read: z.output<typeof REDRIVE_BODY.schema>) {
  return {
    selection: toSelection(DEAD_LETTER_FILTERS, read.filter),
    dryRun: read.dry_run ?? false,
    limit: read.limit ?? BULK_LETTERS_MAX,
    before: readCursor(read, readLetterCursor),
  };
}

/** A cursor as Link headers carry it, or an instant that a person typed: everything before it. */
function readLetterCursor(cursor: string): LetterCursor {
  if (cursor.includes('_')) {
    const { createdAtMs, runId } = readRunCursor(cursor);
    return { diedAtMs: createdAtMs, runId };
  }
  return { diedAtMs: parseInstant(cursor, { field: 'before' }), runId: FIRST_ID };
}

export const { answer: deadLetterAnswer, view: deadLetterView } = answerOf<DeadLetter>('DeadLetter')({
  run_id: [z.uuid(), (letter) => letter.runId],
  job_id: [z.uuid(), (letter) => letter.jobId],
  job_name: [z.string().nullable(), (letter) => letter.jobName ?? null],
  reason: [z.enum(DEAD_REASONS), (letter) => letter.reason],
  error_message: [z.string().nullable(), (letter) => letter.error ?? null],
  attempts: [z.int(), (letter) => letter.attempts],
  scheduled_at: [instant, (letter) => instantText(letter.scheduledAtMs)],
  died_at: [instant, (letter) => instantText(letter.diedAtMs)],
  redriven_run_id: [
    z.uuid().nullable().describe('The run that was added when it was redriven or run again; null before.'),
    (letter) => letter.redrivenAs ?? null,
  ],
  redriven_as: [deprecated(z.uuid().nullable(), 'redriven_run_id'), (letter) => letter.redrivenAs ?? null],
  resolved_by: [
    z.uuid().nullable().describe('The later run of its one-off job that succeeded.'),
    (letter) => letter.resolvedBy ?? null,
  ],
});

export type DeadLetterView = z.output<typeof deadLetterAnswer>;

export const redrivenAnswer = runAddedAnswer.extend({ redriven_from: z.uuid() }).meta({ id: 'Redriven' });

/** Ids that a report names; the numbers beside them count all. */
export const NAMED_MAX = 100;

interface RedriveReport {
  readonly dryRun: boolean;
  readonly matched: number;
  readonly redriven: number;
  readonly refused: number;
  readonly runIds: readonly RunId[];
  readonly next: string | undefined;
}

const redriveReport = answerOf<RedriveReport>('RedriveReport')({
  dry_run: [z.boolean(), (report) => report.dryRun],
  matched: [z.int(), (report) => report.matched],
  redriven: [z.int(), (report) => report.redriven],
  refused: [z.int().describe('Their job was cancelled or removed.'), (report) => report.refused],
  run_ids: [
    z.array(z.uuid()).describe(`The first ${NAMED_MAX} that matched.`),
    (report) => report.runIds.slice(0, NAMED_MAX),
  ],
  runs: [deprecated(z.array(z.uuid()), 'run_ids'), (report) => report.runIds.slice(0, NAMED_MAX)],
  next: [
    z.string().nullable().describe('Send it as "cursor" to go on with the rest; null: there is none.'),
    (report) => report.next ?? null,
  ],
});
export const redriveReportAnswer = redriveReport.answer;

export function redriveReportView(dryRun: boolean, report: Omit<RedriveReport, 'dryRun'>) {
  return redriveReport.view({ dryRun, ...report });
}
