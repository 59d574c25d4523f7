/** What can be done with a job, and how it is doing. */
import { jobStatusView, readId } from '@carillon/contract';
import type { JobId } from '@carillon/domain';
import { type Endpoint, endpoint } from '../endpoint.ts';
import type { EndpointContext } from './endpoint-context.ts';

export function jobActionEndpoints({ operations }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/jobs/{id}/runNow',
      access: 'jobs.run',
      tag: 'jobs',
      summary: 'Run a job at once',
      answers: { 202: { description: 'A run was added.' } },
      handle: async ({ caller, params, reply }) => {
        const { jobId, runId } = await operations.runJobNow(caller, readId(params.id!, 'job') as JobId);
        reply.code(202);
        return { job_id: jobId, run_id: runId };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/jobs/{id}/pause',
      access: 'jobs.pause',
      tag: 'jobs',
      summary: 'Pause a job',
      answers: { 200: { description: 'Paused.' } },
      handle: async ({ caller, params }) => {
        const { jobId } = await operations.pauseJob(caller, readId(params.id!, 'job') as JobId);
        return { job_id: jobId, status: 'paused' };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/jobs/{id}/resume',
      access: 'jobs.pause',
      tag: 'jobs',
      summary: 'Resume a paused job',
      answers: { 200: { description: 'Resumed.' } },
      handle: async ({ caller, params }) => {
        const { jobId } = await operations.resumeJob(caller, readId(params.id!, 'job') as JobId);
        return { job_id: jobId, status: 'resumed' };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/jobs/{id}/status',
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'How a job is doing',
      answers: { 200: { description: 'Its status and its latest run.' } },
      handle: async ({ caller, params }) => {
        const { job, ...status } = await operations.getJobStatus(caller, readId(params.id!, 'job') as JobId);
        return jobStatusView({ jobId: job.jobId, ...status });
      },
    }),
  ];
}
