/** Changes jobs: edit, pause, resume, cancel and delete one job, or apply an action to every job of a selection. */
import {
  type Action,
  actorOf,
  actorText,
  addSkip,
  BULK_JOBS_MAX,
  type BulkAction,
  type Caller,
  CONCURRENCY_MAX,
  isFinal,
  isRecurring,
  type Job,
  type JobId,
  type JobPatch,
  type JobSelection,
  type JobStatus,
  Refusal,
  redefineJob,
  removeSkip,
  requireMay,
  type SkipRequest,
  sameDefinition,
  skipsAhead,
} from '@carillon/domain';
import { auditEntry, jobSubject } from '../../audit/audit-log.ts';
import type { FirstDue } from '../../storage/due.ts';
import type { JobWithPlan } from '../../storage/job-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { announceChange, announceFirst } from '../support/announce.ts';
import { type BulkLanes, type Charge, mapInParallel, orRefused } from '../support/in-parallel.ts';
import { jobCancelled, jobNotFound, requireVisible, visibleJob } from '../support/visibility.ts';
import { type ChangeRequest, changeJob } from './apply-change.ts';
import { selectJobs } from './list-jobs.ts';
import { planFirst } from './plan-first.ts';

/** What every change of a job takes. */
export type ChangeOptions = Pick<ChangeRequest, 'ifVersion'>;

/** The job after a change, and whether the request changed anything. */
export interface ChangedJob extends Job {
  readonly changed: boolean;
}

export interface BulkRequest {
  readonly action: BulkAction;
  /** Which jobs: those of a selection, or these. */
  readonly of:
    | { readonly selection: JobSelection; readonly afterJobId?: JobId | undefined }
    | { readonly jobIds: readonly JobId[] };
  readonly dryRun: boolean;
  readonly charge?: Charge;
}

export interface BulkResult {
  readonly jobId: JobId;
  /** unchanged: it already was as requested. */
  readonly outcome: 'changed' | 'unchanged' | 'refused';
  readonly error?: Refusal;
}

export interface BulkReport {
  readonly matched: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Could not be changed: they have ended, or kept changing. */
  readonly refused: number;
  readonly jobIds: readonly JobId[];
  /** One for each job that was to be changed; in a dry run, only those that cannot be. */
  readonly results: readonly BulkResult[];
  /** More may match after this job: repeat the request with it. Undefined: all are done. */
  readonly next: JobId | undefined;
}

const BULK_PERMISSION: Record<BulkAction, Action> = {
  pause: 'jobs.pause',
  resume: 'jobs.pause',
  cancel: 'jobs.cancel',
};
/** The statuses of the job itself that the action can change, unless the selection names statuses. */
const BULK_STATUSES: Record<BulkAction, readonly JobStatus[]> = {
  pause: ['SCHEDULED'],
  resume: ['PAUSED'],
  cancel: ['SCHEDULED', 'PAUSED'],
};

export function jobChanges(ports: OperationPorts, lanes: BulkLanes) {
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
  ): Promise<ChangedJob> {
    const request = { caller, jobId, action: 'jobs.update', ...options } as const;
    const { job, pending } = await changeJob(ports, request, (read, nowMs) => {
      const { job: current } = read;
      if (current.status === 'CANCELLED') throw jobCancelled(jobId);
      const { definition, scheduleChanged } = redefineJob(current, patch, nowMs);
      const job: Job = { ...current, ...definition };
      if (!scheduleChanged) {
        return sameDefinition(job, current) ? undefined : { job, pending: { kind: 'keep' } };
      }
      const { first, skips } = replan(job, { read, nowMs });
      return {
        job: { ...job, skips, status: hasEnded(current) ? 'SCHEDULED' : job.status },
        pending: { kind: 'replan', first },
      };
    });
    if (pending && job.status === 'SCHEDULED') {
      if (pending.kind === 'replan' && pending.first) announceFirst(ports, [{ job, first: pending.first }]);
      announceChange(ports, job, job.updatedAtMs);
    }
    return { ...job, changed: pending !== undefined };
  }

  /** Waiting runs of a paused job do not start until it is resumed; running ones continue. */
  async function pauseJob(caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<ChangedJob> {
    const request = { caller, jobId, action: 'jobs.pause', ...options } as const;
    const { job, pending } = await changeJob(ports, request, ({ job: current }) => {
      if (current.status === 'PAUSED') return undefined;
      requireUnfinished(current);
      return { job: { ...current, status: 'PAUSED' }, pending: { kind: 'hold' } };
    });
    return { ...job, changed: pending !== undefined };
  }

  /** Occurrences that fell into the pause are skipped, unless the misfire policy catches up (hazard 19). */
  async function resumeJob(caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<ChangedJob> {
    const request = { caller, jobId, action: 'jobs.pause', recordedAs: 'jobs.resume', ...options } as const;
    const { job, pending } = await changeJob(ports, request, ({ job: current }) => {
      if (current.status === 'SCHEDULED') return undefined;
      requireUnfinished(current);
      return { job: { ...current, status: 'SCHEDULED' }, pending: { kind: 'release' } };
    });
    if (pending) announceChange(ports, job, job.updatedAtMs);
    return { ...job, changed: pending !== undefined };
  }

  /** The schedule goes on after it. The scheduler records it at its instant; until then it can be taken back. */
  async function skipFire(
    caller: Caller,
    jobId: JobId,
    { atMs, ...options }: ChangeOptions & { readonly atMs: number },
  ): Promise<ChangedJob> {
    const by = actorText(actorOf(caller));
    return changeSkips({ caller, jobId, recordedAs: 'jobs.skip', ...options }, (request) =>
      addSkip({ ...request, atMs, by }),
    );
  }

  async function unskipFire(
    caller: Caller,
    jobId: JobId,
    { atMs, ...options }: ChangeOptions & { readonly atMs: number },
  ): Promise<ChangedJob> {
    return changeSkips({ caller, jobId, recordedAs: 'jobs.unskip', ...options }, (request) =>
      removeSkip({ ...request, atMs }),
    );
  }

  /** A cursor that was read before carries an older version of the job and cannot fire: nothing skipped starts, and nothing is lost. */
  async function changeSkips(
    request: Omit<ChangeRequest, 'action'>,
    change: (request: Omit<SkipRequest, 'atMs'>) => Job['skips'],
  ): Promise<ChangedJob> {
    const { job, pending } = await changeJob(
      ports,
      { ...request, action: 'jobs.pause' },
      ({ job: current, plannedNominalMs }, nowMs) => {
        requireUnfinished(current);
        const { jobId, schedule, skips: before } = current;
        const skips = change({ jobId, schedule, skips: before, nowMs, plannedMs: plannedNominalMs });
        if (skips === undefined) return undefined;
        const kept = skips.length === 0 ? undefined : skips;
        return { job: { ...current, skips: kept }, pending: { kind: 'keep' } };
      },
    );
    if (pending) announceChange(ports, job, job.updatedAtMs);
    return { ...job, changed: pending !== undefined };
  }

  /**
   * For good: waiting runs end, running ones are asked to stop, and nothing is retried. The signal makes it fast;
   * heartbeats repeat the request until the runs have ended (hazard 18). A job that is over is refused.
   */
  async function cancelJob(caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<ChangedJob> {
    return stopJob({ caller, jobId, action: 'jobs.cancel', ...options }, requireUnfinished);
  }

  async function stopJob(request: ChangeRequest, whenOver: (job: Job) => void): Promise<ChangedJob> {
    const { jobId } = request;
    const { job, pending } = await changeJob(ports, request, async ({ job: current }) => {
      if (current.status === 'CANCELLED') return undefined;
      if (hasEnded(current)) {
        // Read after the job: what is found here was added by a person, and is still to be stopped.
        const { isRunning, isWaiting } = await storage.runs.activityOfJob(jobId, clock.now());
        if (!isRunning && !isWaiting) return whenOver(current) as undefined;
      }
      return { job: { ...current, status: 'CANCELLED' }, pending: { kind: 'drop' } };
    });
    // Also when it was cancelled before: a caller may repeat the request because a signal was lost.
    await signalRunningRuns(ports, jobId);
    return { ...job, changed: pending !== undefined };
  }

  /** Cancels the job, then removes its definition. Its history stays until retention drops it. */
  async function deleteJob(caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<void> {
    const job = await visibleJob(ports, { caller, jobId, action: 'jobs.delete' });
    await stopJob({ caller, jobId, action: 'jobs.cancel', ...options }, () => {});
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
    const { action, of, dryRun, charge = () => undefined } = request;
    const permission = BULK_PERMISSION[action];
    requireMay(caller, permission);
    const named = 'jobIds' in of ? [...new Set(of.jobIds)] : undefined;
    if (named) charge(named.length);
    const { jobIds, next } =
      'jobIds' in of ? { jobIds: named!, next: undefined } : await selectedBy(caller, { action, ...of });
    if (!named) charge(jobIds.length);
    // One read: what is not there, or not the caller's, costs nothing more.
    const owners = named && (await storage.jobs.owners(named));
    const attempt = async (jobId: JobId): Promise<BulkResult> => {
      if (owners) requireVisible(owners.get(jobId), { caller, jobId, action: permission });
      const changed = !dryRun && (await lanes.run(() => bulkActions[action](caller, jobId))).changed;
      return { jobId, outcome: changed ? 'changed' : 'unchanged' };
    };
    const outcomeOf = (jobId: JobId) =>
      orRefused<BulkResult>(
        () => attempt(jobId),
        (error) => ({ jobId, outcome: 'refused', error }),
      );
    const isSelected = !('jobIds' in of);
    const results = dryRun && isSelected ? [] : await mapInParallel(jobIds, outcomeOf);
    const count = (outcome: BulkResult['outcome']) => results.filter((one) => one.outcome === outcome).length;
    const unknown = results.filter(({ error }) => error?.code === 'job_not_found').length;
    return {
      matched: jobIds.length - unknown,
      changed: count('changed'),
      unchanged: dryRun ? 0 : count('unchanged'),
      refused: count('refused'),
      jobIds,
      results: dryRun ? results.filter(({ outcome }) => outcome === 'refused') : results,
      next,
    };
  }

  async function selectedBy(
    caller: Caller,
    {
      action,
      selection,
      afterJobId,
    }: { action: BulkAction } & Extract<BulkRequest['of'], { selection: object }>,
  ): Promise<Pick<BulkReport, 'jobIds' | 'next'>> {
    await ports.accounts.namespaces.requireKnown(caller, selection.namespace);
    const { jobs, next } = await selectJobs(ports, {
      caller,
      action: BULK_PERMISSION[action],
      query: { ...selection, ownStatuses: BULK_STATUSES[action], afterJobId, limit: BULK_JOBS_MAX },
    });
    return { jobIds: jobs.map(({ jobId }) => jobId), next };
  }

  return { updateJob, pauseJob, resumeJob, skipFire, unskipFire, cancelJob, deleteJob, bulkJobs };
}

/** What the new schedule begins with, and what of it stays skipped. */
export function replan(
  job: Job,
  { read, nowMs }: { read: JobWithPlan; nowMs: number },
): { first: FirstDue; skips: Job['skips'] } {
  const { jobId, schedule } = job;
  const { plannedNominalMs, lastNominalMs } = read;
  const isOverdue =
    isRecurring(read.job.schedule) && plannedNominalMs !== undefined && plannedNominalMs <= nowMs;
  const overdueNominalMs = isOverdue ? plannedNominalMs : undefined;
  const first = planFirst({ jobId, schedule, nowMs, lastNominalMs, overdueNominalMs });
  if (first) {
    const { nominalAtMs } = first.kind === 'cursor' ? first.cursor : first.run;
    return { first, skips: skipsAhead(schedule, read.job.skips, nominalAtMs) };
  }
  throw new Refusal(
    'schedule_never_fires',
    'The new schedule has no occurrence after the last one that ran.',
  );
}

function hasEnded({ status }: Job): boolean {
  return status === 'COMPLETED' || status === 'FAILED';
}

function requireUnfinished(job: Job): void {
  if (job.status === 'CANCELLED') throw jobCancelled(job.jobId);
  if (hasEnded(job)) {
    throw new Refusal('job_already_finished', `The job ${job.jobId} has ended (${job.status}).`);
  }
}

/** Running runs come first in the list, and there are never more of them than one job may have at a time. */
async function signalRunningRuns({ storage, clock, signals }: OperationPorts, jobId: JobId): Promise<void> {
  const runs = await storage.runs.ofJob(jobId, { limit: CONCURRENCY_MAX }, clock.now());
  const runIds = runs
    .filter(({ status }) => status !== 'QUEUED' && !isFinal(status))
    .map(({ runId }) => runId);
  if (runIds.length > 0) signals.send('cancel-requested', { runIds });
}
