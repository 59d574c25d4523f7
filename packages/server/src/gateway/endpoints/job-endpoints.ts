/** Jobs: create, read, change, cancel. */
import {
  BATCH_BODY,
  DELETE_QUERY,
  etagOf,
  JOB_BODY,
  JOBS_QUERY,
  jobView,
  parseIdempotencyKey,
  parseIfMatch,
  problemOf,
  readBatch,
  readId,
  toJobInput,
  toJobsQuery,
} from '@carillon/contract';
import { type JobId, Refusal } from '@carillon/domain';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { cutPage, linkPages } from '../page-links.ts';
import type { EndpointContext } from './endpoint-context.ts';

export function jobEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/jobs',
      access: 'jobs.create',
      tag: 'jobs',
      summary: 'Create a job',
      headers: { 'Idempotency-Key': { description: 'The same key again answers the same job.' } },
      body: JOB_BODY,
      answers: { 201: { description: 'Accepted, durably.' }, 200: { description: 'Accepted before.' } },
      handle: async ({ caller, body, request, reply }) => {
        const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
        const { jobId, created } = await operations.createJob(caller, toJobInput(body), { idempotencyKey });
        reply.code(created ? 201 : 200).header('location', `${address}/api/jobs/${jobId}`);
        return { job_id: jobId, status: 'submitted' };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/jobs/batch',
      access: 'jobs.create',
      tag: 'jobs',
      summary: 'Create many jobs',
      description: 'Each job is judged by itself; the answers stand in the order asked.',
      body: BATCH_BODY,
      answers: { 200: { description: 'One answer per job.' } },
      handle: async ({ caller, body, request }) => {
        const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
        const answers = await operations.createJobs(caller, readBatch(body.jobs), { idempotencyKey });
        return answers.map((answer) =>
          answer instanceof Refusal
            ? { status: 'refused', error: problemOf(answer, request.id) }
            : { job_id: answer.jobId, status: 'submitted' },
        );
      },
    }),

    endpoint({
      method: 'GET',
      path: '/jobs',
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'List jobs, newest first',
      query: JOBS_QUERY,
      answers: { 200: { description: 'The jobs.' } },
      handle: async ({ caller, query, request, reply }) => {
        const { page, limit, after: afterJobId, ...filter } = toJobsQuery(query);
        const offset = page === undefined ? 0 : (page - 1) * limit;
        const rows = await operations.listJobs(caller, { ...filter, afterJobId, offset, limit: limit + 1 });
        const { shown, hasMore } = cutPage(rows, limit);
        const last = shown.at(-1);
        const next = last && { name: 'after', value: last.job.jobId };
        linkPages(request, reply, { address, page, hasMore, next });
        return shown.map(jobView);
      },
    }),

    endpoint({
      method: 'GET',
      path: '/jobs/{id}',
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'Read a job',
      answers: { 200: { description: 'The job.' } },
      handle: async ({ caller, params, reply }) => {
        const details = await operations.getJob(caller, readId(params.id!, 'job') as JobId);
        reply.header('etag', etagOf(details.job.version));
        return jobView(details);
      },
    }),

    endpoint({
      // PUT takes partial bodies as well: only the fields to be changed are required.
      method: ['PUT', 'PATCH'],
      path: '/jobs/{id}',
      access: 'jobs.update',
      tag: 'jobs',
      summary: 'Change a job',
      headers: { 'If-Match': { description: 'The ETag of the version that is meant.', example: '"3"' } },
      body: JOB_BODY,
      answers: { 200: { description: 'Changed.' } },
      handle: async ({ caller, params, body, request, reply }) => {
        const jobId = readId(params.id!, 'job') as JobId;
        const ifVersion = parseIfMatch(request.headers['if-match']);
        const { version } = await operations.updateJob(caller, jobId, toJobInput(body), { ifVersion });
        reply.header('etag', etagOf(version));
        return { job_id: jobId, status: 'updated', version };
      },
    }),

    endpoint({
      method: 'DELETE',
      path: '/jobs/{id}',
      access: 'jobs.cancel',
      tag: 'jobs',
      summary: 'Cancel a job, or remove it',
      query: DELETE_QUERY,
      answers: { 200: { description: 'Cancelled, or removed with purge=true.' } },
      handle: async ({ caller, params, query }) => {
        const jobId = readId(params.id!, 'job') as JobId;
        if (query.purge === true) {
          await operations.deleteJob(caller, jobId);
          return { job_id: jobId, status: 'deleted' };
        }
        await operations.cancelJob(caller, jobId);
        return { job_id: jobId, status: 'cancelled' };
      },
    }),
  ];
}
