/** Reads jobs: one job, its status, lists of jobs, and the runs that start next. */
import {
  type Caller,
  EVERYWHERE,
  fireTime,
  type Job,
  type JobId,
  jobShownTo,
  may,
  nextFire,
  requireMay,
  runsShownTo,
  type ShownJobStatus,
  shownStatus,
  type Visible,
  visibleTo,
} from '@carillon/domain';
import { MinHeap } from '@carillon/foundation';
import type { UpcomingFire } from '../../storage/job-store.ts';
import type { JobActivity, RunView } from '../../storage/run-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { requireVisible, visibleJob } from '../support/visibility.ts';
import {
  detailsOfRead,
  type JobDetails,
  type ListedJobs,
  type ListedSortedJobs,
  type ListJobsQuery,
  type ListSortedJobsQuery,
  listJobs,
  listSortedJobs,
  withOwners,
} from './list-jobs.ts';

export interface JobStatusDetails {
  readonly job: Job;
  readonly status: ShownJobStatus;
  readonly waiting: Pick<JobActivity, 'waitingRuns' | 'waitsFor'>;
  readonly lastUpdatedMs: number;
  readonly latestRun: RunView | undefined;
}

export interface UpcomingRun {
  readonly job: UpcomingFire['job'];
  readonly runAtMs: number;
}

export interface ListUpcomingQuery {
  readonly withinMs: number;
  readonly limit: number;
  readonly namespace?: string | undefined;
}

export interface ListedUpcoming {
  readonly runs: readonly UpcomingRun[];
  /** True: so much is due in the window that not all of it could be read for this caller. */
  readonly partial: boolean;
}

export function jobReading(ports: OperationPorts) {
  const { clock, slices, accounts } = ports;
  const { jobs, runs } = ports.storage;

  return {
    /** With the nominal instant of the planned occurrence. */
    async getJob(caller: Caller, jobId: JobId): Promise<JobDetails> {
      // The runs are read first: a job that ends in between is then shown as ended, never as waiting with nothing that waits.
      const activity = await runs.activityOfJob(jobId, clock.now());
      const read = await jobs.getForChange(jobId);
      const job = requireVisible(read?.job, { caller, jobId, action: 'jobs.read' });
      const details = detailsOfRead({ ...read!, job: jobShownTo(caller, job) }, activity);
      return (await withOwners(ports, [details]))[0]!;
    },

    /** A job that an operation has just answered, as getJob shows it; undefined for callers who may not read it. */
    async describeJob(caller: Caller, job: Job): Promise<JobDetails | undefined> {
      if (!may(caller, 'jobs.read', job)) return undefined;
      const activity = await runs.activityOfJob(job.jobId, clock.now());
      const plan = await jobs.getForChange(job.jobId);
      const details = detailsOfRead(
        { lastNominalMs: undefined, plannedNominalMs: plan?.plannedNominalMs, job: jobShownTo(caller, job) },
        activity,
      );
      return (await withOwners(ports, [details]))[0]!;
    },

    async getJobStatus(caller: Caller, jobId: JobId): Promise<JobStatusDetails> {
      // The run is read first: a job that ends in between is then shown as ended, never as pending with an ended run.
      const before = await runs.latestOfJob(jobId, clock.now());
      const activity = await runs.activityOfJob(jobId, clock.now());
      const job = await visibleJob(ports, { caller, jobId, action: 'jobs.read' });
      const status = shownStatus(job.status, activity);
      // A run that ended with its job after it was read is read again: whoever waits for the job stops looking now.
      const isOver = status === 'COMPLETED' || status === 'FAILED';
      const isOutdated = isOver && before !== undefined && before.endedAtMs === undefined;
      const latestRun = isOutdated ? await runs.latestOfJob(jobId, clock.now()) : before;
      const lastUpdatedMs = Math.max(job.updatedAtMs, latestRun?.modifiedAtMs ?? 0);
      const [shownRun] = runsShownTo(caller, job, latestRun ? [latestRun] : []);
      return { job: jobShownTo(caller, job), status, waiting: activity, lastUpdatedMs, latestRun: shownRun };
    },

    listJobs: (caller: Caller, query: ListJobsQuery): Promise<ListedJobs> => listJobs(ports, caller, query),

    listSortedJobs: (caller: Caller, query: ListSortedJobsQuery): Promise<ListedSortedJobs> =>
      listSortedJobs(ports, caller, query),

    /** Waiting runs and every occurrence of recurring schedules within the window, earliest first. */
    async listUpcoming(caller: Caller, query: ListUpcomingQuery): Promise<ListedUpcoming> {
      requireMay(caller, 'jobs.read');
      await accounts.namespaces.requireKnown(caller, query.namespace);
      const fromMs = clock.now();
      const untilMs = fromMs + query.withinMs;
      const { limit, namespace } = query;
      const visible = visibleIn(namespace, visibleTo(caller, 'jobs.read'));
      const { fires, partial } = await jobs.upcoming({ fromMs, untilMs, visible, limit });
      const ahead = await firstOccurrences(fires, { untilMs, limit, slices });
      return { ...ahead, partial: partial || ahead.partial };
    },
  };
}

/** Narrowed before it is read: the nearest starts of other namespaces would fill the limit. */
function visibleIn(
  namespace: string | undefined,
  visible: readonly Visible[] | undefined,
): readonly Visible[] | undefined {
  if (namespace === undefined) return visible;
  if (visible === undefined) return [{ namespace, userId: undefined }];
  return visible.flatMap((one) =>
    one.namespace === EVERYWHERE || one.namespace === namespace ? { ...one, namespace } : [],
  );
}

/**
 * The first of all occurrences. Whatever belongs to them comes from a cursor that itself is among the first, so none is missing; and
 * a schedule is asked for its next occurrence only once the one before was taken: one question for each that is answered. What a
 * person has skipped is left out; where others were cut off by the limit instead, the list ends with the last that was read.
 */
async function firstOccurrences(
  fires: readonly UpcomingFire[],
  { untilMs, limit, slices }: { untilMs: number; limit: number } & Pick<OperationPorts, 'slices'>,
): Promise<ListedUpcoming> {
  interface Ahead extends UpcomingFire {
    /** In the order that they were read in, where instants are equal. */
    readonly rank: number;
  }
  const ahead = new MinHeap<Ahead>((a, b) => a.fireAtMs - b.fireAtMs || a.rank - b.rank);
  for (const [rank, fire] of fires.entries()) ahead.push({ ...fire, rank });
  const found: UpcomingRun[] = [];
  const readToMs = fires.length < limit ? Number.POSITIVE_INFINITY : (fires.at(-1)?.fireAtMs ?? 0);
  let partial = false;
  while (found.length < limit) {
    const first = ahead.pop();
    if (first === undefined) break;
    const isSkipped = first.cursor?.skips?.some(({ atMs }) => atMs === first.cursor!.nominalAtMs) === true;
    partial ||= isSkipped && readToMs < untilMs;
    if (partial && first.fireAtMs > readToMs) break;
    if (!isSkipped) found.push({ job: first.job, runAtMs: first.fireAtMs });
    const next = found.length < limit && (await slices.run(() => occurrenceAfter(first)));
    if (next && next.fireAtMs <= untilMs) ahead.push({ ...next, rank: first.rank });
  }
  return { runs: found, partial: partial && found.length < limit };
}

function occurrenceAfter({ job, cursor }: UpcomingFire): UpcomingFire | undefined {
  if (!cursor) return undefined;
  const { schedule, skips } = cursor;
  const nominalAtMs = nextFire(schedule, cursor.nominalAtMs);
  if (nominalAtMs === undefined) return undefined;
  const fireAtMs = fireTime({ schedule, jobId: job.jobId, nominalMs: nominalAtMs });
  return { job, fireAtMs, cursor: { schedule, nominalAtMs, skips } };
}
