/**
 * Read, decide, apply: every change of a job goes through here. The change is applied only to the job and the plan it was
 * decided on; when either moved meanwhile (an edit, a fire), it is decided again on what is there now.
 */
import { type Action, type Caller, type Job, type JobId, Refusal, requireMay, sees } from '@carillon/domain';
import type { JobWithPlan, PendingChange } from '../storage/job-store.ts';
import { auditEntry, changedFields, jobSubject } from './audit-log.ts';
import type { OperationPorts } from './operation-ports.ts';

/** A job that fires every second loses a race now and then, not five in a row. */
const TRIES_MAX = 5;

export interface Decision {
  /** The job as it shall be; its version and time of change are set here. */
  readonly job: Job;
  readonly pending: PendingChange;
}

export interface Changed {
  readonly job: Job;
  /** What was read and decided on; undefined when there was nothing to do. */
  readonly applied: { readonly read: JobWithPlan; readonly pending: PendingChange } | undefined;
}

export interface ChangeRequest {
  readonly caller: Caller;
  readonly jobId: JobId;
  readonly action: Action;
  /** In the audit log, where one permission covers several things that can be done. */
  readonly recordedAs?: string;
  /** Only if the job is at one of these versions. */
  readonly ifVersion?: readonly number[] | undefined;
}

/** What every change of a job takes. */
export type ChangeOptions = Pick<ChangeRequest, 'ifVersion'>;

/** decide answers undefined when the job already is as wanted: repeating a request changes nothing. */
export async function changeJob(
  ports: Pick<OperationPorts, 'storage' | 'clock'>,
  { caller, jobId, action, recordedAs = action, ifVersion }: ChangeRequest,
  decide: (read: JobWithPlan, nowMs: number) => Decision | undefined,
): Promise<Changed> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const read = await ports.storage.jobs.getForChange(jobId);
    if (!read || !sees(caller, read.job)) throw jobNotFound(jobId);
    requireMay(caller, action, read.job);
    requireVersion(read.job, ifVersion);
    const nowMs = ports.clock.now();
    const decision = decide(read, nowMs);
    if (!decision) return { job: read.job, applied: undefined };
    // What the job shall become must be theirs to touch as well, or an owner could be given what they never asked for.
    requireMay(caller, action, decision.job);
    const job = { ...decision.job, version: read.job.version + 1, updatedAtMs: nowMs };
    const done = await ports.storage.jobs.apply({
      job,
      expectedVersion: read.job.version,
      expectedStatus: read.job.status,
      expectedPlannedNominalMs: read.plannedNominalMs,
      pending: decision.pending,
      nowMs,
      audit: auditEntry(
        caller,
        { action: recordedAs, ...jobSubject(job), ...changedFields(read.job, job) },
        nowMs,
      ),
    });
    if (done) {
      return { job, applied: { read, pending: decision.pending } };
    }
  }
  throw new Refusal('job_changed', `The job ${jobId} kept changing while this change was being made.`);
}

function requireVersion(job: Job, allowed: readonly number[] | undefined): void {
  if (allowed === undefined || allowed.includes(job.version)) return;
  const message = `The job ${job.jobId} is at version ${job.version}, not at the one named in If-Match.`;
  throw new Refusal('version_mismatch', message, { field: 'If-Match' });
}

export function jobNotFound(jobId: string): Refusal {
  return new Refusal('job_not_found', `There is no job ${jobId}.`);
}

export function jobCancelled(jobId: string): Refusal {
  return new Refusal('job_cancelled', `The job ${jobId} was cancelled.`);
}
