/** Pauses a job: nothing of it that waits is started until it is resumed. What runs already runs on. */
import { type Caller, type Job, type JobId, Refusal } from '@carillon/domain';
import { type ChangeOptions, changeJob, jobCancelled } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';

export function pauseJob(ports: OperationPorts) {
  return async (caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<Job> => {
    const request = { caller, jobId, action: 'jobs.pause', ...options } as const;
    const { job } = await changeJob(ports, request, ({ job: current }) => {
      if (current.status === 'PAUSED') return undefined;
      requireUnfinished(current);
      return { job: { ...current, status: 'PAUSED' }, pending: { kind: 'hold' } };
    });
    return job;
  };
}

export function requireUnfinished(job: Job): void {
  if (job.status === 'CANCELLED') throw jobCancelled(job.jobId);
  if (job.status === 'COMPLETED' || job.status === 'FAILED') {
    throw new Refusal('job_already_finished', `The job ${job.jobId} has ended (${job.status}).`);
  }
}
