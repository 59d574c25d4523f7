/** What people look up among jobs in memory: lists, and what fires next. */
import {
  compareJobPlaces,
  type Job,
  type JobPlace,
  keyOfNone,
  PRIORITIES,
  type Visible,
} from '@carillon/domain';
import {
  type JobFilter,
  type JobList,
  type JobQuery,
  LOOKED_THROUGH_MAX,
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
    .filter((job) => job.jobId !== afterJobId && matches(job, query))
    .sort((a, b) => (a.jobId < b.jobId ? -sign : sign))
    .slice(offset, offset + limit);
  return { jobs: found, stoppedAt: undefined };
}

export function sortJobs(state: MemoryState, query: SortedJobQuery): readonly SortedJob[] | 'too_many' {
  const { after, offset = 0, limit, userId, namespace, labels, status } = query;
  const narrowed = shownJobs(state).filter((job) =>
    matches(job, {
      ...(userId !== undefined && { userId }),
      ...(namespace !== undefined && { namespace }),
      ...(labels !== undefined && { labels }),
      ...(status !== undefined && { status }),
    }),
  );
  if (narrowed.length > LOOKED_THROUGH_MAX) return 'too_many';
  return narrowed
    .filter((job) => matches(job, query))
    .map((job) => ({ job, place: { key: keyOf(state, job, query), jobId: job.jobId } }))
    .filter(({ place }) => after === undefined || compareJobPlaces(after, place, query) < 0)
    .sort((a, b) => compareJobPlaces(a.place, b.place, query))
    .slice(offset, offset + limit);
}

function shownJobs(state: MemoryState): Job[] {
  return [...state.jobs.values()].map((job) => shownJob(state, job));
}

function keyOf({ cursors, due }: MemoryState, job: Job, query: SortedJobQuery): JobPlace['key'] {
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

function matches(job: Job, filter: JobFilter): boolean {
  const { status, scheduleTypes, priority, userId, namespace, handler, labels, text } = filter;
  const { createdFromMs = 0, createdToMs = Number.POSITIVE_INFINITY } = filter;
  return (
    (status === undefined || job.status === status) &&
    (scheduleTypes === undefined || scheduleTypes.includes(job.schedule.type)) &&
    (priority === undefined || job.priority === priority) &&
    (userId === undefined || job.userId === userId) &&
    (namespace === undefined || job.namespace === namespace) &&
    (handler === undefined || job.handler === handler) &&
    (labels === undefined || Object.entries(labels).every(([name, value]) => job.labels[name] === value)) &&
    (text === undefined || job.name.toLowerCase().includes(text.toLowerCase())) &&
    job.createdAtMs >= createdFromMs &&
    job.createdAtMs < createdToMs
  );
}

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
      cursor: cursor && { schedule: cursor.schedule, nominalAtMs: cursor.nominalAtMs },
    }));
}

export function isVisible(
  job: Pick<Job, 'namespace' | 'userId'>,
  visible: readonly Visible[] | undefined,
): boolean {
  return (
    visible === undefined ||
    visible.some(
      (place) =>
        (place.namespace === '*' || place.namespace === job.namespace) &&
        (place.userId === undefined || place.userId === job.userId),
    )
  );
}
