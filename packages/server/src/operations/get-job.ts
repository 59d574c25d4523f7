/** One job, with the occurrence that is planned next. */
import { type Caller, type Job, type JobId, requireMay, sees } from '@carillon/domain';
import { jobNotFound } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface JobDetails {
  readonly job: Job;
  /** Nominal instant; undefined when nothing lies ahead or the job is not scheduled. */
  readonly nextRunMs: number | undefined;
}

export function getJob(ports: OperationPorts) {
  return async (caller: Caller, jobId: JobId): Promise<JobDetails> => {
    const read = await ports.storage.jobs.getForChange(jobId);
    if (!read || !sees(caller, read.job)) throw jobNotFound(jobId);
    requireMay(caller, 'jobs.read', read.job);
    return { job: read.job, nextRunMs: read.job.status === 'SCHEDULED' ? read.plannedNominalMs : undefined };
  };
}
