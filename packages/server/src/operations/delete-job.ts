/** Removes a job: cancelled first, then its definition goes. Its history stays until retention drops it. */
import { type Caller, type JobId, Refusal } from '@carillon/domain';
import { auditEntry, jobSubject } from './audit-log.ts';
import { cancelJob } from './cancel-job.ts';
import { type ChangeOptions, jobNotFound } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';
import { visibleJob } from './visible-job.ts';

export function deleteJob(ports: OperationPorts) {
  const cancel = cancelJob(ports);
  return async (caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<void> => {
    const job = await visibleJob(ports, { caller, jobId, action: 'jobs.delete' });
    await cancel(caller, jobId, options);
    const change = { action: 'jobs.delete', ...jobSubject(job), before: { name: job.name } };
    if (await ports.storage.jobs.remove(jobId, auditEntry(caller, change, ports.clock.now()))) return;
    if (!(await ports.storage.jobs.get(jobId))) throw jobNotFound(jobId);
    throw new Refusal(
      'job_still_running',
      `Runs of the job ${jobId} were asked to stop and have not ended yet.`,
    );
  };
}
