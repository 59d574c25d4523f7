/** One job, with the occurrence that is planned next. */
import type { Job, JobId } from '@carillon/domain';
import { jobNotFound } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface JobDetails {
  readonly job: Job;
  /** Nominal instant; undefined when nothing lies ahead or the job is not scheduled. */
  readonly nextRunMs: number | undefined;
}

export function getJob(ports: OperationPorts) {
  return async (jobId: JobId): Promise<JobDetails> => {
    const read = await ports.storage.jobs.getForChange(jobId);
    if (!read) throw jobNotFound(jobId);
    return { job: read.job, nextRunMs: read.job.status === 'SCHEDULED' ? read.plannedNominalMs : undefined };
  };
}
