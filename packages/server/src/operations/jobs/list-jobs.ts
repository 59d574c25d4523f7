/**
 * Lists jobs by their properties, in order of creation or sorted by a field. A list reads once per visible namespace and
 * status, each read served by one index, and merges the results: a small namespace is listed fast however large the others
 * are. Jobs that the caller may not see are left out.
 */
import {
  type Action,
  type Caller,
  compareJobPlaces,
  type Job,
  type JobId,
  type JobOrder,
  type JobPlace,
  type JobStatus,
  keyOfNone,
  type Labels,
  nextFire,
  type Priority,
  Refusal,
  requireMay,
  type ScheduleType,
  visibleTo,
  WHOLE,
} from '@carillon/domain';
import { type JobFilter, LOOKED_THROUGH_MAX, type SortedJob } from '../../storage/job-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { mapInParallel } from '../support/in-parallel.ts';

export interface JobDetails {
  readonly job: Job;
  /** Nominal instant; undefined when no occurrence lies ahead or the job is not scheduled. */
  readonly nextRunMs: number | undefined;
}

export interface JobSelection {
  /** Any of these. */
  readonly statuses?: readonly JobStatus[] | undefined;
  readonly scheduleTypes?: readonly ScheduleType[] | undefined;
  readonly priority?: Priority | undefined;
  readonly userId?: string | undefined;
  readonly namespace?: string | undefined;
  readonly handler?: string | undefined;
  readonly labels?: Labels | undefined;
  readonly text?: string | undefined;
  readonly createdFromMs?: number | undefined;
  readonly createdToMs?: number | undefined;
}

export interface ListJobsQuery extends JobSelection {
  readonly order?: 'newest' | 'oldest' | undefined;
  readonly afterJobId?: JobId | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
}

export interface ListedJobs {
  readonly jobs: readonly JobDetails[];
  /** More may follow after this job, even where none was found yet: a read is bounded. Undefined: this is the end. */
  readonly next: JobId | undefined;
}

export interface ListSortedJobsQuery extends JobSelection, JobOrder {
  readonly after?: JobPlace | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
}

export interface ListedSortedJobs {
  readonly jobs: readonly JobDetails[];
  /** More follow after this position. Undefined: this is the end. */
  readonly next: JobPlace | undefined;
}

/** A numbered page is cut from a list read from its start; what lies deeper is reached by next, at no cost. */
const PAGED_JOBS_MAX = 10_000;
/** Such a page is cut from several lists, all of them read from their start. */
const MERGED_JOBS_MAX = 1_000;

/** The jobs that the caller may perform this action on, in order of creation. */
export async function selectJobs(
  ports: Pick<OperationPorts, 'storage'>,
  { caller, action, query }: { caller: Caller; action: Action; query: ListJobsQuery },
): Promise<{ jobs: readonly Job[]; next: JobId | undefined }> {
  const { limit, order = 'newest', afterJobId } = query;
  const { lists, skip } = await readLists({ caller, action, query }, (page) =>
    ports.storage.jobs.list({ ...page, order, ...(afterJobId !== undefined && { afterJobId }) }),
  );
  const isBefore = (a: JobId, b: JobId) => (order === 'newest' ? a > b : a < b);
  // The result ends where the first of the lists stopped reading: the others must not run ahead of it.
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
    .slice(skip);
  const jobs = merged.slice(0, limit);
  return { jobs, next: merged.length > limit ? jobs.at(-1)?.jobId : stop };
}

/**
 * Jobs ordered by name, priority, last change or next run. No index holds these orders, so the storage sorts a bounded
 * number of jobs; a wider list is refused.
 */
export async function listSortedJobs(
  ports: Pick<OperationPorts, 'storage' | 'clock'>,
  caller: Caller,
  query: ListSortedJobsQuery,
): Promise<ListedSortedJobs> {
  const { limit, by, descending, after } = query;
  const { lists, skip } = await readLists({ caller, action: 'jobs.read', query }, (page) =>
    ports.storage.jobs.listSorted({ ...page, by, descending, ...(after && { after }) }),
  );
  const found = new Map<string, SortedJob>();
  for (const list of lists) {
    if (list === 'too_many') {
      const message = `There are more than ${LOOKED_THROUGH_MAX} jobs to be sorted by ${by}.`;
      throw new Refusal('sort_too_wide', message, { field: 'sort' });
    }
    for (const sorted of list) found.set(sorted.job.jobId, sorted);
  }
  const merged = [...found.values()].sort((a, b) => compareJobPlaces(a.place, b.place, query)).slice(skip);
  const nowMs = ports.clock.now();
  const page = merged.slice(0, limit);
  return {
    jobs: page.map((sorted) => ({ job: sorted.job, nextRunMs: shownNextRunMs(sorted, query, nowMs) })),
    next: merged.length > limit ? page.at(-1)?.place : undefined,
  };
}

/** A list sorted by next run shows the instants it is sorted by. */
function shownNextRunMs({ job, place }: SortedJob, order: JobOrder, nowMs: number): number | undefined {
  if (job.status !== 'SCHEDULED' || order.by !== 'next_run_time') return nextRunMs(job, nowMs);
  return place.key === keyOfNone(order) ? undefined : Number(place.key);
}

/** Computed from the schedule, so that a list needs no read per job. */
export function nextRunMs(job: Job, nowMs: number): number | undefined {
  return job.status === 'SCHEDULED' ? nextFire(job.schedule, nowMs) : undefined;
}

/** skip: how many of the merged jobs come before the page. */
async function readLists<List>(
  request: {
    caller: Caller;
    action: Action;
    query: JobSelection & { offset?: number | undefined; limit: number };
  },
  read: (page: JobFilter & { offset: number; limit: number }) => Promise<List>,
): Promise<{ lists: List[]; skip: number }> {
  const { caller, action, query } = request;
  const { offset = 0, limit } = query;
  const scopes = visibleScopes(caller, action, query);
  const statuses = query.statuses?.length ? [...new Set(query.statuses)] : [undefined];
  const filters = scopes.flatMap((scope) =>
    statuses.map((status) => ({ ...scope, ...(status && { status }) })),
  );
  const isMerged = filters.length !== 1;
  requirePage({ offset, limit, isMerged });
  const skip = isMerged ? offset : 0;
  const lists = await mapInParallel(filters, (filter) =>
    read({
      ...sharedFilter(query),
      ...filter,
      offset: offset - skip,
      // One more than the page holds tells whether more follow.
      limit: skip + limit + 1,
    }),
  );
  return { lists, skip };
}

function requirePage({ offset, limit, isMerged }: { offset: number; limit: number; isMerged: boolean }) {
  const refuse = (message: string) => new Refusal('field_invalid', message, { field: 'page' });
  if (offset + limit > PAGED_JOBS_MAX) {
    throw refuse(`Pages by number end after ${PAGED_JOBS_MAX} jobs; follow the Link header instead.`);
  }
  if (isMerged && offset + limit > MERGED_JOBS_MAX) {
    throw refuse(
      `Pages over several statuses or namespaces end after ${MERGED_JOBS_MAX} jobs; follow the Link header instead.`,
    );
  }
}

/** The part of the filter that is the same for every list. */
function sharedFilter(query: JobSelection): JobFilter {
  const { scheduleTypes, priority, handler, labels, text, createdFromMs, createdToMs } = query;
  return {
    ...(scheduleTypes !== undefined && { scheduleTypes }),
    ...(priority !== undefined && { priority }),
    ...(handler !== undefined && { handler }),
    ...(labels !== undefined && { labels }),
    ...(text !== undefined && { text }),
    ...(createdFromMs !== undefined && { createdFromMs }),
    ...(createdToMs !== undefined && { createdToMs }),
  };
}

interface VisibleScope {
  readonly namespace?: string;
  readonly userId?: string;
}

/** The scopes that the caller may see, narrowed to the query. Refuses a caller who may perform the action nowhere. */
function visibleScopes(caller: Caller, action: Action, query: JobSelection): VisibleScope[] {
  requireMay(caller, action);
  const visible = visibleTo(caller, action) ?? [{ namespace: WHOLE, userId: undefined }];
  const scopes = visible.flatMap((granted) => {
    const namespace = granted.namespace === WHOLE ? query.namespace : granted.namespace;
    const userId = granted.userId ?? query.userId;
    const matches =
      (query.namespace === undefined || query.namespace === namespace) &&
      (query.userId === undefined || query.userId === userId);
    return matches
      ? [{ ...(namespace !== undefined && { namespace }), ...(userId !== undefined && { userId }) }]
      : [];
  });
  return scopes.filter((scope, i) => !scopes.some((other, j) => i !== j && covers(other, scope, j < i)));
}

/** Whether everything in the scope is in the other as well; of two equal ones the first stays. */
function covers(other: VisibleScope, scope: VisibleScope, isEarlier: boolean): boolean {
  const isWider =
    (other.namespace === undefined || other.namespace === scope.namespace) &&
    (other.userId === undefined || other.userId === scope.userId);
  const isEqual = other.namespace === scope.namespace && other.userId === scope.userId;
  return isWider && (!isEqual || isEarlier);
}
