/** What can be done with a job, or with many, and what lies ahead. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  bulkView,
  parseJobBody,
  readShape,
  rpc,
  toUpcomingQuery,
  UPCOMING_QUERY,
  upcomingView,
} from '@carillon/contract';
import { BULK_ACTIONS, type Caller, Refusal } from '@carillon/domain';
import type { Operations } from '../../../operations/operations.ts';
import { userNamed } from '../../endpoints/caller-words.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';
import { jobPlaceAsked, keyOf, versionOf } from './job-methods.ts';

const { method } = rpc.JobService;
const UPCOMING_MS = 5 * 60_000;
const UPCOMING_MAX = 1_000;
const PREVIEW_DEFAULT = 10;
const PREVIEW_MAX = 100;

export function jobActionMethods(operations: Operations): RpcMethod[] {
  const upcoming = async (caller: Caller, asked: { withinMs: number; limit: number }) => {
    const limit = rpc.countAsked(asked.limit, { field: 'limit', fallback: UPCOMING_MAX, max: UPCOMING_MAX });
    const { runs, partial } = await operations.listUpcoming(caller, { withinMs: asked.withinMs, limit });
    return { jobs: runs.map((run) => rpc.upcomingMessage(upcomingView(run))), partial };
  };
  return [
    unary(method.pauseJob, ['jobs.pause'], ({ caller, request }) =>
      operations.pauseJob(caller, idOf.job(request.jobId), versionOf(request)).then(onlyId),
    ),
    unary(method.resumeJob, ['jobs.pause'], ({ caller, request }) =>
      operations.resumeJob(caller, idOf.job(request.jobId), versionOf(request)).then(onlyId),
    ),
    unary(method.cancelJob, ['jobs.cancel'], ({ caller, request }) =>
      operations.cancelJob(caller, idOf.job(request.jobId), versionOf(request)).then(onlyId),
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
      await operations.deleteJob(caller, jobId, versionOf(request));
      return { jobId };
    }),
    unary(method.runJobNow, ['jobs.run'], ({ caller, request }) => {
      const idempotencyKey = keyOf(request.idempotencyKey);
      return operations.runJobNow(caller, idOf.job(request.jobId), { idempotencyKey });
    }),
    unary(method.bulkChangeJobs, ['jobs.pause', 'jobs.cancel'], async ({ caller, request }) => {
      const { selection, ...asked } = bulkAsked(caller, request);
      const report = await operations.bulkJobs(caller, { ...asked, selection });
      const { matched, changed, refused, jobs: jobIds, next } = bulkView(asked, report);
      return { matched, changed, refused, jobIds, nextPageToken: next ?? '' };
    }),
    unary(method.getJobsInNext5Mins, ['jobs.read'], ({ caller, request }) =>
      upcoming(caller, { withinMs: UPCOMING_MS, limit: request.limit }),
    ),
    unary(method.listUpcomingJobs, ['jobs.read'], ({ caller, request: { within, limit } }) => {
      const { withinMs } = toUpcomingQuery(readShape(UPCOMING_QUERY, within === '' ? {} : { within }));
      return upcoming(caller, { withinMs, limit });
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
        scheduleType: preview.schedule.type,
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

function bulkAsked(caller: Caller, { action, filter, dryRun, pageToken }: rpc.BulkChangeJobsRequest) {
  const selection = filter && rpc.jobFilterAsked(filter, 'filter.');
  if (selection === undefined || Object.values(selection).every((value) => value === undefined)) {
    const message = 'filter names nothing; give at least one filter, such as the statuses.';
    throw new Refusal('field_invalid', message, { field: 'filter' });
  }
  return {
    action: rpc.wordAsked(BULK_ACTIONS, action, 'action'),
    selection: { ...selection, userId: userNamed(caller, selection.userId) },
    dryRun,
    afterJobId: jobPlaceAsked(pageToken),
  };
}

function onlyId({ jobId }: { jobId: string }) {
  return { jobId };
}
