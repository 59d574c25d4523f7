/** Removes a job: cancelled first, then its definition goes. Its history stays until retention drops it. */
import { type JobId, Refusal } from '@carillon/domain';
import { cancelJob } from './cancel-job.ts';
import { jobNotFound } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';

export function deleteJob(ports: OperationPorts) {
  const cancel = cancelJob(ports);
  return async (jobId: JobId): Promise<void> => {
    await cancel(jobId);
    if (await ports.storage.jobs.remove(jobId)) return;
    if (!(await ports.storage.jobs.get(jobId))) throw jobNotFound(jobId);
    throw new Refusal(
      'job_still_running',
      `Runs of the job ${jobId} were asked to stop and have not ended yet.`,
    );
  };
}
