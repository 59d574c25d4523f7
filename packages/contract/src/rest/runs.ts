/** Runs, their logs and the workers that run them: queries and answers. */
import {
  type Job,
  type JsonObject,
  type NodeId,
  PRIORITIES,
  parseInstant,
  RUN_STATUSES,
  type RunFacts,
  type RunId,
  refuseValue,
  type WorkerId,
} from '@carillon/domain';
import { z } from 'zod';
import { answerOf, instant, instantText, jsonValue } from './answer.ts';
import type { Shape } from './shape.ts';
import { count, paging, readId, text, textUpTo } from './values.ts';

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
  return { before: before === undefined ? undefined : readRunCursor(before), page, limit, offset };
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

/** A cursor in a list of runs, as Link headers carry it. */
export function writeRunCursor(run: { createdAtMs: number; runId: RunId }): string {
  return `${new Date(run.createdAtMs).toISOString()}_${run.runId}`;
}

export function readRunCursor(cursor: string): { createdAtMs: number; runId: RunId } {
  const cut = cursor.lastIndexOf('_');
  const createdAtMs = parseInstant(cursor.slice(0, Math.max(cut, 0)), { field: 'before' });
  return { createdAtMs, runId: readId(cursor.slice(cut + 1), 'run') as RunId };
}

/** One attempt of a run, with the run's own facts. The names are those of the columns in the database. */
export const { answer: runAnswer, view: runView } = answerOf<RunFacts>('Run')({
  run_id: [z.uuid(), (run) => run.runId],
  job_id: [z.uuid(), (run) => run.jobId],
  status: [z.enum(RUN_STATUSES), (run) => run.status],
  start_time: [instant.nullable(), (run) => instantText(run.startedAtMs)],
  end_time: [instant.nullable(), (run) => instantText(run.endedAtMs)],
  modified_time: [instant, (run) => instantText(run.modifiedAtMs)],
  executor_id: [z.string().nullable(), (run) => run.executorId ?? null],
  attempt_number: [z.int(), (run) => run.attempt],
  error_message: [z.string().nullable(), (run) => run.error ?? null],
  log_url: [z.string().nullable(), (run) => run.logUrl ?? null],
  created_at: [instant, (run) => instantText(run.createdAtMs)],
  epoch: [z.int(), (run) => run.epoch],
  trigger: [z.enum(['schedule', 'manual', 'redrive']), (run) => run.trigger],
  scheduled_at: [instant, (run) => instantText(run.scheduledAtMs)],
  reason: [
    z.string().nullable().describe('Why it was skipped, or what it waits for.'),
    (run) => run.reason ?? null,
  ],
  result: [z.unknown().describe('What the handler answered.'), (run) => jsonValue(run.result)],
  occurrences: [z.int().describe('A skipped range stands for several.'), (run) => run.occurrences],
  job_version: [z.int(), (run) => run.jobVersion],
  late_report: [z.string().nullable(), (run) => run.lateReport ?? null],
  request_reason: [
    z.string().nullable().describe('Why a person asked for it, in their words.'),
    (run) => run.requestReason ?? null,
  ],
});

export type RunView = z.output<typeof runAnswer>;

export const runDetailsAnswer = runAnswer
  .extend({
    attempts: z.array(runAnswer),
    input: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('What it was asked for with, merged over the payload of its job.'),
  })
  .meta({ id: 'RunDetails' });

const REASON_LENGTH_MAX = 500;

/** What may be said when a run is asked for. */
export const RUN_BODY = {
  schema: z.strictObject({
    input: z
      .record(z.string(), z.unknown(), { error: 'must be an object' })
      .nullish()
      .describe(
        'A JSON merge patch (RFC 7386) over the payload of the job, for this run alone: members replace those of the payload at every depth, null removes one.',
      ),
    reason: textUpTo(REASON_LENGTH_MAX)
      .nullish()
      .describe('Why it is asked for: kept with the run and in the audit log.'),
  }),
} satisfies Shape;

export function toRunRequest({ input, reason }: z.output<typeof RUN_BODY.schema>) {
  return { input: input as JsonObject | null | undefined, reason };
}

export const runAddedAnswer = z.strictObject({ job_id: z.uuid(), run_id: z.uuid() }).meta({ id: 'RunAdded' });

export const runCancelledAnswer = z
  .strictObject({ run_id: z.uuid(), status: z.enum(['cancelled', 'cancelling']) })
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
  run_time: [instant, ({ runAtMs }) => instantText(runAtMs)],
});

interface WorkerFacts {
  readonly workerId: WorkerId;
  readonly nodeId: NodeId;
  readonly alive: boolean;
  readonly slots: number;
  readonly running: number;
  readonly handlers: readonly string[];
  readonly lastSeenMs: number;
}

export const { answer: workerAnswer, view: workerView } = answerOf<WorkerFacts>('Worker')({
  worker_id: [z.string(), (worker) => worker.workerId],
  node_id: [z.string().describe('The server process it belongs to.'), (worker) => worker.nodeId],
  alive: [z.boolean(), (worker) => worker.alive],
  slots: [z.int().describe('Runs it takes at once.'), (worker) => worker.slots],
  running: [z.int().describe('Runs it holds now.'), (worker) => worker.running],
  handlers: [z.array(z.string()), (worker) => [...worker.handlers]],
  last_seen: [instant, (worker) => instantText(worker.lastSeenMs)],
});

/** Of a result in a line of a log. */
const RESULT_LENGTH_MAX = 500;

const logLine = z
  .strictObject({
    timestamp: instant,
    message: z.string(),
    run_id: z.string(),
    attempt_number: z.int(),
  })
  .meta({ id: 'LogLine' });
export type LogLine = z.output<typeof logLine>;

export const jobLogsAnswer = z
  .strictObject({ job_id: z.string(), logs: z.array(logLine) })
  .meta({ id: 'JobLogs' });
export const runLogsAnswer = z
  .strictObject({ job_id: z.string(), run_id: z.string(), logs: z.array(logLine) })
  .meta({ id: 'RunLogs' });

/** In the order things happened. */
export function logLines(attempts: readonly RunFacts[]): LogLine[] {
  return attempts
    .flatMap(linesOf)
    .sort((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0));
}

function linesOf(run: RunFacts): LogLine[] {
  const lines: LogLine[] = [];
  const say = (atMs: number, message: string) => {
    const { runId, attempt } = run;
    lines.push({ timestamp: instantText(atMs), message, run_id: runId, attempt_number: attempt });
  };
  const { status, createdAtMs, startedAtMs, endedAtMs, executorId } = run;
  const endMs = endedAtMs ?? run.modifiedAtMs;
  if (status === 'QUEUED') say(createdAtMs, `queued${run.reason ? `: ${run.reason}` : ''}`);
  else if (status === 'SKIPPED') say(endMs, skipped(run));
  else if (executorId) say(createdAtMs, `handed to worker ${executorId}`);
  if (startedAtMs !== undefined) say(startedAtMs, `attempt ${run.attempt} started`);
  if (status === 'QUEUED' || status === 'SKIPPED' || status === 'CLAIMED' || status === 'RUNNING')
    return lines;
  const took = startedAtMs === undefined ? '' : ` after ${Math.max(0, endMs - startedAtMs) / 1_000} s`;
  say(endMs, `attempt ${run.attempt} ended: ${status}${took}`);
  if (run.error !== undefined) say(endMs, `error: ${run.error}`);
  if (run.result !== undefined) say(endMs, `result: ${excerpt(run.result)}`);
  return lines;
}

function skipped({ reason, occurrences }: RunFacts): string {
  const what = occurrences > 1 ? `${occurrences} occurrences` : 'an occurrence';
  return `skipped ${what}${reason ? `: ${reason}` : ''}`;
}

function excerpt(text: string): string {
  return text.length <= RESULT_LENGTH_MAX ? text : `${text.slice(0, RESULT_LENGTH_MAX).toWellFormed()}…`;
}
