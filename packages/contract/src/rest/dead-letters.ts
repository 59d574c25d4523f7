/** Dead letters: queries, the body that redrives them, and answers. */
import {
  BULK_LETTERS_MAX,
  DEAD_LETTER_FILTERS,
  DEAD_REASONS,
  type DeadLetter,
  type JobId,
  parseInstant,
  type Refusal,
  type RunId,
} from '@carillon/domain';
import { z } from 'zod';
import { answerOf, deprecated, instant, instantText } from './answer.ts';
import { chosenIds, idsInBody } from './chosen-ids.ts';
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
      .nullish()
      .describe('The filters of GET /api/dead-letters; {} means every dead letter that still lies there.'),
    run_ids: idsInBody('dead letter', BULK_LETTERS_MAX, 'the dead letters of these runs'),
    dry_run: z.boolean().nullish().describe('Only say what would be sent round.'),
    limit: countInBody(BULK_LETTERS_MAX).describe(
      `At most so many in this request; ${BULK_LETTERS_MAX} when left out.`,
    ),
    ...continuingBody('before'),
  }),
} satisfies Shape;

export function toRedriveRequest(read: z.output<typeof REDRIVE_BODY.schema>) {
  return { dryRun: read.dry_run ?? false, of: chosenLetters(read) };
}

function chosenLetters({ filter, run_ids: ids, ...rest }: z.output<typeof REDRIVE_BODY.schema>) {
  const { cursor, before, limit } = rest;
  const runIds = chosenIds<RunId>('run_ids', ids, { filter, ofFilter: { cursor, before, limit } });
  if (runIds) return { runIds };
  return {
    selection: toSelection(DEAD_LETTER_FILTERS, filter!),
    limit: limit ?? BULK_LETTERS_MAX,
    before: readCursor(rest, readLetterCursor),
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

const REDRIVE_OUTCOMES = ['redriven', 'unchanged', 'refused'] as const;

interface RedriveResult {
  readonly runId: RunId;
  readonly outcome: (typeof REDRIVE_OUTCOMES)[number];
  readonly jobId?: JobId | undefined;
  readonly newRunId?: RunId | undefined;
  readonly error?: Refusal;
}
interface RedriveReport {
  readonly dryRun: boolean;
  readonly matched: number;
  readonly redriven: number;
  readonly unchanged: number;
  readonly refused: number;
  readonly runIds: readonly RunId[];
  readonly results: readonly RedriveResult[];
  readonly next: string | undefined;
}

const result = answerOf<RedriveResult>('RedriveResult')({
  run_id: [z.uuid().describe('The run that was given up.'), ({ runId }) => runId],
  outcome: [
    z.enum(REDRIVE_OUTCOMES).describe('unchanged: it was redriven before, as new_run_id.'),
    ({ outcome }) => outcome,
  ],
  job_id: [z.uuid().nullable().describe('null where it was refused.'), ({ jobId }) => jobId ?? null],
  new_run_id: [
    z.uuid().nullable().describe('null where it was refused.'),
    ({ newRunId }) => newRunId ?? null,
  ],
  error: [
    z
      .strictObject({ code: z.string(), message: z.string() })
      .nullable()
      .describe('Why it was refused; null otherwise.'),
    ({ error }) => (error ? { code: error.code, message: error.message } : null),
  ],
});

const redriveReport = answerOf<RedriveReport>('RedriveReport')({
  dry_run: [z.boolean(), (report) => report.dryRun],
  matched: [z.int(), (report) => report.matched],
  redriven: [z.int(), (report) => report.redriven],
  unchanged: [z.int().describe('They were redriven before.'), (report) => report.unchanged],
  refused: [
    z.int().describe('Could not be redriven: their job was cancelled, for instance.'),
    (report) => report.refused,
  ],
  run_ids: [
    z.array(z.uuid()).describe(`The first ${NAMED_MAX} that matched.`),
    (report) => report.runIds.slice(0, NAMED_MAX),
  ],
  results: [
    z
      .array(result.answer)
      .describe('One for each dead letter; in a dry run, only those of run_ids that cannot be redriven.'),
    (report) => report.results.map(result.view),
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
