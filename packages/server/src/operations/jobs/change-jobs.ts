/** Changes jobs: edit, pause, resume, cancel and delete one job, or apply an action to every job of a selection. */
import {
  type Action,
  BULK_JOBS_MAX,
  type BulkAction,
  type Caller,
  CONCURRENCY_MAX,
  isRecurring,
  type Job,
  type JobId,
  type JobPatch,
  type JobSelection,
  type JobStatus,
  Refusal,
  redefineJob,
  requireMay,
} from '@carillon/domain';
import { requestHash } from '@carillon/foundation';
import { auditEntry, jobSubject } from '../../audit/audit-log.ts';
import type { FirstDue } from '../../storage/due.ts';
import type { JobWithPlan } from '../../storage/job-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { announceChange, announceFirst } from '../support/announce.ts';
import { countInParallel } from '../support/in-parallel.ts';
import { jobCancelled, jobNotFound, visibleJob } from '../support/visibility.ts';
import { type ChangeRequest, changeJob } from './apply-change.ts';
import { selectJobs } from './list-jobs.ts';
import { planFirst } from './plan-first.ts';

/** What every change of a job takes. */
export type ChangeOptions = Pick<ChangeRequest, 'ifVersion'>;

export interface BulkRequest {
  readonly action: BulkAction;
  readonly selection: JobSelection;
  readonly dryRun: boolean;
  readonly afterJobId?: JobId | undefined;
}

export interface BulkReport {
  readonly matched: number;
  readonly changed: number;
  /** Could not be changed: they ended meanwhile, or kept changing. */
  readonly refused: number;
  readonly jobIds: readonly JobId[];
  /** More may match after this job: repeat the request with it. Undefined: all are done. */
  readonly next: JobId | undefined;
}

const BULK_PERMISSION: Record<BulkAction, Action> = {
  pause: 'jobs.pause',
  resume: 'jobs.pause',
  cancel: 'jobs.cancel',
};
/** The statuses that the action can change, unless the selection names statuses itself. */
const BULK_STATUSES: Record<BulkAction, readonly JobStatus[]> = {
  pause: ['SCHEDULED'],
  resume: ['PAUSED'],
  cancel: ['SCHEDULED', 'PAUSED'],
};

export function jobChanges(ports: OperationPorts) {
  const { storage, clock } = ports;

  /**
   * A change that leaves the schedule alone keeps the plan; a new schedule is planned strictly after the last fire, and
   * keeps an occurrence that is due but not fired yet. So an edit neither loses nor doubles a fire (hazard 11).
   */
  async function updateJob(
    caller: Caller,
    jobId: JobId,
    patch: JobPatch,
    options: ChangeOptions = {},
  ): Promise<Job> {
    const request = { caller, jobId, action: 'jobs.update', ...options } as const;
    const { job, pending } = await changeJob(ports, request, (read, nowMs) => {
      const { job: current } = read;
      if (current.status === 'CANCELLED') throw jobCancelled(jobId);
      const { definition, scheduleChanged } = redefineJob(current, patch, nowMs);
      const job: Job = { ...current, ...definition };
      if (!scheduleChanged) {
        return requestHash(job) === requestHash(current) ? undefined : { job, pending: { kind: 'keep' } };
      }
      const first = replan(job, { read, nowMs });
      const hasEnded = current.status === 'COMPLETED' || current.status === 'FAILED';
      return { job: hasEnded ? { ...job, status: 'SCHEDULED' } : job, pending: { kind: 'replan', first } };
    });
    if (pending && job.status === 'SCHEDULED') {
      if (pending.kind === 'replan' && pending.first) announceFirst(ports, [{ job, first: pending.first }]);
      announceChange(ports, job, job.updatedAtMs);
    }
    return job;
  }

  /** Waiting runs of a paused job do not start until it is resumed; running ones continue. */
  async function pauseJob(caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<Job> {
    const request = { caller, jobId, action: 'jobs.pause', ...options } as const;
    const { job } = await changeJob(ports, request, ({ job: current }) => {
      if (current.status === 'PAUSED') return undefined;
      requireUnfinished(current);
      return { job: { ...current, status: 'PAUSED' }, pending: { kind: 'hold' } };
    });
    return job;
  }

  /** Occurrences that fell into the pause are skipped, unless the misfire policy catches up (hazard 19). */
  async function resumeJob(caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<Job> {
    const request = { caller, jobId, action: 'jobs.pause', recordedAs: 'jobs.resume', ...options } as const;
    const { job, pending } = await changeJob(ports, request, ({ job: current }) => {
      if (current.status === 'SCHEDULED') return undefined;
      requireUnfinished(current);
      return { job: { ...current, status: 'SCHEDULED' }, pending: { kind: 'release' } };
    });
    if (pending) announceChange(ports, job, job.updatedAtMs);
    return job;
  }

  /**
   * For good: waiting runs end, running ones are asked to stop, and nothing is retried. The signal makes it fast;
   * heartbeats repeat the request until the runs have ended (hazard 18).
   */
  async function cancelJob(caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<Job> {
    const request = { caller, jobId, action: 'jobs.cancel', ...options } as const;
    const { job } = await changeJob(ports, request, ({ job: current }) =>
      current.status === 'CANCELLED'
        ? undefined
        : { job: { ...current, status: 'CANCELLED' }, pending: { kind: 'drop' } },
    );
    // Also when it was cancelled before: a caller may repeat the request because a signal was lost.
    await signalRunningRuns(ports, jobId);
    return job;
  }

  /** Cancels the job, then removes its definition. Its history stays until retention drops it. */
  async function deleteJob(caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<void> {
    const job = await visibleJob(ports, { caller, jobId, action: 'jobs.delete' });
    await cancelJob(caller, jobId, options);
    const change = { action: 'jobs.delete', ...jobSubject(job), before: { name: job.name } };
    if (await storage.jobs.remove(jobId, auditEntry(caller, change, clock.now()))) return;
    if (!(await storage.jobs.get(jobId))) throw jobNotFound(jobId);
    throw new Refusal(
      'job_still_running',
      `Runs of the job ${jobId} were asked to stop and have not ended yet.`,
    );
  }

  const bulkActions = { pause: pauseJob, resume: resumeJob, cancel: cancelJob };

  /** One request changes a bounded number of jobs and answers where to continue; a dry run changes none. */
  async function bulkJobs(caller: Caller, request: BulkRequest): Promise<BulkReport> {
    const { action, selection, dryRun, afterJobId } = request;
    const statuses = selection.statuses?.length ? selection.statuses : BULK_STATUSES[action];
    requireMay(caller, BULK_PERMISSION[action]);
    await ports.accounts.namespaces.requireKnown(caller, selection.namespace);
    const { jobs, next } = await selectJobs(ports, {
      caller,
      action: BULK_PERMISSION[action],
      query: { ...selection, statuses, afterJobId, limit: BULK_JOBS_MAX },
    });
    const jobIds = jobs.map(({ jobId }) => jobId);
    const { done, refused } = await countInParallel(dryRun ? [] : jobIds, (jobId) =>
      bulkActions[action](caller, jobId),
    );
    return { matched: jobs.length, changed: done, refused, jobIds, next };
  }

  return { updateJob, pauseJob, resumeJob, cancelJob, deleteJob, bulkJobs };
}

export function replan(job: Job, { read, nowMs }: { read: JobWithPlan; nowMs: number }): FirstDue {
  const { jobId, schedule } = job;
  const { plannedNominalMs, lastNominalMs } = read;
  const isOverdue =
    isRecurring(read.job.schedule) && plannedNominalMs !== undefined && plannedNominalMs <= nowMs;
  const overdueNominalMs = isOverdue ? plannedNominalMs : undefined;
  const first = planFirst({ jobId, schedule, nowMs, lastNominalMs, overdueNominalMs });
  if (first) return first;
  throw new Refusal(
    'schedule_never_fires',
    'The new schedule has no occurrence after the last one that ran.',
  );
}

function requireUnfinished(job: Job): void {
  if (job.status === 'CANCELLED') throw jobCancelled(job.jobId);
  if (job.status === 'COMPLETED' || job.status === 'FAILED') {
    throw new Refusal('job_already_finished', `The job ${job.jobId} has ended (${job.status}).`);
  }
}

/** Running runs come first in the list, and there are never more of them than one job may have at a time. */
async function signalRunningRuns({ storage, clock, signals }: OperationPorts, jobId: JobId): Promise<void> {
  const runs = await storage.runs.ofJob(jobId, { limit: CONCURRENCY_MAX }, clock.now());
  const runIds = runs
    .filter(({ status }) => status === 'CLAIMED' || status === 'RUNNING')
    .map(({ runId }) => runId);
  if (runIds.length > 0) signals.send('cancel-requested', { runIds });
}
