/**
 * Jobs by their properties, in the order of their creation. What the caller may not see is not there. The next run is
 * computed from each schedule, so a page costs one read per place and status that it is cut from.
 */
import {
  type Action,
  type Caller,
  JOB_FILTERS,
  type Job,
  type JobId,
  type JobSelection,
  nextFire,
  Refusal,
} from '@carillon/domain';
import type { JobFilter } from '../storage/job-store.ts';
import type { JobDetails } from './get-job.ts';
import type { OperationPorts } from './operation-ports.ts';
import { placesSeen } from './places-seen.ts';

export interface ListJobsQuery extends JobSelection {
  readonly order?: 'newest' | 'oldest' | undefined;
  readonly afterJobId?: JobId | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
}

export interface ListedJobs {
  readonly jobs: readonly JobDetails[];
  /** More may follow after this job, even where nothing was found yet: looking is bounded. Undefined: this is the end. */
  readonly next: JobId | undefined;
}

/** A page by number is cut from a list read from its start; what lies deeper is reached by next, at no cost. */
export const PAGED_JOBS_MAX = 10_000;
/** Such a page is cut from several lists, all of them read from their start. */
const MERGED_JOBS_MAX = 1_000;
const PARTS_AT_ONCE = 4;

export function listJobs(ports: OperationPorts) {
  return async (caller: Caller, query: ListJobsQuery): Promise<ListedJobs> => {
    const { jobs, next } = await selectJobs(ports, { caller, action: 'jobs.read', query });
    const nowMs = ports.clock.now();
    return {
      jobs: jobs.map((job) => ({
        job,
        nextRunMs: job.status === 'SCHEDULED' ? nextFire(job.schedule, nowMs) : undefined,
      })),
      next,
    };
  };
}

/** The jobs that the caller may do this with. */
export async function selectJobs(
  ports: Pick<OperationPorts, 'storage'>,
  { caller, action, query }: { caller: Caller; action: Action; query: ListJobsQuery },
): Promise<{ jobs: readonly Job[]; next: JobId | undefined }> {
  const { offset = 0, limit, order = 'newest', afterJobId } = query;
  const parts = partsOf(caller, action, query);
  const only = parts.length === 1;
  requirePage({ offset, limit, only });
  const lists = await inParts(parts, (part) =>
    ports.storage.jobs.list({
      ...selectionOf(query),
      ...part,
      order,
      ...(afterJobId !== undefined && { afterJobId }),
      offset: only ? offset : 0,
      // One more than asked for tells whether there is more.
      limit: (only ? 0 : offset) + limit + 1,
    }),
  );
  const isBefore = (a: JobId, b: JobId) => (order === 'newest' ? a > b : a < b);
  // Beyond the place where the first of the lists stopped looking, the others must not run ahead of it.
  const stop = lists.reduce<JobId | undefined>(
    (nearest, { stoppedAt }) =>
      stoppedAt !== undefined && (nearest === undefined || isBefore(stoppedAt, nearest))
        ? stoppedAt
        : nearest,
    undefined,
  );
  const found = new Map(lists.flatMap(({ jobs }) => jobs).map((job) => [job.jobId, job]));
  const merged = [...found.values()]
    .filter(({ jobId }) => stop === undefined || !isBefore(stop, jobId))
    .sort((a, b) => (isBefore(a.jobId, b.jobId) ? -1 : 1))
    .slice(only ? 0 : offset);
  const jobs = merged.slice(0, limit);
  return { jobs, next: merged.length > limit ? jobs.at(-1)?.jobId : stop };
}

/** Each place that the caller sees, with each status that is asked for: a list of its own, by the index that serves it. */
export function partsOf(caller: Caller, action: Action, query: JobSelection): JobFilter[] {
  const places = placesSeen(caller, action, query);
  const statuses = query.statuses?.length ? [...new Set(query.statuses)] : [undefined];
  return places.flatMap((place) => statuses.map((status) => ({ ...place, ...(status && { status }) })));
}

export function requirePage({ offset, limit, only }: { offset: number; limit: number; only: boolean }): void {
  const refuse = (message: string) => new Refusal('field_invalid', message, { field: 'page' });
  if (offset + limit > PAGED_JOBS_MAX) {
    throw refuse(`Pages by number end after ${PAGED_JOBS_MAX} jobs; follow the Link header instead.`);
  }
  if (!only && offset + limit > MERGED_JOBS_MAX) {
    throw refuse(
      `Pages over several statuses or namespaces end after ${MERGED_JOBS_MAX} jobs; follow the Link header instead.`,
    );
  }
}

/** A few at a time: somebody with many grants must not take every connection for one page. */
export async function inParts<List>(
  parts: readonly JobFilter[],
  read: (part: JobFilter) => Promise<List>,
): Promise<List[]> {
  const lists: List[] = [];
  for (let from = 0; from < parts.length; from += PARTS_AT_ONCE) {
    lists.push(...(await Promise.all(parts.slice(from, from + PARTS_AT_ONCE).map(read))));
  }
  return lists;
}

const SHARED_FILTERS = (Object.keys(JOB_FILTERS) as (keyof JobSelection)[]).filter(
  (name) => name !== 'statuses',
);

/** What holds for every part. */
export function selectionOf(query: JobSelection): JobFilter {
  return Object.fromEntries(SHARED_FILTERS.map((name) => [name, query[name]]));
}
