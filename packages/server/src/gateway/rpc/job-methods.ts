/** Calls about jobs that are not one operation of REST: batches, streams, and those that REST splits in another way. */
import {
  BATCH_JOBS_MAX,
  callerView,
  jobView,
  parseIdempotencyKey,
  parseJobBody,
  RUNS_QUERY,
  type RunsQuery,
  readId,
  rpc,
  toRunsQuery,
} from '@carillon/contract';
import { type JobId, type JobInput, Refusal } from '@carillon/domain';
import type { Operations } from '../../operations/operations.ts';
import { applyReply, applyRequest } from '../api/job-keys.ts';
import { userNamed } from '../api/jobs.ts';
import { reading } from '../api/operation.ts';
import { runPageOf, runsReply } from '../api/runs.ts';
import { messageOf, readFields, requireField } from './bind-rpc.ts';
import { type RpcMethod, serverStream, unary } from './rpc-method.ts';

const { method } = rpc.JobService;
const STREAM_PAGE_JOBS = 200;
const RUN_PAGE = reading(RUNS_QUERY, toRunsQuery);

export function jobMethods(operations: Operations): RpcMethod[] {
  return [
    unary(method.submitJobs, 'jobs.create', async ({ caller, request }) => {
      const { jobs, idempotencyKey: key, atomic } = request;
      if (jobs.length === 0 || jobs.length > BATCH_JOBS_MAX) {
        const message = `jobs must be an array of 1 to ${BATCH_JOBS_MAX} jobs.`;
        throw new Refusal('field_invalid', message, { field: 'jobs' });
      }
      const idempotencyKey = key === '' ? undefined : parseIdempotencyKey(key);
      const answers = await operations.createJobs(caller, jobs.map(readJob), { idempotencyKey, atomic });
      return {
        results: answers.map((answer) =>
          answer instanceof Refusal ? { refused: rpc.refusedMessage(answer) } : { jobId: answer.jobId },
        ),
      };
    }),

    // A new one asks for jobs.create, one that is there for jobs.update.
    unary(method.applyJob, ['jobs.create', 'jobs.update'], async ({ caller, request: { job, dryRun } }) => {
      const input = job && readJob(job);
      if (!input) throw new Refusal('field_missing', 'job is missing.', { field: 'job' });
      if (input instanceof Refusal) throw input;
      const applied = await operations.applyJob(caller, applyRequest(input, dryRun));
      return messageOf(method.applyJob.output, applyReply(applied, dryRun));
    }),

    serverStream(method.retrieveAllJobs, 'jobs.read', async function* ({ caller, request, signal }) {
      const named = request.userId === '' ? undefined : rpc.storable(request.userId, 'user_id');
      const userId = userNamed(caller, named);
      let page = await operations.listJobs(caller, { userId, limit: STREAM_PAGE_JOBS });
      for (;;) {
        for (const details of page.jobs) {
          yield { job: rpc.messageFrom(rpc.JobSchema, rpc.jobJson(jobView(details))) };
        }
        if (page.next === undefined || signal.aborted) return;
        page = await operations.listJobs(caller, { userId, afterJobId: page.next, limit: STREAM_PAGE_JOBS });
      }
    }),

    // Removing a job cancels it first, so it takes both permissions.
    unary(method.deleteJob, ['jobs.delete', 'jobs.cancel'], async ({ caller, request }) => {
      const { userId, expectedVersion: version } = request;
      const jobId = readId(requireField(request.jobId, 'job_id'), 'job') as JobId;
      if (userId !== '') {
        const { job } = await operations.getJob(caller, jobId);
        if (job.userId !== userId) {
          throw new Refusal('job_not_found', `There is no job ${jobId} of ${userId.slice(0, 200)}.`);
        }
      }
      const ifVersion = version === undefined ? undefined : [version];
      await operations.deleteJob(caller, jobId, { ifVersion });
      return { jobId };
    }),

    // The runs of a job, or those of a worker, for callers who may see workers as well.
    unary(method.listRuns, ['runs.read', 'workers.read'], async ({ caller, request }) => {
      const { job_id: jobId, worker_id: workerId, ...paging } = rpc.fieldsOf(method.listRuns.input, request);
      const query = readFields(RUN_PAGE, paging, { cursor: 'before', isQuery: true }) as RunsQuery;
      if (jobId === undefined && workerId === undefined) {
        throw new Refusal('field_missing', 'Give the job_id or the worker_id.', { field: 'job_id' });
      }
      const page = runPageOf(query);
      const rows =
        jobId === undefined
          ? await operations.listWorkerRuns(caller, rpc.storable(workerId as string, 'worker_id'), page)
          : await operations.listRuns(caller, readId(jobId as string, 'job') as JobId, page);
      return messageOf(method.listRuns.output, runsReply(rows, query));
    }),

    unary(rpc.AccountService.method.getCaller, 'self', async ({ caller }) => ({
      caller: rpc.messageFrom(rpc.CallerSchema, callerView(caller, undefined)),
    })),
  ];
}

/** A job of a batch, or the refusal that reading it ended with. */
function readJob(job: rpc.SubmitJobRequest): JobInput | Refusal {
  try {
    if (job.idempotencyKey !== '') {
      const message = 'A job of a batch has no key of its own; give one for the whole batch.';
      throw new Refusal('field_conflict', message, { field: 'idempotency_key' });
    }
    return parseJobBody(rpc.submitFields(rpc.fieldsOf(rpc.SubmitJobRequestSchema, job)));
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
