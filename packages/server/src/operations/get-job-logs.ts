/** The latest attempts of a job, to tell its story from: what was queued, started, ended, and how. */
import type { Caller, JobId } from '@carillon/domain';
import type { RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';
import { visibleJob } from './visible-job.ts';

export function getJobLogs(ports: OperationPorts) {
  return async (caller: Caller, jobId: JobId, query: { limit: number }): Promise<RunView[]> => {
    await visibleJob(ports, { caller, jobId, action: 'runs.read' });
    return ports.storage.runs.ofJob(jobId, { limit: query.limit }, ports.clock.now());
  };
}
