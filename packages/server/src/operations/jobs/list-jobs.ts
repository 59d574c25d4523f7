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
  firstUnskipped,
  type Job,
  type JobCursor,
  type JobId,
  type JobOrder,
  type JobSelection,
  type JobStatus,
  jobShownTo,
  keyOfNone,
  may,
  nextUnskipped,
  Refusal,
  requireMay,
  runsShownTo,
  type ShownJobStatus,
  SKIPS_LISTED_MAX,
  type SkippedFire,
  shownStatus,
  visibleTo,
} from '@carillon/domain';
import {
  type JobFilter,
  type JobQuery,
  type JobWithPlan,
  ROWS_SCANNED_MAX,
  type SortedJob,
  type SortedJobQuery,
} from '../../storage/job-store.ts';
import type { JobActivity, RunView } from '../../storage/run-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { mapInParallel } from '../support/in-parallel.ts';
import { type Part, readWithinBytes } from '../support/read-within-bytes.ts';

export interface JobDetails {
  readonly job: Job;
  /** As it is shown. */
  readonly status: ShownJobStatus;
  /** Nominal instant; undefined when no occurrence lies ahead or the job is not scheduled. */
  readonly nextRunMs: number | undefined;
  /** Coming fires that people have skipped; in lists the first few. */
  readonly skips: readonly SkippedFire[];
  /** Of a single job, and with last runs. */
  readonly waiting?: Pick<JobActivity, 'waitingRuns' | 'waitsFor'>;
  /** Where jobs are read: what the user is called that it belongs to; undefined when no user has the id. */
  readonly owner?: { readonly name: string | undefined };
  /** Where it was asked for: its latest attempt; undefined when it never had one. */
  readonly last?: { readonly run: RunView | undefined };
}

/** A job as it was read, with the nominal instant of its planned occurrence. */
export function detailsOfRead({ job, plannedNominalMs }: JobWithPlan, activity: JobActivity): JobDetails {
  const nextRunMs =
    job.status === 'SCHEDULED' ? firstUnskipped(job.schedule, plannedNominalMs, job.skips) : undefined;
  const skips = comingSkips(job, plannedNominalMs);
  return { job, status: shownStatus(job.status, activity), nextRunMs, skips, waiting: activity };
}

export interface ListJobsQuery extends JobSelection, Omit<JobQuery, keyof JobFilter> {
  /** Instead of statuses: of the jobs themselves, whatever their runs do. */
  readonly ownStatuses?: readonly JobStatus[];
  readonly withLastRun?: boolean | undefined;
}

export interface ListedJobs {
  readonly jobs: readonly JobDetails[];
  /** More may follow after this job, even where none was found yet: a read is bounded. Undefined: this is the end. */
  readonly next: JobId | undefined;
}

export interface ListSortedJobsQuery extends JobSelection, Omit<SortedJobQuery, keyof JobFilter> {
  readonly withLastRun?: boolean | undefined;
}

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
type ShownJob = Pick<JobDetails, 'job' | 'status'> & Pick<Job, 'jobId'>;

export async function selectJobs(
  ports: Pick<OperationPorts, 'storage'>,
  { caller, action, query }: { caller: Caller; action: Action; query: ListJobsQuery },
): Promise<{
  jobs: readonly ShownJob[];
  next: JobId | undefined;
}> {
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
  const found = new Map(
    lists.flatMap(({ jobs, shown }) =>
      jobs.map((job) => [job.jobId, { jobId: job.jobId, job, status: shown.get(job.jobId)! }] as const),
    ),
  );
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
async function selectSortedJobs(
  ports: Pick<OperationPorts, 'storage'>,
  caller: Caller,
  query: ListSortedJobsQuery,
): Promise<Part<SortedJob, JobCursor>> {
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
  const rows = merged.slice(0, limit);
  return { rows, next: merged.length > limit ? rows.at(-1)?.cursor : undefined };
}

/** Payloads may be large: with them a list is read part by part. */
export async function listSortedJobs(
  ports: Pick<OperationPorts, 'storage' | 'accounts' | 'clock' | 'slices'>,
  caller: Caller,
  query: ListSortedJobsQuery,
): Promise<ListedSortedJobs> {
  requireMay(caller, 'jobs.read');
  await ports.accounts.namespaces.requireKnown(caller, query.namespace);
  const { rows, next } = query.payloads
    ? await readWithinBytes<SortedJob, JobCursor>({
        limit: query.limit,
        read: (limit, after) =>
          selectSortedJobs(ports, caller, { ...query, limit, ...(after && { after, offset: 0 }) }),
        bytesOf: ({ job }) => job.payload.length,
        cursorOf: ({ cursor }) => cursor,
      })
    : await selectSortedJobs(ports, caller, query);
  const nowMs = ports.clock.now();
  const details = await ports.slices.runAll(rows, (sorted) => ({
    job: jobShownTo(caller, sorted.job),
    status: sorted.shown,
    nextRunMs: shownNextRunMs(sorted, query, nowMs),
    skips: comingSkips(sorted.job, nowMs).slice(0, SKIPS_LISTED_MAX),
  }));
  return { jobs: await withOwners(ports, await withLastRuns(ports, caller, details, query)), next };
}

/** The same in order of creation. */
export async function listJobs(
  ports: Pick<OperationPorts, 'storage' | 'accounts' | 'clock' | 'slices'>,
  caller: Caller,
  query: ListJobsQuery,
): Promise<ListedJobs> {
  const read = async (limit: number, afterJobId: JobId | undefined): Promise<Part<ShownJob, JobId>> => {
    const page = { ...query, limit, ...(afterJobId && { afterJobId, offset: 0 }) };
    const { jobs, next } = await selectJobs(ports, { caller, action: 'jobs.read', query: page });
    return { rows: jobs, next };
  };
  requireMay(caller, 'jobs.read');
  await ports.accounts.namespaces.requireKnown(caller, query.namespace);
  const { rows, next } = query.payloads
    ? await readWithinBytes<ShownJob, JobId>({
        limit: query.limit,
        read,
        bytesOf: ({ job }) => job.payload.length,
        cursorOf: ({ job }) => job.jobId,
      })
    : await read(query.limit, undefined);
  const nowMs = ports.clock.now();
  const details = await ports.slices.runAll(rows, ({ job, status }) => ({
    job: jobShownTo(caller, job),
    status,
    nextRunMs: nextRunMs(job, nowMs),
    skips: comingSkips(job, nowMs).slice(0, SKIPS_LISTED_MAX),
  }));
  return { jobs: await withOwners(ports, await withLastRuns(ports, caller, details, query)), next };
}

/** Whoever sees a job sees whose it is, also those who may not list users. One read for all of them. */
export async function withOwners(
  { accounts }: Pick<OperationPorts, 'accounts'>,
  jobs: readonly JobDetails[],
): Promise<readonly JobDetails[]> {
  const userIds = new Set(jobs.flatMap(({ job }) => job.userId ?? []));
  const names = userIds.size === 0 ? undefined : await accounts.userNames([...userIds]);
  return jobs.map((details) => ({ ...details, owner: { name: names?.get(details.job.userId ?? '') } }));
}

/** One read for all of them, where it is asked for; of jobs whose runs the caller may read. */
async function withLastRuns(
  { storage, clock }: Pick<OperationPorts, 'storage' | 'clock'>,
  caller: Caller,
  jobs: readonly JobDetails[],
  { withLastRun = false }: { readonly withLastRun?: boolean | undefined },
): Promise<readonly JobDetails[]> {
  if (!withLastRun) return jobs;
  const readable = jobs.filter(({ job }) => may(caller, 'runs.read', job)).map(({ job }) => job.jobId);
  const [last, waiting] = await Promise.all([
    storage.runs.lastOfJobs(readable),
    storage.runs.waitingOfJobs(
      jobs.map(({ job }) => job.jobId),
      clock.now(),
    ),
  ]);
  return jobs.map((details) => {
    const run = last.get(details.job.jobId);
    return {
      ...details,
      waiting: waiting.get(details.job.jobId) ?? { waitingRuns: 0, waitsFor: undefined },
      last: { run: run && runsShownTo(caller, details.job, [run])[0] },
    };
  });
}

/** A list sorted by next run shows the instants it is sorted by, but for those that a person has skipped. */
function shownNextRunMs({ job, cursor }: SortedJob, order: JobOrder, nowMs: number): number | undefined {
  if (job.status !== 'SCHEDULED' || order.by !== 'next_run_time') return nextRunMs(job, nowMs);
  if (cursor.key === keyOfNone(order)) return undefined;
  return firstUnskipped(job.schedule, Number(cursor.key), job.skips);
}

/** Computed from the schedule, so that a list needs no read per job. */
export function nextRunMs(job: Job, nowMs: number): number | undefined {
  return job.status === 'SCHEDULED' ? nextUnskipped(job.schedule, nowMs, job.skips) : undefined;
}

/** Of a job that still fires. */
export function comingSkips({ status, skips = [] }: Job, fromMs: number | undefined): readonly SkippedFire[] {
  if (fromMs === undefined || (status !== 'SCHEDULED' && status !== 'PAUSED')) return [];
  return skips.filter(({ atMs }) => atMs >= fromMs);
}

interface Page {
  readonly offset?: number | undefined;
  readonly limit: number;
}

/** skip: how many of the merged jobs come before the page. */
async function readLists<Query extends JobSelection & Page & Pick<ListJobsQuery, 'ownStatuses'>, List>(
  { caller, action, query }: { caller: Caller; action: Action; query: Query },
  read: (page: Query & JobFilter) => Promise<List>,
): Promise<{ lists: List[]; skip: number }> {
  const { offset = 0, limit, statuses, ownStatuses } = query;
  const wanted: Pick<JobFilter, 'status' | 'ownStatus'>[] = statuses?.length
    ? [...new Set(statuses)].map((status) => ({ status }))
    : (ownStatuses ?? [undefined]).map((ownStatus) => ({ ownStatus }));
  const filters = visibleScopes(caller, action, query).flatMap((scope) =>
    wanted.map((status) => ({ ...scope, ...status })),
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
