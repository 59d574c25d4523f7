/** A job that the caller may do something with. What they may not even see looks as if it were not there. */
import { type Action, type Caller, type Job, type JobId, requireMay, sees } from '@carillon/domain';
import { jobNotFound } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';

export async function visibleJob(
  ports: Pick<OperationPorts, 'storage'>,
  { caller, jobId, action }: { caller: Caller; jobId: JobId; action: Action },
): Promise<Job> {
  const job = await ports.storage.jobs.get(jobId);
  if (!job || !sees(caller, job)) throw jobNotFound(jobId);
  requireMay(caller, action, job);
  return job;
}
