/** Runs and their logs: queries and answers. */
import {
  type Job,
  type JobId,
  type JsonObject,
  PRIORITIES,
  parseInstant,
  RUN_FILTERS,
  RUN_REASON_LENGTH_MAX,
  RUN_STATUSES,
  type RunFacts,
  type RunId,
  readStoredResult,
  refuseValue,
  startDelayMs,
  waitText,
} from '@carillon/domain';
import { z } from 'zod';
import { answerOf, deprecated, instant, instantText, jsonValue } from './answer.ts';
import { filterShape, toSelection } from './filter-schemas.ts';
import { logUrlOf, resultUrlOf } from './run-logs.ts';
import { progressAnswer, progressView } from './run-state.ts';
import type { Shape } from './shape.ts';
import {
  continuing,
  cursor,
  including,
  LIMIT_DEFAULT,
  oneOf,
  paging,
  readCursor,
  readId,
  text,
  textUpTo,
} from './values.ts';

export interface RunsQuery {
  readonly before: { readonly createdAtMs: number; readonly runId: RunId } | undefined;
  /** Counted from 1; undefined when the caller follows Link headers instead. */
  readonly page: number | undefined;
  readonly limit: number;
  /** Entries before the page. */
  readonly offset: number;
  /** Whether results are answered as well. */
  readonly results: boolean;
}

const include = including(['result'], 'result: with what handlers answered, which is left out otherwise.');

const runsFields = z.strictObject({
  include,
  ...continuing('before'),
  ...paging,
});

export const RUNS_QUERY = { schema: runsFields } satisfies Shape;

/** Living runs come before the history: behind them a list continues by the count of entries. */
const COUNTED = /^\+(\d{1,6})$/;

export function toRunsQuery(read: z.output<typeof runsFields>): RunsQuery {
  const { page, limit } = read;
  const position = readCursor(read, (text) => {
    const counted = COUNTED.exec(text)?.[1];
    return counted === undefined ? readRunCursor(text) : Number(counted);
  });
  const results = includesResult(read);
  if (typeof position === 'number') return { before: undefined, page, limit, offset: position, results };
  const offset = page === undefined ? 0 : (page - 1) * limit;
  return { before: position, page, limit, offset, results };
}

function includesResult(read: { readonly include?: readonly 'result'[] | undefined }): boolean {
  return read.include?.includes('result') ?? false;
}

const allRunsFields = z.strictObject({
  ...filterShape(RUN_FILTERS),
  attempts: oneOf(
    new Map([
      ['all', 'all'],
      ['last', 'last'],
    ] as const),
  )
    .optional()
    .describe(
      'all: an entry for each attempt, as when left out. last: one for each run, its latest attempt; filters are about that one.',
    ),
  include,
  cursor,
  limit: paging.limit,
});

/** Runs across jobs. */
export const ALL_RUNS_QUERY = { schema: allRunsFields } satisfies Shape;

export function toAllRunsQuery(read: z.output<typeof allRunsFields>) {
  const { selection, before } = toRunSelection(read);
  const lastAttempts = read.attempts === 'last';
  return { ...selection, before, limit: read.limit, results: includesResult(read), lastAttempts };
}

/** The filters of a list across jobs, and where it continues. */
export function toRunSelection(read: { readonly cursor?: string | null | undefined }) {
  const selection = toSelection(RUN_FILTERS, read);
  const { statuses = [], jobId } = selection;
  const isOfWaiting = jobId === undefined && statuses.includes('QUEUED');
  if (isOfWaiting && statuses.length > 1) {
    const message =
      'status=queued stands alone, unless job_id names the job: what waits may be millions of runs, in an order of their own.';
    refuseValue('status', message);
  }
  const before = readCursor<ListedCursor | WaitingCursor>(
    read,
    isOfWaiting ? readWaitingCursor : readListedCursor,
  );
  return { selection, before };
}

export interface ListedCursor {
  readonly atMs: number;
  readonly runId: RunId;
  readonly epoch: number;
}
export interface WaitingCursor {
  readonly jobId: JobId;
  readonly runId: RunId;
}

/** A position in a list of runs across jobs, as Link headers carry it. */
export function writeListedCursor(cursor: ListedCursor | WaitingCursor): string {
  if ('jobId' in cursor) return `${cursor.jobId}_${cursor.runId}`;
  return `${new Date(cursor.atMs).toISOString()}_${cursor.runId}_${cursor.epoch}`;
}

function readListedCursor(text: string): ListedCursor {
  const [instant = '', runId = '', epoch = '', ...rest] = text.split('_');
  if (!/^\d{1,9}$/.test(epoch) || rest.length > 0) refuseValue('cursor', 'cursor has another form.');
  const atMs = parseInstant(instant, { field: 'cursor' });
  return { atMs, runId: readId(runId, 'run') as RunId, epoch: Number(epoch) };
}

function readWaitingCursor(text: string): WaitingCursor {
  const [jobId = '', runId = '', ...rest] = text.split('_');
  if (rest.length > 0) refuseValue('cursor', 'cursor has another form.');
  return { jobId: readId(jobId, 'job') as JobId, runId: readId(runId, 'run') as RunId };
}

export const WORKER_RUNS_QUERY = {
  schema: z.strictObject({ worker_id: text, include, cursor, ...paging }),
} satisfies Shape;

export function toWorkerRunsQuery(read: z.output<typeof WORKER_RUNS_QUERY.schema>) {
  const { worker_id: workerId, ...paging } = read;
  return { workerId, ...toRunsQuery(paging) };
}

export const LOGS_QUERY = {
  schema: z.strictObject({
    limit: paging.limit.describe(
      `The latest attempts that lines are told of; ${LIMIT_DEFAULT} when left out.`,
    ),
  }),
} satisfies Shape;

/** A cursor in a list of runs, as Link headers carry it. */
export function writeRunCursor(run: { createdAtMs: number; runId: RunId }): string {
  return `${new Date(run.createdAtMs).toISOString()}_${run.runId}`;
}

export function readRunCursor(cursor: string): { createdAtMs: number; runId: RunId } {
  const cut = cursor.lastIndexOf('_');
  const createdAtMs = parseInstant(cursor.slice(0, Math.max(cut, 0)), { field: 'before' });
  return { createdAtMs, runId: readId(cursor.slice(cut + 1), 'run') as RunId };
}

/** One attempt of a run, with the run's own facts. */
export const { answer: runAnswer, view: runView } = answerOf<RunFacts>('Run')({
  run_id: [z.uuid(), (run) => run.runId],
  job_id: [z.uuid(), (run) => run.jobId],
  status: [z.enum(RUN_STATUSES), (run) => run.status],
  worker_id: [z.string().nullable().describe('Who it was handed to.'), (run) => run.executorId ?? null],
  started_at: [instant.nullable(), (run) => instantText(run.startedAtMs)],
  ended_at: [instant.nullable(), (run) => instantText(run.endedAtMs)],
  updated_at: [instant.describe('When anything of it last changed.'), (run) => instantText(run.modifiedAtMs)],
  attempt_number: [z.int(), (run) => run.attempt],
  error_message: [z.string().nullable(), (run) => run.error ?? null],
  log_url: [
    z.string().nullable().describe('Where what it wrote is read.'),
    (run) => run.logUrl ?? logUrlOf(run.runId),
  ],
  created_at: [instant, (run) => instantText(run.createdAtMs)],
  epoch: [z.int(), (run) => run.epoch],
  trigger: [z.enum(['schedule', 'manual', 'redrive']), (run) => run.trigger],
  scheduled_at: [instant, (run) => instantText(run.scheduledAtMs)],
  start_delay_ms: [
    z
      .int()
      .nullable()
      .describe(
        'From when it should have started, with the spread of its schedule, to its start, whatever held it up: also a slot of its job. null: not measured, as of retries, of what was redriven or run again, and of runs taken over from a lost worker.',
      ),
    (run) => startDelayMs({ ...run, schedule: run.spread }) ?? null,
  ],
  reason: [
    z.string().nullable().describe('Why it was skipped, or what it waits for.'),
    (run) => run.reason ?? (run.waitsFor && waitText(run.waitsFor)) ?? null,
  ],
  result: [
    z
      .unknown()
      .describe(
        'What the handler answered; null when it is too large, and result_url names where it is read.',
      ),
    (run) => (readStoredResult(run.result) ? null : jsonValue(run.result)),
  ],
  result_size: [
    z.int().nullable().describe('Bytes of a result that is read at result_url.'),
    (run) => readStoredResult(run.result)?.bytes ?? null,
  ],
  result_url: [
    z.string().nullable().describe('Where a result of more than 64 KiB is read.'),
    (run) => (readStoredResult(run.result) ? resultUrlOf(run.runId) : null),
  ],
  occurrences: [z.int().describe('A skipped range stands for several.'), (run) => run.occurrences],
  job_version: [z.int(), (run) => run.jobVersion],
  late_report: [z.string().nullable(), (run) => run.lateReport ?? null],
  request_reason: [
    z.string().nullable().describe('Why a person asked for it, in their words.'),
    (run) => run.requestReason ?? null,
  ],
  progress: [
    progressAnswer.nullable().describe('How far the attempt is, as it said last; null when it said nothing.'),
    ({ progress }) => (progress ? progressView(progress) : null),
  ],
  peak_memory_bytes: [
    z
      .int()
      .nullable()
      .describe('The most memory that the attempt had at a time; null where it is not known.'),
    (run) => run.peakMemoryBytes ?? null,
  ],
  cpu_seconds: [
    z.number().nullable().describe('CPU time of the attempt; null where it is not known.'),
    (run) => run.cpuSeconds ?? null,
  ],
  start_time: [deprecated(instant.nullable(), 'started_at'), (run) => instantText(run.startedAtMs)],
  end_time: [deprecated(instant.nullable(), 'ended_at'), (run) => instantText(run.endedAtMs)],
  modified_time: [deprecated(instant, 'updated_at'), (run) => instantText(run.modifiedAtMs)],
  executor_id: [deprecated(z.string().nullable(), 'worker_id'), (run) => run.executorId ?? null],
});

/** Results are left out of lists, unless they are asked for. */
export const shortRunAnswer = runAnswer
  .extend({
    result: z.unknown().optional().describe('What the handler answered; only with include=result.'),
    result_size: runAnswer.shape.result_size.optional(),
    result_url: runAnswer.shape.result_url.optional(),
  })
  .meta({ id: 'ShortRun' });

export const listedRunAnswer = shortRunAnswer
  .extend({
    job_name: z.string().nullable().describe('Null when the job was deleted.'),
    namespace: z.string().nullable(),
    user_id: z.string().nullable(),
    handler: z.string().nullable(),
    tried_again: z
      .boolean()
      .describe('Another attempt of the run has followed this one, or waits: it is not the last word.'),
  })
  .meta({ id: 'ListedRun' });

export function shortRunView(run: RunFacts, { results }: { readonly results: boolean }) {
  const { result, result_size, result_url, ...view } = runView(run);
  return results ? { ...view, result, result_size, result_url } : view;
}

type JobOfRun = Pick<Job, 'name' | 'namespace' | 'userId' | 'handler'>;

export function listedRunView(
  {
    run,
    job,
    triedAgain,
  }: { readonly run: RunFacts; readonly job: JobOfRun | undefined; readonly triedAgain: boolean },
  options: { readonly results: boolean },
) {
  return {
    ...shortRunView(run, options),
    job_name: job?.name ?? null,
    namespace: job?.namespace ?? null,
    user_id: job?.userId ?? null,
    handler: job?.handler ?? null,
    tried_again: triedAgain,
  };
}

export type RunView = z.output<typeof runAnswer>;

/** What may be said when a run is asked for. */
export const RUN_BODY = {
  schema: z.strictObject({
    input: z
      .record(z.string(), z.unknown(), { error: 'must be an object' })
      .nullish()
      .describe(
        'A JSON merge patch (RFC 7386) over the payload of the job, for this run alone: members replace those of the payload at every depth, null removes one. Needs payloads.read; to change more of an http job than body and expect_status also jobs.update.',
      ),
    reason: textUpTo(RUN_REASON_LENGTH_MAX)
      .nullish()
      .describe('Why it is asked for, in one line: kept with the run and in the audit log.'),
  }),
} satisfies Shape;

export function toRunRequest({ input, reason }: z.output<typeof RUN_BODY.schema>) {
  return { input: input as JsonObject | null | undefined, reason };
}

export const runAddedAnswer = z.strictObject({ job_id: z.uuid(), run_id: z.uuid() }).meta({ id: 'RunAdded' });

const RUN_CANCEL_OUTCOMES = ['cancelled', 'cancelling'] as const;

export const runCancelledAnswer = z
  .strictObject({
    run_id: z.uuid(),
    job_id: z.uuid(),
    outcome: z
      .enum(RUN_CANCEL_OUTCOMES)
      .describe(
        'cancelled: it was waiting, and has ended. cancelling: it is running, and was asked to stop.',
      ),
    changed: z.boolean().describe('False: it was asked to stop before.'),
    run: runAnswer.nullable().describe('The run as it is now; null for callers without runs.read.'),
    status: deprecated(z.enum(RUN_CANCEL_OUTCOMES), 'outcome'),
  })
  .meta({ id: 'RunCancelled' });

interface UpcomingFacts {
  readonly job: Pick<Job, 'jobId' | 'name' | 'namespace' | 'userId' | 'handler' | 'priority'>;
  readonly runAtMs: number;
}

export const { answer: upcomingAnswer, view: upcomingView } = answerOf<UpcomingFacts>('Upcoming')({
  job_id: [z.uuid(), ({ job }) => job.jobId],
  name: [z.string(), ({ job }) => job.name],
  namespace: [z.string(), ({ job }) => job.namespace],
  user_id: [z.string().nullable(), ({ job }) => job.userId ?? null],
  handler: [z.string(), ({ job }) => job.handler],
  priority: [z.enum(PRIORITIES), ({ job }) => job.priority],
  run_at: [instant, ({ runAtMs }) => instantText(runAtMs)],
  run_time: [deprecated(instant, 'run_at'), ({ runAtMs }) => instantText(runAtMs)],
});
