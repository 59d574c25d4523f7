/** Resumes a paused job. What it missed meanwhile is judged by its misfire policy, so that it does not flood (hazard 19). */
import type { Caller, Job, JobId } from '@carillon/domain';
import { type ChangeOptions, changeJob } from './change-job.ts';
import { keptRowsOf } from './due-row-of.ts';
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
    if (applied) {
      const rows = keptRowsOf(job, applied.read.plannedNominalMs);
      ports.signals.send('due-added', { shards: [job.shard], rows });
    }
    return job;
  };
}
