/** What can be done with a job, how it is doing, and its story. */
import {
  EXAMPLES,
  jobActedAnswer,
  jobLogsAnswer,
  jobStatusAnswer,
  jobStatusView,
  LOGS_QUERY,
  logLines,
  parseIdempotencyKey,
  parseIfMatch,
  readId,
  runAddedAnswer,
} from '@carillon/contract';
import type { JobId } from '@carillon/domain';
import { type Endpoint, endpoint } from '../endpoint.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { IDEMPOTENCY_KEY, IF_MATCH } from './request-headers.ts';

const ADDED = { schema: runAddedAnswer, example: { job_id: EXAMPLES.jobId, run_id: EXAMPLES.newRunId } };

export function jobActionEndpoints({ operations }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/jobs/{id}/runNow',
      access: 'jobs.run',
      tag: 'jobs',
      summary: 'Run a job at once',
      description: 'Past its schedule, also while it is paused. Its limits hold.',
      headers: IDEMPOTENCY_KEY,
      answers: {
        202: { description: 'A run was added.', ...ADDED },
        200: { description: 'Added before, under the same Idempotency-Key.', ...ADDED },
      },
      handle: async ({ caller, params, request, reply }) => {
        const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
        const id = readId(params.id!, 'job') as JobId;
        const { jobId, runId, added } = await operations.runJobNow(caller, id, { idempotencyKey });
        reply.code(added ? 202 : 200);
        return { job_id: jobId, run_id: runId };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/jobs/{id}/pause',
      access: 'jobs.pause',
      tag: 'jobs',
      summary: 'Pause a job',
      headers: IF_MATCH,
      answers: {
        200: {
          description: 'Paused.',
          schema: jobActedAnswer,
          example: { job_id: EXAMPLES.jobId, status: 'paused' },
        },
      },
      handle: async ({ caller, params, request }) => {
        const ifVersion = parseIfMatch(request.headers['if-match']);
        const id = readId(params.id!, 'job') as JobId;
        const { jobId } = await operations.pauseJob(caller, id, { ifVersion });
        return { job_id: jobId, status: 'paused' };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/jobs/{id}/resume',
      access: 'jobs.pause',
      tag: 'jobs',
      summary: 'Resume a paused job',
      headers: IF_MATCH,
      answers: {
        200: {
          description: 'Resumed.',
          schema: jobActedAnswer,
          example: { job_id: EXAMPLES.jobId, status: 'resumed' },
        },
      },
      handle: async ({ caller, params, request }) => {
        const ifVersion = parseIfMatch(request.headers['if-match']);
        const id = readId(params.id!, 'job') as JobId;
        const { jobId } = await operations.resumeJob(caller, id, { ifVersion });
        return { job_id: jobId, status: 'resumed' };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/jobs/{id}/status',
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'How a job is doing',
      answers: {
        200: {
          description: 'Its status and its latest run.',
          schema: jobStatusAnswer,
          example: {
            job_id: EXAMPLES.jobId,
            status: 'pending',
            last_updated: EXAMPLES.run.modified_time,
            latest_run: EXAMPLES.run,
          },
        },
      },
      handle: async ({ caller, params }) => {
        const { job, ...status } = await operations.getJobStatus(caller, readId(params.id!, 'job') as JobId);
        return jobStatusView({ jobId: job.jobId, ...status });
      },
    }),

    endpoint({
      method: 'GET',
      path: '/jobs/{id}/logs',
      access: 'runs.read',
      tag: 'jobs',
      summary: 'The story of a job, line by line',
      description: 'Told from its latest attempts: handed out, started, ended, error, result.',
      query: LOGS_QUERY,
      answers: {
        200: {
          description: 'The lines, in the order things happened.',
          schema: jobLogsAnswer,
          example: { job_id: EXAMPLES.jobId, logs: EXAMPLES.logs },
        },
      },
      handle: async ({ caller, params, query }) => {
        const jobId = readId(params.id!, 'job') as JobId;
        return { job_id: jobId, logs: logLines(await operations.getJobLogs(caller, jobId, query)) };
      },
    }),
  ];
}
