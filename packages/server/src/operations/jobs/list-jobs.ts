/**
 * Lists jobs by their properties, in order of creation or sorted by a field. A list reads once per visible namespace and
 * status, each read served by one index, and merges the results: a small namespace is listed fast however large the others
 * are. Jobs that the caller may not see are left out.
 */
import {
  type Action,
  type Caller,
  compareJobCursors,
  EVERYWHERE,
  type Job,
  type JobCursor,
  type JobId,
  type JobOrder,
  type JobSelection,
  jobShownTo,
  keyOfNone,
  nextFire,
  Refusal,
  requireMay,
  visibleTo,
} from '@carillon/domain';
import {
  type JobFilter,
  type JobQuery,
  ROWS_SCANNED_MAX,
  type SortedJob,
  type SortedJobQuery,
} from '../../storage/job-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { mapInParallel } from '../support/in-parallel.ts';

export interface JobDetails {
  readonly job: Job;
  /** Nominal instant; undefined when no occurrence lies ahead or the job is not scheduled. */
  readonly nextRunMs: number | undefined;
}

export interface ListJobsQuery extends JobSelection, Omit<JobQuery, keyof JobFilter> {}

export interface ListedJobs {
  readonly jobs: readonly JobDetails[];
  /** More may follow after this job, even where none was found yet: a read is bounded. Undefined: this is the end. */
  readonly next: JobId | undefined;
}

export interface ListSortedJobsQuery extends JobSelection, Omit<SortedJobQuery, keyof JobFilter> {}

export interface ListedSortedJobs {
  readonly jobs: readonly JobDetails[];
  /** More follow after this position. Undefined: this is the end. */
  readonly next: JobCursor | undefined;
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
  const { limit, order = 'newest' } = query;
  const { lists, skip } = await readLists({ caller, action, query }, (page) => ports.storage.jobs.list(page));
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
  const { limit, by } = query;
  const { lists, skip } = await readLists({ caller, action: 'jobs.read', query }, (page) =>
    ports.storage.jobs.listSorted(page),
  );
  const found = new Map<string, SortedJob>();
  for (const list of lists) {
    if (list === 'too_many') {
      const message = `There are more than ${ROWS_SCANNED_MAX} jobs to be sorted by ${by}.`;
      throw new Refusal('sort_too_wide', message, { field: 'sort' });
    }
    for (const sorted of list) found.set(sorted.job.jobId, sorted);
  }
  const merged = [...found.values()].sort((a, b) => compareJobCursors(a.cursor, b.cursor, query)).slice(skip);
  const nowMs = ports.clock.now();
  const page = merged.slice(0, limit);
  return {
    jobs: page.map((sorted) => ({
      job: jobShownTo(caller, sorted.job),
      nextRunMs: shownNextRunMs(sorted, query, nowMs),
    })),
    next: merged.length > limit ? page.at(-1)?.cursor : undefined,
  };
}

/** A list sorted by next run shows the instants it is sorted by. */
function shownNextRunMs({ job, cursor }: SortedJob, order: JobOrder, nowMs: number): number | undefined {
  if (job.status !== 'SCHEDULED' || order.by !== 'next_run_time') return nextRunMs(job, nowMs);
  return cursor.key === keyOfNone(order) ? undefined : Number(cursor.key);
}

/** Computed from the schedule, so that a list needs no read per job. */
export function nextRunMs(job: Job, nowMs: number): number | undefined {
  return job.status === 'SCHEDULED' ? nextFire(job.schedule, nowMs) : undefined;
}

interface Page {
  readonly offset?: number | undefined;
  readonly limit: number;
}

/** skip: how many of the merged jobs come before the page. */
async function readLists<Query extends JobSelection & Page, List>(
  { caller, action, query }: { caller: Caller; action: Action; query: Query },
  read: (page: Query & JobFilter) => Promise<List>,
): Promise<{ lists: List[]; skip: number }> {
  const { offset = 0, limit, statuses } = query;
  const filters = visibleScopes(caller, action, query).flatMap((scope) =>
    (statuses?.length ? [...new Set(statuses)] : [undefined]).map((status) => ({ ...scope, status })),
  );
  const isMerged = filters.length !== 1;
  requirePage({ offset, limit, isMerged });
  const skip = isMerged ? offset : 0;
  // One more than the page holds tells whether more follow.
  const page = { offset: offset - skip, limit: skip + limit + 1 };
  const lists = await mapInParallel(filters, (filter) => read({ ...query, ...filter, ...page }));
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

type VisibleScope = Pick<JobFilter, 'namespace' | 'userId'>;

/** The scopes that the caller may see, narrowed to the query. Refuses a caller who may perform the action nowhere. */
function visibleScopes(caller: Caller, action: Action, query: JobSelection): VisibleScope[] {
  requireMay(caller, action);
  const visible = visibleTo(caller, action) ?? [{ namespace: EVERYWHERE, userId: undefined }];
  const scopes = visible.flatMap((granted) => {
    const namespace = granted.namespace === EVERYWHERE ? query.namespace : granted.namespace;
    const userId = granted.userId ?? query.userId;
    const matches =
      (query.namespace === undefined || query.namespace === namespace) &&
      (query.userId === undefined || query.userId === userId);
    return matches ? [{ namespace, userId }] : [];
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
