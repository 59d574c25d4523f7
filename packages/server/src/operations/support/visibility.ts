/**
 * Jobs, runs and dead letters that a caller may act on. Whoever may see a job may see its runs and dead letters; what a
 * caller may not see is refused as if it did not exist.
 */
import {
  type Action,
  type Caller,
  type Job,
  type JobId,
  type Owner,
  Refusal,
  type RunId,
  requireMay,
  sees,
  visibleTo,
} from '@carillon/domain';
import type { DeadLetter, LatestAttempt, RunView } from '../../storage/run-store.ts';
import type { OperationPorts } from '../operation-ports.ts';

type Stores = Pick<OperationPorts, 'storage' | 'clock'>;

export async function visibleJob(
  { storage }: Pick<Stores, 'storage'>,
  { caller, jobId, action }: { caller: Caller; jobId: JobId; action: Action },
): Promise<Job> {
  return requireVisible(await storage.jobs.get(jobId), { caller, jobId, action });
}

export function requireVisible<Owned extends Owner>(
  job: Owned | undefined,
  { caller, jobId, action }: { caller: Caller; jobId: JobId; action: Action },
): Owned {
  if (!job || !sees(caller, job)) throw jobNotFound(jobId);
  requireMay(caller, action, job);
  return job;
}

/**
 * The job whose history is asked for: undefined when it was deleted, which only callers who see every job may learn. To all others
 * what is not theirs and what never was are the same, whatever they may do with what is theirs.
 */
export async function visibleHistory(
  { storage }: Pick<Stores, 'storage'>,
  { caller, jobId, action }: { caller: Caller; jobId: JobId; action: Action },
): Promise<Job | undefined> {
  const job = await storage.jobs.get(jobId);
  if (!seesDescendants(caller, action, job)) throw jobNotFound(jobId);
  requireMay(caller, action, job);
  return job;
}

/** Of a run whose latest attempt was read with others. */
export function requireVisibleRun(
  found: LatestAttempt | undefined,
  { caller, runId, action }: { caller: Caller; runId: RunId; action: Action },
): LatestAttempt {
  if (!found) throw runNotFound(runId);
  requireDescendant(found.job, { caller, runId, action });
  return found;
}

/** attempts: latest first. job: undefined when it was deleted, which only callers who see every job may learn. */
export async function visibleRun(
  { storage, clock }: Stores,
  { caller, runId, action }: { caller: Caller; runId: RunId; action: Action },
): Promise<{ latest: RunView; attempts: readonly RunView[]; job: Job | undefined }> {
  const attempts = await storage.runs.attempts(runId, clock.now());
  const [latest] = attempts;
  const job = latest && (await storage.jobs.get(latest.jobId));
  if (!latest) throw runNotFound(runId);
  requireDescendant(job, { caller, runId, action });
  return { latest, attempts, job };
}

/** Of a run of this job; undefined: it was deleted, and a grant in one namespace says nothing about it. */
export function requireDescendant(
  job: Owner | undefined,
  { caller, runId, action }: { caller: Caller; runId: RunId; action: Action },
): void {
  if (!seesDescendants(caller, action, job)) throw runNotFound(runId);
  requireMay(caller, action, job);
}

export async function visibleDeadLetter(
  { storage }: Pick<Stores, 'storage'>,
  { caller, runId, action }: { caller: Caller; runId: RunId; action: Action },
): Promise<{ letter: DeadLetter; job: Job | undefined }> {
  const letter = await storage.runs.deadLetter(runId);
  const job = letter && (await storage.jobs.get(letter.jobId));
  if (!letter || !seesDescendants(caller, action, job)) {
    throw new Refusal('dead_letter_not_found', `There is no dead letter ${runId}.`);
  }
  requireMay(caller, action, job);
  return { letter, job };
}

function seesDescendants(caller: Caller, action: Action, job: Owner | undefined): boolean {
  return job ? sees(caller, job) : visibleTo(caller, action) === undefined;
}

export function jobNotFound(jobId: string): Refusal {
  return new Refusal('job_not_found', `There is no job ${jobId}.`);
}

/** The id of the job that has the key is named to callers who may see it. */
export async function jobKeyTaken(
  { storage }: Pick<Stores, 'storage'>,
  {
    caller,
    job,
    holderId,
  }: { caller: Caller; job: Pick<Job, 'key' | 'namespace'>; holderId?: JobId | undefined },
): Promise<Refusal> {
  const { key = '', namespace } = job;
  const id = holderId ?? (await storage.jobs.findKey(namespace, key));
  const holder = id && (await storage.jobs.get(id));
  const who = holder && sees(caller, holder) ? ` by the job ${holder.jobId}` : '';
  const message = `The key ${key} is taken in the namespace ${namespace}${who}.`;
  return new Refusal('job_key_taken', message, { field: 'key' });
}

export function jobCancelled(jobId: string): Refusal {
  return new Refusal('job_cancelled', `The job ${jobId} was cancelled.`);
}

/** Why a run could not be added to a job: the job was deleted or cancelled meanwhile. */
export async function jobGone({ storage }: Pick<Stores, 'storage'>, jobId: JobId): Promise<Refusal> {
  return (await storage.jobs.get(jobId)) ? jobCancelled(jobId) : jobNotFound(jobId);
}

export function runNotFound(runId: string): Refusal {
  return new Refusal('run_not_found', `There is no run ${runId}.`);
}
