/** Runs and the workers that execute them: list, read, stop, run again, one or many. */
import { Readable } from 'node:stream';
import {
  ALL_RUNS_QUERY,
  BULK_RUNS_BODY,
  bulkRunsAnswer,
  bulkRunsView,
  checkpointAnswer,
  checkpointFactsView,
  EXAMPLES,
  listedRunAnswer,
  listedRunView,
  RUN_BODY,
  RUNS_QUERY,
  type RunsQuery,
  rpc,
  runAddedAnswer,
  runCancelledAnswer,
  runDetailsAnswer,
  runDetailsView,
  runView,
  shortRunAnswer,
  shortRunView,
  toAllRunsQuery,
  toBulkRunsRequest,
  toRunRequest,
  toRunsQuery,
  toWorkerRunsQuery,
  WORKER_RUNS_QUERY,
  WORKERS_QUERY,
  workerAnswer,
  workerView,
  writeListedCursor,
  writeRunCursor,
} from '@carillon/contract';
import { isFinal, type JsonValue } from '@carillon/domain';
import { z } from 'zod';
import type { CancelledRun } from '../../operations/runs.ts';
import { readParts } from '../../run-logs/run-logs.ts';
import type { RunPage, RunView } from '../../storage/run-store.ts';
import { artifactOperations } from './artifacts.ts';
import { userNamed } from './jobs.ts';
import {
  type ApiContext,
  IDEMPOTENCY_KEY,
  listReply,
  type Operation,
  operation,
  placeAfter,
  type Reply,
  reading,
  readLimit,
  restOperation,
} from './operation.ts';

const { method: call } = rpc.JobService;
const ADDED = { schema: runAddedAnswer, example: { job_id: EXAMPLES.jobId, run_id: EXAMPLES.newRunId } };

const cancelled = (run: object, outcome: CancelledRun['outcome']) => ({
  ...{ run_id: EXAMPLES.runId, job_id: EXAMPLES.jobId, outcome, changed: true, run, status: outcome },
});

export function runOperations({ operations, charge }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/runs',
      rpc: { method: call.listRuns },
      access: 'runs.read',
      tag: 'runs',
      summary: 'List runs across jobs, newest first',
      description:
        'One entry per attempt, or with attempts=last one per run, in the order they were handed to workers: what failed in the last hour is status=failed,timed_out&since=1h (failed alone leaves out what took too long). Follow the Link header until there is none; an answer looks through a bounded number of runs, so it may hold fewer entries than limit, even none, and still have a next. Runs that wait are listed when job_id names their job, or by themselves with status=queued (those of the newest jobs first).',
      cursor: 'cursor',
      query: reading(ALL_RUNS_QUERY, toAllRunsQuery),
      answers: {
        200: { description: 'The runs.', schema: z.array(listedRunAnswer), example: [EXAMPLES.listedRun] },
      },
      handle: async ({ caller, query }) => {
        const userId = userNamed(caller, query.userId);
        const { runs, next } = await operations.listAllRuns(caller, { ...query, userId });
        return {
          body: runs.map((run) => listedRunView(run, query)),
          list: {
            hasMore: next !== undefined,
            next: next && writeListedCursor(next),
            cursorAt: (index) => writeListedCursor(runs[index]!.cursor),
          },
        };
      },
    }),

    operation({
      method: 'GET',
      path: '/jobs/{id}/runs',
      rpc: { method: call.getExecHistory },
      access: 'runs.read',
      tag: 'runs',
      summary: 'List the runs of a job, newest first',
      description: 'One entry per attempt; alive and waiting ones before the history.',
      subject: 'job',
      cursor: 'cursor',
      query: reading(RUNS_QUERY, toRunsQuery),
      answers: {
        200: { description: 'The runs.', schema: z.array(shortRunAnswer), example: [EXAMPLES.shortRun] },
      },
      handle: async ({ caller, id, query }) =>
        runsReply(await operations.listRuns(caller, id, runPageOf(query)), query),
    }),

    operation({
      method: 'GET',
      path: '/runs/{id}',
      rpc: { method: call.getRun },
      access: 'runs.read',
      tag: 'runs',
      summary: 'Read a run with all its attempts',
      subject: 'run',
      answers: {
        200: {
          description: 'The latest attempt, and all of them.',
          schema: runDetailsAnswer,
          example: {
            ...EXAMPLES.run,
            ...{ attempts: [EXAMPLES.run], checkpoint: EXAMPLES.checkpoint, input: null },
            ...{
              dead_letter: null,
              origin_run_id: null,
              requested_by: null,
              repeated_as: [],
              cancelled_by: null,
            },
          },
        },
      },
      handle: async ({ caller, id }) => ({ body: runDetailsView(await operations.getRun(caller, id)) }),
    }),

    operation({
      method: 'GET',
      path: '/runs/{id}/checkpoint',
      rpc: { method: call.getRunCheckpoint },
      access: ['runs.read', 'payloads.read'],
      tag: 'runs',
      summary: 'Read what the next attempt of a run goes on from',
      description:
        'What an attempt of the run saved last. A run that has succeeded or was cancelled has none.',
      subject: 'run',
      answers: {
        200: {
          description: 'The checkpoint, with its value.',
          schema: checkpointAnswer,
          example: { run_id: EXAMPLES.runId, ...EXAMPLES.checkpoint, value: { row: 41_000 } },
        },
      },
      handle: async ({ caller, id }) => {
        const { data, ...facts } = await operations.getCheckpoint(caller, id);
        return {
          body: { run_id: id, ...checkpointFactsView(facts), value: JSON.parse(data) as JsonValue },
        };
      },
    }),

    restOperation({
      method: 'GET',
      path: '/runs/{id}/result',
      calls: [call.getRunResult],
      access: ['runs.read', 'payloads.read'],
      tag: 'runs',
      summary: 'Read what the handler answered',
      description: 'The result of the latest attempt, as JSON, however large it is.',
      subject: 'run',
      answers: {
        200: {
          description: 'The result.',
          schema: z.unknown().describe('What the handler answered.'),
          example: { rows: 41_000 },
        },
      },
      handle: async ({ caller, id, request, reply }) => {
        const result = await operations.getResult(caller, id);
        reply.type('application/json; charset=utf-8');
        reply.header('content-disposition', `attachment; filename="run-${id}-result.json"`);
        if (typeof result === 'string') return { body: Buffer.from(result) };
        reply.header('content-length', String(result.bytes));
        if (request.method === 'HEAD') return { body: '' };
        return { body: Readable.from(readParts([result], { from: 0, bytes: result.bytes })) };
      },
    }),

    ...artifactOperations(operations),

    operation({
      method: 'POST',
      path: '/runs/{id}/cancel',
      rpc: { method: call.cancelRun },
      access: 'runs.cancel',
      tag: 'runs',
      summary: 'Stop a run',
      subject: 'run',
      answers: {
        200: {
          description: 'It was waiting, and is cancelled.',
          schema: runCancelledAnswer,
          example: cancelled({ ...EXAMPLES.run, status: 'CANCELLED' }, 'cancelled'),
        },
        202: {
          description: 'It is running, and was asked to stop.',
          schema: runCancelledAnswer,
          example: cancelled({ ...EXAMPLES.run, status: 'CANCELLING' }, 'cancelling'),
        },
      },
      handle: async ({ caller, id }) => {
        const { jobId, outcome, changed, run } = await operations.cancelRun(caller, id);
        return {
          status: outcome === 'cancelled' ? 200 : 202,
          body: {
            ...{ run_id: id, job_id: jobId, outcome, changed },
            ...{ run: run ? runView(run) : null, status: outcome },
          },
        };
      },
    }),

    operation({
      method: 'POST',
      path: '/runs/{id}/rerun',
      rpc: { method: call.rerunRun, input: rpc.rerunFields },
      access: 'runs.rerun',
      tag: 'runs',
      summary: 'Run a finished run again',
      description:
        'A new run of its job as the job is now, for the same occurrence, with the same input; another one may be given, or null for none. A dead letter of the run is handled by this.',
      subject: 'run',
      headers: IDEMPOTENCY_KEY,
      body: reading(RUN_BODY, toRunRequest),
      bodyOptional: true,
      bodyExamples: { 'with a reason': { reason: 'the receiver was down' } },
      answers: {
        202: { description: 'A run was added.', ...ADDED },
        200: { description: 'Added before, under the same Idempotency-Key.', ...ADDED },
      },
      handle: async ({ caller, id, idempotencyKey, body }) => {
        const { jobId, runId, added } = await operations.rerunRun(caller, id, { ...body, idempotencyKey });
        return { status: added ? 202 : 200, body: { job_id: jobId, run_id: runId }, also: { added } };
      },
    }),

    operation({
      method: 'POST',
      path: '/runs/bulk',
      rpc: { method: call.bulkChangeRuns, names: { next: 'next_page_token' } },
      isBulk: true,
      access: ['runs.cancel', 'runs.rerun'],
      tag: 'runs',
      summary: 'Cancel many runs, or run them again',
      description:
        'Those of a filter, or those named in run_ids; results says what became of each. One request looks at up to 1,000 attempts; "next" of the answer, sent as "cursor", goes on with the rest of a filter. Without a status, cancel means runs that a worker has, with job_id also those that wait, and rerun means failed and timed_out. A filter means a run by its latest attempt alone. With an Idempotency-Key each run is run again once, however often the request is sent.',
      cursor: 'cursor',
      headers: IDEMPOTENCY_KEY,
      body: reading(BULK_RUNS_BODY, toBulkRunsRequest),
      bodyExamples: {
        'dry run': { action: 'rerun', filter: { status: 'failed', since: '1h' }, dry_run: true },
        'by ids': { action: 'cancel', run_ids: [EXAMPLES.runId] },
      },
      answers: {
        200: {
          description: 'What was done, or would be.',
          schema: bulkRunsAnswer,
          example: {
            ...{ action: 'rerun', dry_run: false, matched: 1, changed: 1, unchanged: 0, refused: 0 },
            run_ids: [EXAMPLES.runId],
            results: [
              { run_id: EXAMPLES.runId, outcome: 'changed', new_run_id: EXAMPLES.newRunId, error: null },
            ],
            next: null,
          },
        },
      },
      handle: async ({ caller, idempotencyKey, body: { of, ...request } }) => {
        const named =
          'selection' in of
            ? { ...of, selection: { ...of.selection, userId: userNamed(caller, of.selection.userId) } }
            : of;
        const report = await operations.bulkRuns(caller, {
          ...{ ...request, of: named, idempotencyKey },
          charge: (items) => charge(caller, items),
        });
        return { body: bulkRunsView(request, report) };
      },
    }),
  ];
}

const DRAINING = { ...EXAMPLES.worker, draining: true };

export function workerOperations({ operations }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/workers',
      rpc: { method: call.listWorkers },
      access: 'workers.read',
      tag: 'workers',
      summary: 'List workers',
      cursor: 'cursor',
      query: reading(WORKERS_QUERY),
      answers: {
        200: {
          description: 'All that are alive, and those that were lost within the last hour, by id.',
          schema: z.array(workerAnswer),
          example: [EXAMPLES.worker],
        },
      },
      handle: async ({ caller, query: { label: labels, alive, handler, cursor, limit } }) => {
        const page = { labels, alive, handler, after: placeAfter(cursor), limit: readLimit(limit) };
        const workers = await operations.listWorkers(caller, page);
        return listReply(workers, { limit, view: workerView, cursorOf: ({ workerId }) => workerId });
      },
    }),

    operation({
      method: 'GET',
      path: '/workers/{id}',
      rpc: { method: call.getWorker },
      access: 'workers.read',
      tag: 'workers',
      summary: 'Read a worker',
      subject: 'worker',
      answers: { 200: { description: 'The worker.', schema: workerAnswer, example: EXAMPLES.worker } },
      handle: async ({ caller, id }) => ({ body: workerView(await operations.getWorker(caller, id)) }),
    }),

    operation({
      method: 'POST',
      path: '/workers/{id}/drain',
      rpc: { method: call.drainWorker },
      access: 'workers.manage',
      tag: 'workers',
      summary: 'Drain a worker',
      description:
        'It takes no more runs and ends those that it holds; it is empty when running and stuck are 0. It stays so until it is undrained or ends.',
      subject: 'worker',
      answers: { 200: { description: 'The worker.', schema: workerAnswer, example: DRAINING } },
      handle: async ({ caller, id }) => ({ body: workerView(await operations.drainWorker(caller, id)) }),
    }),

    operation({
      method: 'POST',
      path: '/workers/{id}/undrain',
      rpc: { method: call.undrainWorker },
      access: 'workers.manage',
      tag: 'workers',
      summary: 'Let a drained worker take runs again',
      subject: 'worker',
      answers: { 200: { description: 'The worker.', schema: workerAnswer, example: EXAMPLES.worker } },
      handle: async ({ caller, id }) => ({ body: workerView(await operations.undrainWorker(caller, id)) }),
    }),

    operation({
      method: 'GET',
      path: '/job/executions',
      calls: [call.listRuns],
      access: ['workers.read', 'runs.read'],
      tag: 'workers',
      summary: 'List what a worker is running',
      cursor: 'cursor',
      query: reading(WORKER_RUNS_QUERY, toWorkerRunsQuery),
      answers: {
        200: { description: 'The runs.', schema: z.array(shortRunAnswer), example: [EXAMPLES.shortRun] },
      },
      handle: async ({ caller, query }) =>
        runsReply(await operations.listWorkerRuns(caller, query.workerId, runPageOf(query)), query),
    }),
  ];
}

function runPageOf({ before, offset, limit, results }: RunsQuery): RunPage {
  return {
    limit: readLimit(limit),
    offset,
    ...(before !== undefined && { before }),
    ...(!results && { resultCharsMax: 0 }),
  };
}

function runsReply(rows: readonly RunView[], query: RunsQuery): Reply {
  const { limit, offset, page } = query;
  const shown = rows.slice(0, limit);
  // A cursor stands in the history; living runs come before all of it, whatever their age, and are counted.
  const cursorAt = (index: number) => {
    const run = shown[index];
    return run === undefined || !isFinal(run.status) ? `+${offset + index + 1}` : writeRunCursor(run);
  };
  const next = cursorAt(shown.length - 1);
  return {
    body: shown.map((run) => shortRunView(run, query)),
    list: { hasMore: rows.length > limit, next, page, cursorAt },
  };
}
