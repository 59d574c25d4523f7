/** Jobs: submit, read, list, change. */
import {
  BATCH_JOBS_MAX,
  jobStatusView,
  jobView,
  parseIdempotencyKey,
  parseJobBody,
  readId,
  rpc,
  writeJobPlace,
} from '@carillon/contract';
import { type JobId, type JobInput, Refusal } from '@carillon/domain';
import type { Operations } from '../../../operations/operations.ts';
import { userNamed } from '../../endpoints/caller-words.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, serverStream, unary } from '../rpc-method.ts';

const { method } = rpc.JobService;
const STREAM_PAGE_JOBS = 200;

export function jobMethods(operations: Operations): RpcMethod[] {
  return [
    unary(method.submitJob, ['jobs.create'], async ({ caller, request }) => {
      const idempotencyKey = keyOf(request.idempotencyKey);
      return operations.createJob(caller, parseJobBody(rpc.submitBody(request)), { idempotencyKey });
    }),
    unary(method.submitJobs, ['jobs.create'], async ({ caller, request }) => {
      const { jobs, idempotencyKey, atomic } = request;
      if (jobs.length === 0 || jobs.length > BATCH_JOBS_MAX) {
        const message = `jobs must be an array of 1 to ${BATCH_JOBS_MAX} jobs.`;
        throw new Refusal('field_invalid', message, { field: 'jobs' });
      }
      const answers = await operations.createJobs(caller, jobs.map(readJob), {
        idempotencyKey: keyOf(idempotencyKey),
        atomic,
      });
      return {
        results: answers.map((answer) =>
          answer instanceof Refusal ? { refused: rpc.refusedMessage(answer) } : { jobId: answer.jobId },
        ),
      };
    }),
    serverStream(method.retrieveAllJobs, ['jobs.read'], async function* ({ caller, request, signal }) {
      const userId = userNamed(caller, rpc.textAsked(request.userId, 'user_id'));
      let page = await operations.listJobs(caller, { userId, limit: STREAM_PAGE_JOBS });
      for (;;) {
        for (const details of page.jobs) yield { job: rpc.jobMessage(jobView(details)) };
        if (page.next === undefined || signal.aborted) return;
        page = await operations.listJobs(caller, { userId, afterJobId: page.next, limit: STREAM_PAGE_JOBS });
      }
    }),
    unary(method.listJobs, ['jobs.read'], async ({ caller, request }) => {
      const filter = rpc.jobFilterAsked(request);
      const { order, after: afterJobId, sorted } = rpc.jobOrderAsked(request);
      const asked = {
        ...filter,
        userId: userNamed(caller, filter.userId),
        limit: rpc.pageSizeAsked(request.pageSize),
      };
      const { jobs, next = '' } = sorted
        ? await operations.listSortedJobs(caller, { ...asked, ...sorted })
        : await operations.listJobs(caller, { ...asked, order, afterJobId });
      return {
        jobs: jobs.map((details) => rpc.jobMessage(jobView(details))),
        nextPageToken: typeof next === 'string' ? next : writeJobPlace(next),
      };
    }),
    unary(method.getJob, ['jobs.read'], async ({ caller, request }) => {
      const details = await operations.getJob(caller, idOf.job(request.jobId));
      return { job: rpc.jobMessage(jobView(details)) };
    }),
    unary(method.getJobStatus, ['jobs.read'], async ({ caller, request }) => {
      const { job, ...status } = await operations.getJobStatus(caller, idOf.job(request.jobId));
      return { status: rpc.jobStatusMessage(jobStatusView({ jobId: job.jobId, ...status })) };
    }),
    unary(method.updateJob, ['jobs.update'], async ({ caller, request }) => {
      const { jobId } = request;
      const change = parseJobBody(rpc.updateBody(request));
      const { version } = await operations.updateJob(caller, idOf.job(jobId), change, versionOf(request));
      return { jobId, version };
    }),
  ];
}

export function keyOf(given: string): string | undefined {
  return given === '' ? undefined : parseIdempotencyKey(given);
}

/** Which version a change is meant for. */
export function versionOf({ expectedVersion }: { readonly expectedVersion?: number | undefined }) {
  return { ifVersion: expectedVersion === undefined ? undefined : [expectedVersion] };
}

/** A place in a list of jobs, as page tokens carry it. */
export function jobPlaceAsked(token: string): JobId | undefined {
  return rpc.pageTokenAsked(token, (given) => readId(given, 'job') as JobId);
}

/** A job of a batch, or the refusal that reading it ended with. */
function readJob(job: rpc.SubmitJobRequest): JobInput | Refusal {
  try {
    if (job.idempotencyKey !== '') {
      const message = 'A job of a batch has no key of its own; give one for the whole batch.';
      throw new Refusal('field_conflict', message, { field: 'idempotency_key' });
    }
    return parseJobBody(rpc.submitBody(job));
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
