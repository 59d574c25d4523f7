/** Runs cancelled or run again in bulk: the request and its report. */
import {
  BULK_RUN_ACTIONS,
  BULK_RUNS_MAX,
  type BulkRunAction,
  type Refusal,
  RUN_FILTERS,
  RUN_REASON_LENGTH_MAX,
  type RunId,
  refuseValue,
} from '@carillon/domain';
import { z } from 'zod';
import { answerOf } from './answer.ts';
import { chosenIds, idsInBody } from './chosen-ids.ts';
import { filterShape } from './filter-schemas.ts';
import { type ListedCursor, toRunSelection, type WaitingCursor, writeListedCursor } from './runs.ts';
import type { Shape } from './shape.ts';
import { textUpTo } from './values.ts';

export const BULK_RUNS_BODY = {
  schema: z.strictObject({
    action: z.enum(BULK_RUN_ACTIONS),
    filter: z
      .strictObject(filterShape(RUN_FILTERS))
      .nullish()
      .describe('The filters of GET /api/runs; at least one, so that nothing means everything by accident.'),
    run_ids: idsInBody('run', BULK_RUNS_MAX),
    dry_run: z.boolean().nullish().describe('Only say what would be done.'),
    reason: textUpTo(RUN_REASON_LENGTH_MAX)
      .nullish()
      .describe('Why runs are run again, in one line: kept with each and in the audit log.'),
    cursor: textUpTo(1_000)
      .nullish()
      .describe('Where a filter continues: take it from "next" of the answer before.'),
  }),
} satisfies Shape;

export function toBulkRunsRequest(read: z.output<typeof BULK_RUNS_BODY.schema>) {
  const { action, dry_run, reason } = read;
  return { action, dryRun: dry_run ?? false, reason, of: chosenRuns(read) };
}

function chosenRuns({ filter, run_ids: ids, cursor }: z.output<typeof BULK_RUNS_BODY.schema>) {
  const runIds = chosenIds<RunId>('run_ids', ids, { filter, ofFilter: { cursor } });
  if (runIds) return { runIds };
  if (Object.values(filter!).every((value) => value === undefined))
    refuseValue('filter', 'filter names nothing; give at least one filter, such as {"status": "failed"}.');
  return toRunSelection({ ...filter, cursor });
}

const BULK_OUTCOMES = ['changed', 'unchanged', 'refused'] as const;
/** Of the runs that matched. */
const NAMED_MAX = 100;

interface BulkRunResult {
  readonly runId: RunId;
  readonly outcome: (typeof BULK_OUTCOMES)[number];
  readonly newRunId?: RunId | undefined;
  readonly error?: Refusal;
}
interface BulkRunsReport {
  readonly matched: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: number;
  readonly runIds: readonly RunId[];
  readonly results: readonly BulkRunResult[];
  readonly next: ListedCursor | WaitingCursor | undefined;
}
interface Asked {
  readonly action: BulkRunAction;
  readonly dryRun: boolean;
}

const result = answerOf<BulkRunResult>('BulkRunResult')({
  run_id: [z.uuid(), ({ runId }) => runId],
  outcome: [
    z
      .enum(BULK_OUTCOMES)
      .describe('unchanged: it was asked to stop before, or was run again under the same Idempotency-Key.'),
    ({ outcome }) => outcome,
  ],
  new_run_id: [
    z.uuid().nullable().describe('Of a run that is run again.'),
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

const report = answerOf<Asked & BulkRunsReport>('BulkRunsReport')({
  action: [z.enum(BULK_RUN_ACTIONS), ({ action }) => action],
  dry_run: [z.boolean(), ({ dryRun }) => dryRun],
  matched: [z.int(), ({ matched }) => matched],
  changed: [z.int(), ({ changed }) => changed],
  unchanged: [z.int(), ({ unchanged }) => unchanged],
  refused: [
    z.int().describe('Could not be changed: they have ended, for instance.'),
    ({ refused }) => refused,
  ],
  run_ids: [
    z.array(z.uuid()).describe(`The first ${NAMED_MAX} that matched.`),
    ({ runIds }) => runIds.slice(0, NAMED_MAX),
  ],
  results: [
    z.array(result.answer).describe('One for each run; in a dry run, only those that cannot be changed.'),
    ({ results }) => results.map(result.view),
  ],
  next: [
    z.string().nullable().describe('Send it as "cursor" to go on with the rest; null: there is none.'),
    ({ next }) => (next ? writeListedCursor(next) : null),
  ],
});
export const bulkRunsAnswer = report.answer;

export function bulkRunsView({ action, dryRun }: Asked, done: BulkRunsReport) {
  return report.view({ action, dryRun, ...done });
}
