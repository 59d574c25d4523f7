/** Runs: of a job, one by one, their story; stop them, run them again. */
import {
  EXAMPLES,
  logLines,
  parseIdempotencyKey,
  RUNS_QUERY,
  readId,
  runAddedAnswer,
  runAnswer,
  runCancelledAnswer,
  runDetailsAnswer,
  runLogsAnswer,
  runView,
  toRunsQuery,
} from '@carillon/contract';
import type { JobId, RunId } from '@carillon/domain';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { answerRuns, runPageOf } from './answer-runs.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { IDEMPOTENCY_KEY } from './request-headers.ts';

const ADDED = { schema: runAddedAnswer, example: { job_id: EXAMPLES.jobId, run_id: EXAMPLES.newRunId } };

export function runEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/jobs/{id}/runs',
      access: 'runs.read',
      tag: 'runs',
      summary: 'List the runs of a job, newest first',
      description: 'One entry per attempt; alive and waiting ones before the history.',
      query: RUNS_QUERY,
      answers: { 200: { description: 'The runs.', schema: z.array(runAnswer), example: [EXAMPLES.run] } },
      handle: async (call) => {
        const query = toRunsQuery(call.query);
        const jobId = readId(call.params.id!, 'job') as JobId;
        const rows = await operations.listRuns(call.caller, jobId, runPageOf(query));
        return answerRuns(rows, { call, query, address });
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}',
      access: 'runs.read',
      tag: 'runs',
      summary: 'Read a run with all its attempts',
      answers: {
        200: {
          description: 'The latest attempt, and all of them.',
          schema: runDetailsAnswer,
          example: { ...EXAMPLES.run, attempts: [EXAMPLES.run] },
        },
      },
      handle: async ({ caller, params }) => {
        const { latest, attempts } = await operations.getRun(caller, readId(params.id!, 'run') as RunId);
        return { ...runView(latest), attempts: attempts.map(runView) };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}/logs',
      access: 'runs.read',
      tag: 'runs',
      summary: 'The story of a run, line by line',
      answers: {
        200: {
          description: 'The lines, in the order things happened.',
          schema: runLogsAnswer,
          example: { job_id: EXAMPLES.jobId, run_id: EXAMPLES.runId, logs: EXAMPLES.logs },
        },
      },
      handle: async ({ caller, params }) => {
        const runId = readId(params.id!, 'run') as RunId;
        const { latest, attempts } = await operations.getRun(caller, runId);
        return { job_id: latest.jobId, run_id: runId, logs: logLines(attempts) };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/runs/{id}/cancel',
      access: 'runs.cancel',
      tag: 'runs',
      summary: 'Stop a run',
      answers: {
        200: {
          description: 'It was waiting, and is cancelled.',
          schema: runCancelledAnswer,
          example: { run_id: EXAMPLES.runId, status: 'cancelled' },
        },
        202: {
          description: 'It is running, and was asked to stop.',
          schema: runCancelledAnswer,
          example: { run_id: EXAMPLES.runId, status: 'cancelling' },
        },
      },
      handle: async ({ caller, params, reply }) => {
        const runId = readId(params.id!, 'run') as RunId;
        const ended = (await operations.cancelRun(caller, runId)) === 'ended';
        reply.code(ended ? 200 : 202);
        return { run_id: runId, status: ended ? 'cancelled' : 'cancelling' };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/runs/{id}/rerun',
      access: 'runs.rerun',
      tag: 'runs',
      summary: 'Run a finished run again',
      description: 'A new run of its job as the job is now, for the same occurrence.',
      headers: IDEMPOTENCY_KEY,
      answers: {
        202: { description: 'A run was added.', ...ADDED },
        200: { description: 'Added before, under the same Idempotency-Key.', ...ADDED },
      },
      handle: async ({ caller, params, request, reply }) => {
        const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
        const id = readId(params.id!, 'run') as RunId;
        const { jobId, runId, added } = await operations.rerunRun(caller, id, { idempotencyKey });
        reply.code(added ? 202 : 200);
        return { job_id: jobId, run_id: runId };
      },
    }),
  ];
}
