/** Jobs: create, read, change, cancel. */
import {
  BATCH_BODY,
  batchAnswer,
  DELETE_QUERY,
  EXAMPLES,
  etagOf,
  JOB_BODY,
  jobAcceptedAnswer,
  jobActedAnswer,
  jobAnswer,
  jobUpdatedAnswer,
  jobView,
  parseIdempotencyKey,
  parseIfMatch,
  problemOf,
  readBatch,
  readId,
  toJobInput,
} from '@carillon/contract';
import { type JobId, Refusal } from '@carillon/domain';
import { type Endpoint, endpoint } from '../endpoint.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { IDEMPOTENCY_KEY, IF_MATCH } from './request-headers.ts';

const ACCEPTED = { schema: jobAcceptedAnswer, example: { job_id: EXAMPLES.jobId, status: 'submitted' } };

export function jobEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/jobs',
      access: 'jobs.create',
      tag: 'jobs',
      summary: 'Create a job',
      description:
        'Once it has answered, the job is stored and will run. The camelCase spelling of every field is understood too.',
      headers: IDEMPOTENCY_KEY,
      body: JOB_BODY,
      bodyExamples: EXAMPLES.jobBodies,
      answers: {
        201: { description: 'Accepted, durably. Location names the job.', ...ACCEPTED },
        200: { description: 'Accepted before, under the same Idempotency-Key.', ...ACCEPTED },
      },
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
      description:
        'Each job is judged by itself; the answers stand in the order asked. With atomic, all are created or none: 422 batch_refused then says in errors what is wrong with which.',
      headers: IDEMPOTENCY_KEY,
      body: BATCH_BODY,
      bodyExamples: {
        two: { jobs: [EXAMPLES.jobBodies.now, { name: 'b', colour: 'red' }] },
        'all or none': { jobs: [EXAMPLES.jobBodies.now], atomic: true },
      },
      answers: {
        200: {
          description: 'One answer per job.',
          schema: batchAnswer,
          example: [
            { ...ACCEPTED.example, created: true },
            { status: 'refused', error: EXAMPLES.problem },
          ],
        },
      },
      handle: async ({ caller, body, request }) => {
        const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
        const atomic = body.atomic ?? false;
        const answers = await operations.createJobs(caller, readBatch(body.jobs), { idempotencyKey, atomic });
        return answers.map((answer) =>
          answer instanceof Refusal
            ? { status: 'refused', error: problemOf(answer, request.id) }
            : { job_id: answer.jobId, status: 'submitted', created: answer.created },
        );
      },
    }),

    endpoint({
      method: 'GET',
      path: '/jobs/{id}',
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'Read a job',
      answers: {
        200: { description: 'The job. ETag holds its version.', schema: jobAnswer, example: EXAMPLES.job },
      },
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
      description:
        'PUT and PATCH do the same: only the fields to be changed are sent. null brings back the default.',
      headers: IF_MATCH,
      body: JOB_BODY,
      bodyExamples: { rename: { name: 'Monday report', cron_expression: '0 9 * * 1' } },
      answers: {
        200: {
          description: 'Changed. ETag holds the new version.',
          schema: jobUpdatedAnswer,
          example: { job_id: EXAMPLES.jobId, status: 'updated', version: 2 },
        },
      },
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
      access: ['jobs.cancel', 'jobs.delete'],
      tag: 'jobs',
      summary: 'Cancel a job, or remove it',
      description:
        'What waits ends, what runs is asked to stop. With purge=true the job is removed too, which also asks for jobs.delete.',
      headers: IF_MATCH,
      query: DELETE_QUERY,
      answers: {
        200: {
          description: 'Cancelled, or removed with purge=true.',
          schema: jobActedAnswer,
          example: { job_id: EXAMPLES.jobId, status: 'cancelled' },
        },
      },
      handle: async ({ caller, params, query, request }) => {
        const jobId = readId(params.id!, 'job') as JobId;
        const options = { ifVersion: parseIfMatch(request.headers['if-match']) };
        if (query.purge === true) {
          await operations.deleteJob(caller, jobId, options);
          return { job_id: jobId, status: 'deleted' };
        }
        await operations.cancelJob(caller, jobId, options);
        return { job_id: jobId, status: 'cancelled' };
      },
    }),
  ];
}
