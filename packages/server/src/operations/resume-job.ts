/** Resumes a paused job. What fell into the pause is skipped, unless its misfire policy catches up (hazard 19). */
import type { Caller, Job, JobId } from '@carillon/domain';
import { announceChange } from './announce.ts';
import { type ChangeOptions, changeJob } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';
import { requireUnfinished } from './pause-job.ts';

export function resumeJob(ports: OperationPorts) {
  return async (caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<Job> => {
    const { job, applied } = await changeJob(
      ports,
      { caller, jobId, action: 'jobs.pause', recordedAs: 'jobs.resume', ...options },
      ({ job: current }) => {
        if (current.status === 'SCHEDULED') return undefined;
        requireUnfinished(current);
        return { job: { ...current, status: 'SCHEDULED' }, pending: { kind: 'release' } };
      },
    );
    if (applied) announceChange(ports, job, job.updatedAtMs);
    return job;
  };
}
