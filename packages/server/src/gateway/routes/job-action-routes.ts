/** What can be done with a job, and how it is doing. */
import { jobStatusView, readId, requireNoBody } from '@carillon/contract';
import type { JobId } from '@carillon/domain';
import type { FastifyInstance } from 'fastify';
import type { IdParams, RouteContext } from './route-context.ts';

export function jobActionRoutes(api: FastifyInstance, { operations }: RouteContext): void {
  api.post<IdParams>('/jobs/:id/runNow', async (request, reply) => {
    requireNoBody(request.body);
    const { jobId, runId } = await operations.runJobNow(readId(request.params.id, 'job') as JobId);
    reply.code(202);
    return { job_id: jobId, run_id: runId };
  });

  api.post<IdParams>('/jobs/:id/pause', async (request) => {
    requireNoBody(request.body);
    const { jobId } = await operations.pauseJob(readId(request.params.id, 'job') as JobId);
    return { job_id: jobId, status: 'paused' };
  });

  api.post<IdParams>('/jobs/:id/resume', async (request) => {
    requireNoBody(request.body);
    const { jobId } = await operations.resumeJob(readId(request.params.id, 'job') as JobId);
    return { job_id: jobId, status: 'resumed' };
  });

  api.get<IdParams>('/jobs/:id/status', async (request) => {
    const { job, ...status } = await operations.getJobStatus(readId(request.params.id, 'job') as JobId);
    return jobStatusView({ jobId: job.jobId, ...status });
  });
}
