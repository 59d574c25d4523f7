/** What people look up among jobs in memory: lists, and what fires next. */
import {
  compareJobCursors,
  type Job,
  type JobCursor,
  keyOfNone,
  PRIORITIES,
  type ShownJobStatus,
  shownStatus,
  type Visible,
} from '@carillon/domain';
import {
  type JobFilter,
  type JobList,
  type JobQuery,
  NO_PAYLOAD,
  ROWS_SCANNED_MAX,
  type SortedJob,
  type SortedJobQuery,
  type UpcomingFire,
  type UpcomingQuery,
} from '../job-store.ts';
import { isUnstarted } from './due-record.ts';
import type { MemoryState } from './memory-state.ts';
import { shownJob } from './run-views.ts';

/** Ids grow with creation (UUID version 7), so the order of ids is that of creation. */
export function findJobs(state: MemoryState, query: JobQuery): JobList {
  const { order = 'newest', afterJobId, offset = 0, limit } = query;
  const sign = order === 'newest' ? -1 : 1;
  const found = shownJobs(state)
    .filter((job) => afterJobId === undefined || (job.jobId > afterJobId ? sign > 0 : sign < 0))
    .filter((job) => job.jobId !== afterJobId && matches({ state, job }, query))
    .sort((a, b) => (a.jobId < b.jobId ? -sign : sign))
    .slice(offset, offset + limit)
    .map((job) => listed(job, query));
  const shown = new Map(found.map((job) => [job.jobId, statusShown(state, job)]));
  return { jobs: found, shown, stoppedAt: undefined };
}

function statusShown({ due, leases }: MemoryState, { jobId, status }: Job): ShownJobStatus {
  const isRunning = leases.ofJob(jobId).length > 0;
  return shownStatus(status, { isRunning, isWaiting: due.ofJob(jobId).length > 0 });
}

export function sortJobs(state: MemoryState, query: SortedJobQuery): readonly SortedJob[] | 'too_many' {
  const {
    after,
    offset = 0,
    limit,
    userId,
    namespace,
    labels,
    status,
    ownStatus,
    jobKey,
    jobKeyPrefix,
  } = query;
  const narrowing = { userId, namespace, labels, status, ownStatus, jobKey, jobKeyPrefix };
  const narrowed = shownJobs(state).filter((job) => matches({ state, job }, narrowing));
  if (narrowed.length > ROWS_SCANNED_MAX) return 'too_many';
  return narrowed
    .filter((job) => matches({ state, job }, query))
    .map((job) => ({
      job,
      shown: statusShown(state, job),
      cursor: { key: keyOf(state, job, query), jobId: job.jobId },
    }))
    .filter(({ cursor }) => after === undefined || compareJobCursors(after, cursor, query) < 0)
    .sort((a, b) => compareJobCursors(a.cursor, b.cursor, query))
    .slice(offset, offset + limit)
    .map(({ job, ...rest }) => ({ job: listed(job, query), ...rest }));
}

function listed(job: Job, { payloads = true }: Pick<JobQuery, 'payloads'>): Job {
  return payloads ? job : { ...job, payload: NO_PAYLOAD };
}

function shownJobs(state: MemoryState): Job[] {
  return [...state.jobs.values()].map((job) => shownJob(state, job));
}

function keyOf({ cursors, due }: MemoryState, job: Job, query: SortedJobQuery): JobCursor['key'] {
  switch (query.by) {
    case 'name':
      return job.name.toLowerCase();
    case 'priority':
      return PRIORITIES.indexOf(job.priority);
    case 'updated_at':
      return job.updatedAtMs;
    case 'next_run_time': {
      const plan = cursors.get(job.jobId) ?? due.ofJob(job.jobId).find(isUnstarted);
      return plan && !plan.held ? plan.nominalAtMs : keyOfNone(query);
    }
  }
}

/** What each filter means; everything given must hold. */
export function matcher<Subject, Filter extends object>(
  means: {
    readonly [Name in keyof Filter]-?: (subject: Subject, wanted: NonNullable<Filter[Name]>) => boolean;
  },
): (subject: Subject, filter: Filter) => boolean {
  const entries = Object.entries(means) as [keyof Filter, (subject: Subject, wanted: unknown) => boolean][];
  return (subject, filter) =>
    entries.every(([name, holds]) => filter[name] === undefined || holds(subject, filter[name]));
}

const matches = matcher<{ state: MemoryState; job: Job }, JobFilter>({
  status: ({ state, job }, status) => statusShown(state, job) === status,
  ownStatus: ({ job }, status) => job.status === status,
  scheduleTypes: ({ job }, types) => types.includes(job.schedule.type),
  priority: ({ job }, priority) => job.priority === priority,
  userId: ({ job }, userId) => job.userId === userId,
  namespace: ({ job }, namespace) => job.namespace === namespace,
  handler: ({ job }, handler) => job.handler === handler,
  labels: ({ job }, labels) => Object.entries(labels).every(([name, value]) => job.labels[name] === value),
  text: ({ job }, text) => job.name.toLowerCase().includes(text.toLowerCase()),
  jobName: ({ job }, name) => job.name === name,
  jobKey: ({ job }, key) => job.key === key,
  jobKeyPrefix: ({ job }, prefix) => job.key?.startsWith(prefix) === true,
  createdFromMs: ({ job }, fromMs) => job.createdAtMs >= fromMs,
  createdToMs: ({ job }, toMs) => job.createdAtMs < toMs,
});

export function findUpcoming(
  { cursors, due, jobs }: MemoryState,
  { fromMs, untilMs, visible, limit }: UpcomingQuery,
): UpcomingFire[] {
  const planned = [...cursors.values()].map((cursor) => ({
    row: cursor,
    id: cursor.jobId as string,
    cursor,
  }));
  const waiting = [...due.all()]
    .filter(({ state }) => state !== 'waiting')
    .map((run) => ({ row: run, id: run.runId as string, cursor: undefined }));
  return [...planned, ...waiting]
    .filter(({ row }) => !row.held && row.fireAtMs > fromMs && row.fireAtMs <= untilMs)
    .map((entry) => ({ ...entry, job: jobs.get(entry.row.jobId)! }))
    .filter(({ job }) => isVisible(job, visible))
    .sort((a, b) => a.row.fireAtMs - b.row.fireAtMs || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
    .map(({ row, cursor, job: { jobId, name, namespace, userId, handler, priority } }) => ({
      job: { jobId, name, namespace, userId, handler, priority },
      fireAtMs: row.fireAtMs,
      cursor: cursor && {
        schedule: cursor.schedule,
        nominalAtMs: cursor.nominalAtMs,
        skips: cursor.skips,
      },
    }));
}

export function isVisible(
  job: Pick<Job, 'namespace' | 'userId'>,
  visible: readonly Visible[] | undefined,
): boolean {
  return (
    visible === undefined ||
    visible.some(
      (cursor) =>
        (cursor.namespace === '*' || cursor.namespace === job.namespace) &&
        (cursor.userId === undefined || cursor.userId === job.userId),
    )
  );
}
