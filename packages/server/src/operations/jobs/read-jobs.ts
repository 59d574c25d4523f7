/** Reads jobs: one job, its status, lists of jobs, and the runs that start next. */
import {
  type Caller,
  fireTime,
  type Job,
  type JobId,
  jobShownTo,
  nextFire,
  requireMay,
  runsShownTo,
  visibleTo,
} from '@carillon/domain';
import type { UpcomingFire } from '../../storage/job-store.ts';
import type { RunView } from '../../storage/run-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { requireVisible, visibleJob } from '../support/visibility.ts';
import {
  type JobDetails,
  type ListedJobs,
  type ListedSortedJobs,
  type ListJobsQuery,
  type ListSortedJobsQuery,
  listSortedJobs,
  nextRunMs,
  selectJobs,
} from './list-jobs.ts';

export type JobState = 'pending' | 'running' | 'completed' | 'failed' | 'paused' | 'cancelled';

export interface JobStatusDetails {
  readonly job: Job;
  readonly state: JobState;
  readonly lastUpdatedMs: number;
  readonly latestRun: RunView | undefined;
}

export interface UpcomingRun {
  readonly job: UpcomingFire['job'];
  readonly runAtMs: number;
}

export interface ListedUpcoming {
  readonly runs: readonly UpcomingRun[];
  /** True: so much is due in the window that not all of it could be read for this caller. */
  readonly partial: boolean;
}

export function jobReading(ports: OperationPorts) {
  const { clock, slices } = ports;
  const { jobs, runs } = ports.storage;

  return {
    /** With the nominal instant of the planned occurrence. */
    async getJob(caller: Caller, jobId: JobId): Promise<JobDetails> {
      const read = await jobs.getForChange(jobId);
      const job = requireVisible(read?.job, { caller, jobId, action: 'jobs.read' });
      const shown = jobShownTo(caller, job);
      return { job: shown, nextRunMs: job.status === 'SCHEDULED' ? read?.plannedNominalMs : undefined };
    },

    async getJobStatus(caller: Caller, jobId: JobId): Promise<JobStatusDetails> {
      // The run is read first: a job that ends in between is then shown as ended, never as pending with an ended run.
      const latestRun = await runs.latestOfJob(jobId, clock.now());
      const job = await visibleJob(ports, { caller, jobId, action: 'jobs.read' });
      const lastUpdatedMs = Math.max(job.updatedAtMs, latestRun?.modifiedAtMs ?? 0);
      const [shownRun] = runsShownTo(caller, job, latestRun ? [latestRun] : []);
      return {
        job: jobShownTo(caller, job),
        state: jobStateOf(job, latestRun),
        lastUpdatedMs,
        latestRun: shownRun,
      };
    },

    async listJobs(caller: Caller, query: ListJobsQuery): Promise<ListedJobs> {
      const { jobs, next } = await selectJobs(ports, { caller, action: 'jobs.read', query });
      const nowMs = clock.now();
      return {
        jobs: jobs.map((job) => ({ job: jobShownTo(caller, job), nextRunMs: nextRunMs(job, nowMs) })),
        next,
      };
    },

    listSortedJobs: (caller: Caller, query: ListSortedJobsQuery): Promise<ListedSortedJobs> =>
      listSortedJobs(ports, caller, query),

    /** Waiting runs and every occurrence of recurring schedules within the window, earliest first. */
    async listUpcoming(caller: Caller, query: { withinMs: number; limit: number }): Promise<ListedUpcoming> {
      requireMay(caller, 'jobs.read');
      const fromMs = clock.now();
      const untilMs = fromMs + query.withinMs;
      const { limit } = query;
      const visible = visibleTo(caller, 'jobs.read');
      const { fires, partial } = await jobs.upcoming({ fromMs, untilMs, visible, limit });
      // Whatever belongs to the first `limit` comes from a cursor that itself is among the first: none is missing here.
      const upcoming: UpcomingRun[] = [];
      for (const fire of fires) {
        upcoming.push(...(await slices.run(() => occurrences(fire, { untilMs, limit }))));
      }
      upcoming.sort((a, b) => a.runAtMs - b.runAtMs);
      return { runs: upcoming.slice(0, limit), partial };
    },
  };
}

/**
 * Paused and cancelled were requested by a person and come first; otherwise a run that is alive or waits outweighs the
 * past: a finished job that is run again is not finished.
 */
function jobStateOf(job: Pick<Job, 'status'>, latestRun: Pick<RunView, 'status'> | undefined): JobState {
  if (job.status === 'CANCELLED') return 'cancelled';
  if (job.status === 'PAUSED') return 'paused';
  if (latestRun?.status === 'RUNNING' || latestRun?.status === 'CLAIMED') return 'running';
  if (latestRun?.status === 'QUEUED') return 'pending';
  if (job.status === 'COMPLETED') return 'completed';
  return job.status === 'FAILED' ? 'failed' : 'pending';
}

function occurrences(
  { job, fireAtMs, cursor }: UpcomingFire,
  { untilMs, limit }: { untilMs: number; limit: number },
): UpcomingRun[] {
  const found = [{ job, runAtMs: fireAtMs }];
  if (!cursor) return found;
  let nominalMs = nextFire(cursor.schedule, cursor.nominalAtMs);
  while (nominalMs !== undefined && nominalMs <= untilMs && found.length < limit) {
    const runAtMs = fireTime({ schedule: cursor.schedule, jobId: job.jobId, nominalMs });
    if (runAtMs <= untilMs) found.push({ job, runAtMs });
    nominalMs = nextFire(cursor.schedule, nominalMs);
  }
  return found;
}
