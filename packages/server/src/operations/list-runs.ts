/** The runs of a job, newest first. History outlives its job, so a job that is gone may still have runs. */
import { type Caller, type JobId, requireMay, sees, visibleTo } from '@carillon/domain';
import type { RunPage, RunView } from '../storage/run-store.ts';
import { jobNotFound } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';

export function listRuns(ports: OperationPorts) {
  return async (caller: Caller, jobId: JobId, page: RunPage): Promise<RunView[]> => {
    const job = await ports.storage.jobs.get(jobId);
    if (job && !sees(caller, job)) throw jobNotFound(jobId);
    requireMay(caller, 'runs.read', job);
    const runs = await ports.storage.runs.ofJob(jobId, page, ports.clock.now());
    // Where a job was that is gone, nobody knows any more: only those who see everything see its runs.
    if (!job && (runs.length === 0 || visibleTo(caller, 'runs.read') !== undefined)) throw jobNotFound(jobId);
    return runs;
  };
}
