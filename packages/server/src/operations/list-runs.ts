/** The runs of a job, newest first. History outlives its job, so a job that is gone may still have runs. */
import type { JobId } from '@carillon/domain';
import type { RunPage, RunView } from '../storage/run-store.ts';
import { jobNotFound } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';

export function listRuns(ports: OperationPorts) {
  return async (jobId: JobId, page: RunPage): Promise<RunView[]> => {
    const runs = await ports.storage.runs.ofJob(jobId, page, ports.clock.now());
    if (runs.length === 0 && !(await ports.storage.jobs.get(jobId))) throw jobNotFound(jobId);
    return runs;
  };
}
