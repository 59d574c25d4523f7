/** Calls about jobs that are not one operation of REST: batches, and those that REST splits in another way. */
import {
  BATCH_JOBS_MAX,
  callerView,
  parseIdempotencyKey,
  parseJobBody,
  readId,
  rpc,
} from '@carillon/contract';
import { type JobId, type JobInput, Refusal } from '@carillon/domain';
import type { Operations } from '../../operations/operations.ts';
import { applyReply, applyRequest } from '../api/job-keys.ts';
import { messageOf, requireField } from './bind-rpc.ts';
import { type RpcMethod, unary } from './rpc-method.ts';

const { method } = rpc.JobService;

export function jobMethods(operations: Operations): RpcMethod[] {
  return [
    unary(
      method.submitJobs,
      'jobs.create',
      async ({ caller, request }) => {
        const { jobs, idempotencyKey: key, atomic } = request;
        if (jobs.length === 0 || jobs.length > BATCH_JOBS_MAX) {
          const message = `jobs must be an array of 1 to ${BATCH_JOBS_MAX} jobs.`;
          throw new Refusal('field_invalid', message, { field: 'jobs' });
        }
        const idempotencyKey = key === '' ? undefined : parseIdempotencyKey(key);
        const answers = await operations.createJobs(caller, jobs.map(readJob), { idempotencyKey, atomic });
        return {
          results: answers.map((answer) =>
            answer instanceof Refusal
              ? { outcome: 'refused', refused: rpc.refusedMessage(answer) }
              : { outcome: 'submitted', jobId: answer.jobId, created: answer.created },
          ),
        };
      },
      { isReadInTurn: true },
    ),

    // A new one asks for jobs.create, one that is there for jobs.update.
    unary(method.applyJob, ['jobs.create', 'jobs.update'], async ({ caller, request: { job, dryRun } }) => {
      const input = job && readJob(job);
      if (!input) throw new Refusal('field_missing', 'job is missing.', { field: 'job' });
      if (input instanceof Refusal) throw input;
      const applied = await operations.applyJob(caller, applyRequest(input, dryRun));
      return messageOf(method.applyJob.output, applyReply(applied, dryRun));
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
