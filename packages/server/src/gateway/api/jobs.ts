/** Jobs: create, read, list, change, cancel. */
import {
  BATCH_BODY,
  batchAnswer,
  DELETE_QUERY,
  EXAMPLES,
  etagOf,
  JOB_BODY,
  JOBS_QUERY,
  jobActedAnswer,
  jobActedShortView,
  jobActedView,
  jobAnswer,
  jobRemovedAnswer,
  jobView,
  listedJobAnswer,
  listedJobView,
  type Outcome,
  problemOf,
  readBatch,
  rpc,
  toJobInput,
  toJobsQuery,
  toUpcomingQuery,
  UPCOMING_QUERY,
  upcomingAnswer,
  upcomingView,
  writeJobCursor,
} from '@carillon/contract';
import { type Caller, may, Refusal } from '@carillon/domain';
import { z } from 'zod';
import type { ChangedJob } from '../../operations/jobs/change-jobs.ts';
import type { Operations } from '../../operations/operations.ts';
import {
  type ApiContext,
  type Call,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  type Operation,
  operation,
  PREFER,
  type Reply,
  reading,
  restOperation,
  totalHeader,
} from './operation.ts';

const { method: call } = rpc.JobService;
const acted = (outcome: Outcome) => ({
  schema: jobActedAnswer,
  example: { ...EXAMPLES.job, outcome, changed: true },
});

export function jobOperations({ operations, address }: ApiContext): Operation[] {
  return [
    operation({
      method: 'POST',
      path: '/jobs',
      rpc: { method: call.submitJob, input: rpc.submitFields },
      access: 'jobs.create',
      tag: 'jobs',
      summary: 'Create a job',
      description:
        'Once it has answered, the job is stored and will run. The camelCase spelling of every field is understood too.',
      headers: { ...IDEMPOTENCY_KEY, ...PREFER },
      body: reading(JOB_BODY, toJobInput),
      bodyExamples: EXAMPLES.jobBodies,
      answers: {
        201: {
          description: 'Accepted, durably: the job. Location names it, ETag holds its version.',
          ...acted('submitted'),
        },
        200: {
          description: 'Accepted before, under the same Idempotency-Key: the job as it is now.',
          ...acted('submitted'),
        },
      },
      handle: async ({ caller, body, idempotencyKey, prefersMinimal }) => {
        const { jobId, created, details } = await operations.createJob(caller, body, { idempotencyKey });
        const outcome = { outcome: 'submitted', changed: created } as const;
        const isShort = prefersMinimal || (!created && !may(caller, 'jobs.read', details.job));
        return {
          status: created ? 201 : 200,
          headers: { location: `${address}/api/jobs/${jobId}`, etag: etagOf(details.job.version) },
          body: isShort ? jobActedShortView(details, outcome) : jobActedView(details, outcome),
          also: { created },
        };
      },
    }),

    // Over RPC, each job of a batch has a message of its own.
    restOperation({
      method: 'POST',
      path: '/jobs/batch',
      calls: [call.submitJobs],
      access: 'jobs.create',
      isReadInTurn: true,
      tag: 'jobs',
      summary: 'Create many jobs',
      description:
        'Each job is judged by itself; the answers stand in the order asked. With atomic, all are created or none: 422 batch_refused then says in errors what is wrong with which.',
      headers: IDEMPOTENCY_KEY,
      body: reading(BATCH_BODY),
      bodyExamples: {
        two: { jobs: [EXAMPLES.jobBodies.now, { name: 'b', colour: 'red' }] },
        'all or none': { jobs: [EXAMPLES.jobBodies.now], atomic: true },
      },
      answers: {
        200: {
          description: 'One answer per job.',
          schema: batchAnswer,
          example: [
            { job_id: EXAMPLES.jobId, outcome: 'submitted', status: 'submitted', created: true },
            { outcome: 'refused', status: 'refused', error: EXAMPLES.problem },
          ],
        },
      },
      handle: async ({ caller, body, idempotencyKey, request }) => {
        const atomic = body.atomic ?? false;
        const answers = await operations.createJobs(caller, readBatch(body.jobs), { idempotencyKey, atomic });
        return {
          body: answers.map((answer) =>
            answer instanceof Refusal
              ? { outcome: 'refused', status: 'refused', error: problemOf(answer, request.id) }
              : {
                  job_id: answer.jobId,
                  outcome: 'submitted',
                  status: 'submitted',
                  created: answer.created,
                },
          ),
        };
      },
    }),

    operation({
      method: 'GET',
      path: '/jobs/{id}',
      rpc: { method: call.getJob },
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'Read a job',
      subject: 'job',
      answers: {
        200: { description: 'The job. ETag holds its version.', schema: jobAnswer, example: EXAMPLES.job },
      },
      handle: async ({ caller, id }) => {
        const details = await operations.getJob(caller, id);
        return { body: jobView(details), headers: { etag: etagOf(details.job.version) } };
      },
    }),

    operation({
      // PUT takes partial bodies as well: only the fields to be changed are required.
      method: ['PUT', 'PATCH'],
      path: '/jobs/{id}',
      rpc: { method: call.updateJob, input: rpc.updateFields },
      access: 'jobs.update',
      tag: 'jobs',
      summary: 'Change a job',
      description:
        'PUT and PATCH do the same: only the fields to be changed are sent. null brings back the default.',
      subject: 'job',
      headers: { ...IF_MATCH, ...PREFER },
      body: reading(JOB_BODY, toJobInput),
      bodyExamples: { rename: { name: 'Monday report', cron_expression: '0 9 * * 1' } },
      answers: {
        200: { description: 'Changed: the job. ETag holds its new version.', ...acted('updated') },
      },
      handle: async (call) => {
        const { caller, id, body, ifVersion } = call;
        const job = await operations.updateJob(caller, id, body, { ifVersion });
        return actedReply(operations, call, { job, outcome: 'updated' });
      },
    }),

    operation({
      method: 'DELETE',
      path: '/jobs/{id}',
      calls: [call.cancelJob, call.deleteJob],
      access: ['jobs.cancel', 'jobs.delete'],
      tag: 'jobs',
      summary: 'Cancel a job, or remove it',
      description:
        'Does what POST /api/jobs/{id}/cancel does. With purge=true the job is removed too, also one that is over, which also asks for jobs.delete.',
      subject: 'job',
      headers: { ...IF_MATCH, ...PREFER },
      query: reading(DELETE_QUERY),
      answers: {
        200: {
          description: 'The cancelled job, or the id of the removed one.',
          schema: z.union([...jobActedAnswer.options, jobRemovedAnswer]),
          example: acted('cancelled').example,
        },
      },
      handle: async (call) => {
        const { caller, id, query, ifVersion } = call;
        if (query.purge === true) {
          await operations.deleteJob(caller, id, { ifVersion });
          return { body: { job_id: id, outcome: 'deleted', status: 'deleted' } };
        }
        const job = await operations.cancelJob(caller, id, { ifVersion });
        return actedReply(operations, call, { job, outcome: 'cancelled' });
      },
    }),

    operation({
      method: 'GET',
      path: '/jobs',
      rpc: { method: call.listJobs, input: rpc.listJobsFields },
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'List jobs',
      description:
        'Follow the Link header (rel="next") until there is none. An answer looks through a bounded number of jobs: it may hold fewer entries than limit, even none, and still have a next. X-Total-Count is there when the list was read from its start to its end.',
      cursor: 'cursor',
      query: reading(JOBS_QUERY, toJobsQuery),
      answers: {
        200: { description: 'The jobs.', schema: z.array(listedJobAnswer), example: [EXAMPLES.listedJob] },
      },
      handle: async ({ caller, query }) => {
        const { page, limit, after: afterJobId, order, sorted, userId, ...filter } = query;
        const selection = {
          ...filter,
          userId: userNamed(caller, userId),
          offset: page === undefined ? 0 : (page - 1) * limit,
          limit,
        };
        const { jobs, next } = sorted
          ? await operations.listSortedJobs(caller, { ...selection, ...sorted })
          : await operations.listJobs(caller, { ...selection, order, afterJobId });
        const shown = jobs.length;
        const ended = next === undefined;
        const isFromStart = afterJobId === undefined && sorted?.after === undefined;
        return {
          body: jobs.map(query.payloads ? jobView : listedJobView),
          list: {
            hasMore: !ended,
            next: next && (typeof next === 'string' ? next : writeJobCursor(next)),
            page,
            stopped: shown < limit,
            // In another order an entry does not know its position; the parts of that are small, or were cut when they were read.
            ...(!sorted && { cursorAt: (index: number) => jobs[index]!.job.jobId }),
          },
          ...(isFromStart && { headers: totalHeader({ page, limit, shown, ended }) }),
        };
      },
    }),

    operation({
      method: 'GET',
      path: '/jobs/upcoming',
      rpc: [{ method: call.listUpcomingJobs }, { method: call.getJobsInNext5Mins }],
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'What fires next',
      description:
        'Every start that is planned within the time asked for, in order: waiting runs and the occurrences of recurring jobs. Carillon-Partial: true says that more was due than could be looked at.',
      query: reading(UPCOMING_QUERY, toUpcomingQuery),
      answers: {
        200: {
          description: 'The starts, first things first.',
          schema: z.array(upcomingAnswer),
          example: [
            {
              job_id: EXAMPLES.jobId,
              name: EXAMPLES.job.name,
              namespace: 'default',
              user_id: 'u003',
              handler: 'http',
              priority: 'medium',
              run_at: '2030-01-02T08:00:00.000Z',
              run_time: '2030-01-02T08:00:00.000Z',
            },
          ],
        },
      },
      handle: async ({ caller, query }) => {
        const { runs, partial } = await operations.listUpcoming(caller, query);
        return {
          body: runs.map(upcomingView),
          ...(partial && { headers: { 'carillon-partial': 'true' } }),
          also: { partial },
        };
      },
    }),
  ];
}

/** The job after a change; little of it where that was preferred, or where the caller may not read jobs. */
export async function actedReply(
  operations: Operations,
  { caller, prefersMinimal }: Pick<Call, 'caller' | 'prefersMinimal'>,
  { job: { changed, ...job }, outcome }: { job: ChangedJob; outcome: Outcome },
): Promise<Reply> {
  const details = prefersMinimal ? undefined : await operations.describeJob(caller, job);
  const acted = { outcome, changed };
  return {
    body: details ? jobActedView(details, acted) : jobActedShortView({ job, status: job.status }, acted),
    headers: { etag: etagOf(job.version) },
  };
}

/** user_id=me is the user that jobs of this caller belong to. */
export function userNamed(caller: Caller, userId: string | undefined): string | undefined {
  if (userId !== 'me') return userId;
  if (caller.userId !== undefined) return caller.userId;
  const message = `${caller.name} is no user, so no jobs are "me"; give a user id.`;
  throw new Refusal('field_invalid', message, { field: 'user_id' });
}
