/**
 * Jobs by the key that their caller chose. Applying a definition creates the job under its key or replaces what it was: the same
 * definition again changes nothing, and of callers who do so at the same moment all end up with one job.
 */
import {
  type Caller,
  homeOf,
  isNamespaceName,
  type Job,
  type JobId,
  type JobInput,
  jobShownTo,
  Refusal,
  replaceJob,
  requireMay,
  sameDefinition,
  sees,
  shownStatus,
} from '@carillon/domain';
import type { JobWithPlan } from '../../storage/job-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { announceChange, announceFirst } from '../support/announce.ts';
import { jobKeyTaken } from '../support/visibility.ts';
import { changeJob, type Decision } from './apply-change.ts';
import { replan } from './change-jobs.ts';
import { createdJob, prepareJob } from './create-jobs.ts';
import { comingSkips, detailsOfRead, type JobDetails, nextRunMs, withOwners } from './list-jobs.ts';

export interface JobKey {
  /** Undefined: where jobs of the caller are made. */
  readonly namespace?: string | undefined;
  readonly key: string;
}

export interface ApplyRequest extends JobKey {
  readonly input: JobInput;
  /** Says what would become of it, and changes nothing. */
  readonly dryRun?: boolean | undefined;
}

export interface AppliedJob extends JobDetails {
  readonly outcome: 'created' | 'updated' | 'unchanged';
  /** Undefined: it is new. */
  readonly before: Job | undefined;
}

type Applied = Pick<AppliedJob, 'outcome' | 'before' | 'job'>;

/** A job under the key comes or goes between two looks: rarely once, not five times in a row. */
const TRIES_MAX = 5;

export function jobsByKey(ports: OperationPorts) {
  const { storage, clock, ingest } = ports;

  /** What is no name of a namespace is not looked for: it is refused with the definition. */
  async function holderOf(namespace: string, key: string): Promise<JobId | undefined> {
    return isNamespaceName(namespace) ? storage.jobs.findKey(namespace, key) : undefined;
  }

  async function getJobByKey(
    caller: Caller,
    { namespace = homeOf(caller), key }: JobKey,
  ): Promise<JobDetails> {
    const jobId = await holderOf(namespace, key);
    const read = jobId && (await storage.jobs.getForChange(jobId));
    if (!read || !sees(caller, read.job)) throw keyNotFound({ namespace, key });
    requireMay(caller, 'jobs.read', read.job);
    const activity = await storage.runs.activityOfJob(read.job.jobId, clock.now());
    const details = detailsOfRead({ ...read, job: jobShownTo(caller, read.job) }, activity);
    return (await withOwners(ports, [details]))[0]!;
  }

  async function applyJob(caller: Caller, request: ApplyRequest): Promise<AppliedJob> {
    const { namespace = homeOf(caller), key } = request;
    const input = { ...request.input, namespace, key };
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const applied =
        (await replaceExisting(caller, { ...request, namespace, input })) ??
        (await createNew(caller, { ...request, namespace, input }));
      if (applied) {
        const { outcome, before } = applied;
        const details = await detailsOfApplied(applied);
        const shown = { before: before && jobShownTo(caller, before), job: jobShownTo(caller, details.job) };
        return { ...details, ...shown, outcome };
      }
    }
    throw new Refusal('job_changed', `The job with the key ${key} kept changing while it was applied.`);
  }

  async function detailsOfApplied({ outcome, job }: Applied): Promise<JobDetails> {
    const nowMs = clock.now();
    const next = nextRunMs(job, nowMs);
    const skips = comingSkips(job, nowMs);
    if (outcome === 'created') return { job, status: job.status, nextRunMs: next, skips };
    const activity = await storage.runs.activityOfJob(job.jobId, nowMs);
    return { job, status: shownStatus(job.status, activity), nextRunMs: next, skips, waiting: activity };
  }

  /** Undefined: no job has the key. */
  async function replaceExisting(
    caller: Caller,
    { namespace = '', key, input, dryRun = false }: ApplyRequest,
  ): Promise<Applied | undefined> {
    const jobId = await holderOf(namespace, key);
    const found = jobId && (await storage.jobs.get(jobId));
    if (!found) return undefined;
    if (!sees(caller, found)) {
      // Whoever may not create a job here learns no more than that.
      await prepareJob(ports, caller, input);
      throw await jobKeyTaken(ports, { caller, job: { namespace, key } });
    }
    let before: Job = found;
    try {
      const request = { caller, jobId: found.jobId, action: 'jobs.update', dryRun } as const;
      const { job, pending } = await changeJob(ports, request, (read, nowMs) => {
        before = read.job;
        return replacement(read, input, nowMs);
      });
      if (!pending) return { outcome: 'unchanged', before, job };
      if (!dryRun && job.status === 'SCHEDULED') {
        if (pending.kind === 'replan' && pending.first) announceFirst(ports, [{ job, first: pending.first }]);
        announceChange(ports, job, job.updatedAtMs);
      }
      return { outcome: 'updated', before, job };
    } catch (error) {
      // It was removed meanwhile.
      if (error instanceof Refusal && error.code === 'job_not_found') return undefined;
      throw error;
    }
  }

  /** Undefined: a job that has the key was made meanwhile. */
  async function createNew(
    caller: Caller,
    { input, dryRun = false }: ApplyRequest,
  ): Promise<Applied | undefined> {
    const newJob = await prepareJob(ports, caller, input);
    const created = { outcome: 'created', before: undefined, job: newJob.job } as const;
    if (dryRun) return created;
    const inserted = await ingest.accept(newJob);
    if (inserted.kind === 'key_taken') return undefined;
    createdJob(ports, newJob, inserted);
    announceFirst(ports, [newJob]);
    return created;
  }

  return { getJobByKey, applyJob };
}

/**
 * A paused job stays paused, and one that has ended by itself stays ended unless its schedule is another. A cancelled one comes
 * back: what is applied is what shall be there.
 */
function replacement(read: JobWithPlan, input: JobInput, nowMs: number): Decision | undefined {
  const { job: current } = read;
  const { definition, scheduleChanged } = replaceJob(current, input, nowMs);
  const isCancelled = current.status === 'CANCELLED';
  if (!isCancelled && sameDefinition(definition, current)) return undefined;
  const job: Job = { ...current, ...definition };
  if (!scheduleChanged && !isCancelled) return { job, pending: { kind: 'keep' } };
  const { first, skips } = replan(job, { read, nowMs });
  const status = current.status === 'PAUSED' ? 'PAUSED' : 'SCHEDULED';
  return { job: { ...job, status, skips }, pending: { kind: 'replan', first } };
}

function keyNotFound({ namespace, key }: { namespace: string; key: string }): Refusal {
  return new Refusal('job_not_found', `There is no job with the key ${key} in the namespace ${namespace}.`);
}
