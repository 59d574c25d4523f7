/**
 * Read, decide, apply: every change of a job goes through here. The change is applied only to the job and the plan it was
 * decided on; when either changed meanwhile (an edit, a fire), it is decided again on the current state.
 */
import {
  type Action,
  type Caller,
  type Job,
  type JobId,
  Refusal,
  requireMay,
  requireMayScript,
  type SkippedFire,
} from '@carillon/domain';
import { auditEntry, jobSubject } from '../../audit/audit-log.ts';
import { requireSecrets } from '../../secrets/secrets.ts';
import type { JobWithPlan, PendingChange } from '../../storage/job-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { jobKeyTaken, requireVisible } from '../support/visibility.ts';

/** A job that fires every second loses a race now and then, not five in a row. */
const TRIES_MAX = 5;

export interface Decision {
  /** The job after the change; its version and time of change are set here. */
  readonly job: Job;
  readonly pending: PendingChange;
}

export interface Changed {
  readonly job: Job;
  /** Undefined: the job already was as requested. */
  readonly pending: PendingChange | undefined;
}

export interface ChangeRequest {
  readonly caller: Caller;
  readonly jobId: JobId;
  readonly action: Action;
  /** In the audit log, where one permission covers several operations. */
  readonly recordedAs?: string;
  /** Recorded beside what changed. */
  readonly noted?: object;
  /** Only if the job is at one of these versions. */
  readonly ifVersion?: readonly number[] | undefined;
  /** Decides, and changes nothing. */
  readonly dryRun?: boolean;
}

/** decide answers undefined when the job already is as requested: repeating a request changes nothing. */
export async function changeJob(
  ports: Pick<OperationPorts, 'storage' | 'clock' | 'handlers'>,
  { caller, jobId, action, recordedAs = action, noted, ifVersion, dryRun = false }: ChangeRequest,
  decide: (read: JobWithPlan, nowMs: number) => Decision | undefined | Promise<Decision | undefined>,
): Promise<Changed> {
  const { jobs } = ports.storage;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const read = await jobs.getForChange(jobId);
    const before = requireVisible(read?.job, { caller, jobId, action });
    requireVersion(before, ifVersion);
    const nowMs = ports.clock.now();
    const decision = await decide(read!, nowMs);
    if (!decision) return { job: before, pending: undefined };
    // The caller must be allowed to change the job as it will be, or an owner could be given a job they never requested.
    requireMay(caller, action, decision.job);
    requireMayScript(caller, decision.job, before);
    // What the job names already was checked when it was put there.
    if (decision.job.payload !== before.payload) await requireSecrets(ports.storage, caller, decision.job);
    const { pending } = decision;
    const { handler, payload } = decision.job;
    // What fitted when it was saved may stay: a handler whose schema has changed keeps nobody from editing the rest of a job.
    if (handler !== before.handler || payload !== before.payload)
      await ports.handlers.checkPayload(decision.job);
    const job = { ...decision.job, version: before.version + 1, updatedAtMs: nowMs };
    if (dryRun) return { job, pending };
    const fields = changedFields(before, job);
    const after = { ...fields.after, ...noted, version: job.version };
    const change = { action: recordedAs, ...jobSubject(job), before: fields.before, after };
    const applied = await jobs.apply({
      job,
      expectedVersion: before.version,
      expectedStatus: before.status,
      expectedPlannedNominalMs: read!.plannedNominalMs,
      pending,
      nowMs,
      audit: auditEntry(caller, change, nowMs),
    });
    if (applied === 'key_taken') throw await jobKeyTaken(ports, { caller, job });
    if (applied) return { job, pending };
  }
  throw new Refusal('job_changed', `The job ${jobId} kept changing while this change was being made.`);
}

function requireVersion(job: Job, allowed: readonly number[] | undefined): void {
  if (allowed === undefined || allowed.includes(job.version)) return;
  const message = `The job ${job.jobId} is at version ${job.version}, not at the one named in If-Match.`;
  throw new Refusal('version_mismatch', message, { field: 'If-Match' });
}

/** The fields of two versions of a job that differ; undefined fields are recorded as null. Of skips: the instants. */
function changedFields(before: Job, after: Job): { before: object; after: object } {
  const [was, is]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  for (const name of Object.keys(after) as (keyof Job)[]) {
    if (name === 'version' || name === 'updatedAtMs' || name === 'skips') continue;
    if (JSON.stringify(before[name]) === JSON.stringify(after[name])) continue;
    was[name] = before[name] ?? null;
    is[name] = after[name] ?? null;
  }
  // A job may have a hundred of them: only those that differ are recorded. What has passed is in the ledger.
  const ahead = (job: Job) => (job.skips ?? []).filter(({ atMs }) => atMs > after.updatedAtMs);
  const taken = instantsWithout(ahead(before), after.skips);
  const added = instantsWithout(ahead(after), before.skips);
  if (taken.length + added.length > 0) {
    was.skips = taken.length > 0 ? taken : null;
    is.skips = added.length > 0 ? added : null;
  }
  return { before: was, after: is };
}

function instantsWithout(skips: readonly SkippedFire[], others: readonly SkippedFire[] = []): string[] {
  const known = new Set(others.map(({ atMs }) => atMs));
  return skips.filter(({ atMs }) => !known.has(atMs)).map(({ atMs }) => new Date(atMs).toISOString());
}
