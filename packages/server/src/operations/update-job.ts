/**
 * Changes what a job is, also while it is scheduled. A change that leaves the schedule alone keeps the plan; a new
 * schedule is planned strictly after what was fired, and keeps an occurrence that is due but not fired yet. So an edit
 * neither loses nor doubles a fire (hazard 11).
 */
import {
  type Caller,
  isRecurring,
  type Job,
  type JobId,
  type JobPatch,
  Refusal,
  redefineJob,
} from '@carillon/domain';
import type { FirstDue } from '../storage/due.ts';
import type { JobWithPlan } from '../storage/job-store.ts';
import { announceChange, announceFirst } from './announce.ts';
import { type ChangeOptions, changeJob, jobCancelled } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';
import { planFirst } from './plan-first.ts';
import { requestHash } from './request-hash.ts';

export function updateJob(ports: OperationPorts) {
  return async (caller: Caller, jobId: JobId, patch: JobPatch, options: ChangeOptions = {}): Promise<Job> => {
    const { job, applied } = await changeJob(
      ports,
      { caller, jobId, action: 'jobs.update', ...options },
      (read, nowMs) => {
        const { job: current } = read;
        if (current.status === 'CANCELLED') throw jobCancelled(jobId);
        const { definition, scheduleChanged } = redefineJob(current, patch, nowMs);
        const job: Job = { ...current, ...definition };
        if (!scheduleChanged) {
          return requestHash(job) === requestHash(current) ? undefined : { job, pending: { kind: 'keep' } };
        }
        const first = replan(job, { read, nowMs });
        const ended = current.status === 'COMPLETED' || current.status === 'FAILED';
        return { job: ended ? { ...job, status: 'SCHEDULED' } : job, pending: { kind: 'replan', first } };
      },
    );
    if (applied && job.status === 'SCHEDULED') {
      const { pending } = applied;
      if (pending.kind === 'replan' && pending.first) announceFirst(ports, [{ job, first: pending.first }]);
      announceChange(ports, job, job.updatedAtMs);
    }
    return job;
  };
}

function replan(job: Job, { read, nowMs }: { read: JobWithPlan; nowMs: number }): FirstDue {
  const { plannedNominalMs, lastNominalMs } = read;
  const isOverdue =
    isRecurring(read.job.schedule) && plannedNominalMs !== undefined && plannedNominalMs <= nowMs;
  const first = planFirst({
    jobId: job.jobId,
    schedule: job.schedule,
    nowMs,
    lastNominalMs,
    overdueNominalMs: isOverdue ? plannedNominalMs : undefined,
  });
  if (first) return first;
  throw new Refusal(
    'schedule_never_fires',
    'The new schedule has no occurrence after the last one that ran.',
  );
}
