/** Jobs by their properties, newest first. The next run is computed from each schedule, so a page costs one read. */
import {
  type Caller,
  type Job,
  type JobId,
  type JobStatus,
  nextFire,
  type Priority,
  Refusal,
  requireMay,
  type ScheduleType,
} from '@carillon/domain';
import type { JobQuery } from '../storage/job-store.ts';
import type { JobDetails } from './get-job.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface ListJobsQuery {
  readonly status?: JobStatus | undefined;
  /** Any of these. */
  readonly scheduleTypes?: readonly ScheduleType[] | undefined;
  readonly priority?: Priority | undefined;
  readonly userId?: string | undefined;
  readonly handler?: string | undefined;
  readonly afterJobId?: JobId | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
}

/** Pages over several types are cut from one list per type; deeper ones are reached by afterJobId, at no cost. */
const MERGED_ROWS_MAX = 10_000;

export function listJobs(ports: OperationPorts) {
  return async (caller: Caller, query: ListJobsQuery): Promise<JobDetails[]> => {
    requireMay(caller, 'jobs.read');
    const jobs = await read(ports, query);
    const nowMs = ports.clock.now();
    return jobs.map((job) => ({
      job,
      nextRunMs: job.status === 'SCHEDULED' ? nextFire(job.schedule, nowMs) : undefined,
    }));
  };
}

async function read(ports: OperationPorts, query: ListJobsQuery): Promise<Job[]> {
  const { scheduleTypes = [], offset = 0, limit } = query;
  const [only, second] = scheduleTypes;
  if (second === undefined)
    return ports.storage.jobs.list(portQuery(query, { scheduleType: only, offset, limit }));
  if (offset + limit > MERGED_ROWS_MAX) {
    const message = `Pages over several types end after ${MERGED_ROWS_MAX} jobs; follow the Link header of a list without page.`;
    throw new Refusal('field_invalid', message, { field: 'page' });
  }
  const lists = await Promise.all(
    scheduleTypes.map((scheduleType) =>
      ports.storage.jobs.list(portQuery(query, { scheduleType, offset: 0, limit: offset + limit })),
    ),
  );
  // Ids grow with creation (UUID version 7).
  return lists
    .flat()
    .sort((a, b) => (a.jobId < b.jobId ? 1 : -1))
    .slice(offset, offset + limit);
}

function portQuery(
  query: ListJobsQuery,
  page: { scheduleType: ScheduleType | undefined; offset: number; limit: number },
): JobQuery {
  const { status, priority, userId, handler, afterJobId } = query;
  return {
    ...(status !== undefined && { status }),
    ...(page.scheduleType !== undefined && { scheduleType: page.scheduleType }),
    ...(priority !== undefined && { priority }),
    ...(userId !== undefined && { userId }),
    ...(handler !== undefined && { handler }),
    ...(afterJobId !== undefined && { afterJobId }),
    offset: page.offset,
    limit: page.limit,
  };
}
