/** Jobs: create, read, change, cancel. */
import {
  etagOf,
  jobView,
  parseBatchBody,
  parseDeleteQuery,
  parseIdempotencyKey,
  parseIfMatch,
  parseJobBody,
  parseJobsQuery,
  problemOf,
  readId,
} from '@carillon/contract';
import { type JobId, Refusal } from '@carillon/domain';
import type { FastifyInstance } from 'fastify';
import { cutPage, linkPages } from '../page-links.ts';
import type { AnyQuery, IdParams, RouteContext } from './route-context.ts';

export function jobRoutes(api: FastifyInstance, { operations, address }: RouteContext): void {
  api.post('/jobs', async (request, reply) => {
    const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
    const { jobId, created } = await operations.createJob(parseJobBody(request.body), { idempotencyKey });
    reply.code(created ? 201 : 200).header('location', `${address}/api/jobs/${jobId}`);
    return { job_id: jobId, status: 'submitted' };
  });

  api.post('/jobs/batch', async (request) => {
    const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
    const answers = await operations.createJobs(parseBatchBody(request.body), { idempotencyKey });
    return answers.map((answer) =>
      answer instanceof Refusal
        ? { status: 'refused', error: problemOf(answer, request.id) }
        : { job_id: answer.jobId, status: 'submitted' },
    );
  });

  api.get<AnyQuery>('/jobs', async (request, reply) => {
    const { page, limit, after: afterJobId, ...filter } = parseJobsQuery(request.query);
    const offset = page === undefined ? 0 : (page - 1) * limit;
    const rows = await operations.listJobs({ ...filter, afterJobId, offset, limit: limit + 1 });
    const { shown, hasMore } = cutPage(rows, limit);
    const last = shown.at(-1);
    const next = last && { name: 'after', value: last.job.jobId };
    linkPages(request, reply, { address, page, hasMore, next });
    return shown.map(jobView);
  });

  api.get<IdParams>('/jobs/:id', async (request, reply) => {
    const details = await operations.getJob(readId(request.params.id, 'job') as JobId);
    reply.header('etag', etagOf(details.job.version));
    return jobView(details);
  });

  // PUT takes partial bodies as well: only the fields to be changed are required.
  api.route<IdParams>({
    method: ['PUT', 'PATCH'],
    url: '/jobs/:id',
    handler: async (request, reply) => {
      const jobId = readId(request.params.id, 'job') as JobId;
      const ifVersion = parseIfMatch(request.headers['if-match']);
      const { version } = await operations.updateJob(jobId, parseJobBody(request.body), { ifVersion });
      reply.header('etag', etagOf(version));
      return { job_id: jobId, status: 'updated', version };
    },
  });

  api.delete<IdParams & AnyQuery>('/jobs/:id', async (request) => {
    const jobId = readId(request.params.id, 'job') as JobId;
    if (parseDeleteQuery(request.query).purge) {
      await operations.deleteJob(jobId);
      return { job_id: jobId, status: 'deleted' };
    }
    await operations.cancelJob(jobId);
    return { job_id: jobId, status: 'cancelled' };
  });
}
