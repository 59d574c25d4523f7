/** What can be done with a job, and what lies ahead. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { parseJobBody, rpc } from '@carillon/contract';
import { Refusal } from '@carillon/domain';
import type { Operations } from '../../../operations/operations.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';
import { keyOf } from './job-methods.ts';

const { method } = rpc.JobService;
const UPCOMING_MS = 5 * 60_000;
const UPCOMING_MAX = 1_000;
const PREVIEW_DEFAULT = 10;
const PREVIEW_MAX = 100;

export function jobActionMethods(operations: Operations): RpcMethod[] {
  return [
    unary(method.pauseJob, ['jobs.pause'], ({ caller, request }) =>
      operations.pauseJob(caller, idOf.job(request.jobId)).then(onlyId),
    ),
    unary(method.resumeJob, ['jobs.pause'], ({ caller, request }) =>
      operations.resumeJob(caller, idOf.job(request.jobId)).then(onlyId),
    ),
    unary(method.cancelJob, ['jobs.cancel'], ({ caller, request }) =>
      operations.cancelJob(caller, idOf.job(request.jobId)).then(onlyId),
    ),
    // Removing a job cancels it first, so it takes both permissions.
    unary(method.deleteJob, ['jobs.delete', 'jobs.cancel'], async ({ caller, request }) => {
      const jobId = idOf.job(request.jobId);
      if (request.userId !== '') {
        const { job } = await operations.getJob(caller, jobId);
        if (job.userId !== request.userId) {
          throw new Refusal('job_not_found', `There is no job ${jobId} of ${request.userId.slice(0, 200)}.`);
        }
      }
      await operations.deleteJob(caller, jobId);
      return { jobId };
    }),
    unary(method.runJobNow, ['jobs.run'], async ({ caller, request }) => {
      const idempotencyKey = keyOf(request.idempotencyKey);
      const { jobId, runId } = await operations.runJobNow(caller, idOf.job(request.jobId), {
        idempotencyKey,
      });
      return { jobId, runId };
    }),
    unary(method.getJobsInNext5Mins, ['jobs.read'], async ({ caller, request }) => {
      const limit = rpc.countAsked(request.limit, {
        field: 'limit',
        fallback: UPCOMING_MAX,
        max: UPCOMING_MAX,
      });
      const { runs, partial } = await operations.listUpcoming(caller, { withinMs: UPCOMING_MS, limit });
      const jobs = runs.map(({ job, runAtMs }) => ({
        jobId: job.jobId,
        name: job.name,
        namespace: job.namespace,
        userId: job.userId ?? '',
        handler: job.handler,
        priority: job.priority,
        runTime: timestampFromMs(runAtMs),
      }));
      return { jobs, partial };
    }),
    unary(method.previewSchedule, ['schedules.preview'], async ({ caller, request }) => {
      const preview = await operations.previewSchedule(caller, {
        schedule: parseJobBody(rpc.scheduleBody(request.schedule)),
        count: rpc.countAsked(request.count, {
          field: 'count',
          fallback: PREVIEW_DEFAULT,
          max: PREVIEW_MAX,
        }),
        afterMs: request.after && rpc.instantAsked(request.after, 'after'),
      });
      return {
        description: preview.description,
        timeZone: preview.zone,
        fires: preview.fires.map(({ atMs, local }) => ({ at: timestampFromMs(atMs), local })),
        warnings: preview.warnings.map(({ kind, message, atMs }) => ({
          kind,
          message,
          at: timestampFromMs(atMs),
        })),
      };
    }),
  ];
}

function onlyId({ jobId }: { jobId: string }) {
  return { jobId };
}
