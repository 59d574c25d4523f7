/** How a job is doing, in one word, with its latest run. */
import type { Caller, Job, JobId } from '@carillon/domain';
import type { RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';
import { visibleJob } from './visible-job.ts';

export type JobState = 'pending' | 'running' | 'completed' | 'failed' | 'paused' | 'cancelled';

export interface JobStatusDetails {
  readonly job: Job;
  readonly state: JobState;
  readonly lastUpdatedMs: number;
  readonly latestRun: RunView | undefined;
}

export function getJobStatus(ports: OperationPorts) {
  return async (caller: Caller, jobId: JobId): Promise<JobStatusDetails> => {
    // The run is read first: a job that ends in between is then shown as ended, never as pending with an ended run.
    const latestRun = await ports.storage.runs.latestOfJob(jobId, ports.clock.now());
    const job = await visibleJob(ports, { caller, jobId, action: 'jobs.read' });
    const lastUpdatedMs = Math.max(job.updatedAtMs, latestRun?.modifiedAtMs ?? 0);
    return { job, state: jobStateOf(job, latestRun), lastUpdatedMs, latestRun };
  };
}

/** Paused and cancelled are wishes of a person and shown first; otherwise a run that lives or waits counts more than the
 * past: a finished job that is run again is not finished. */
export function jobStateOf(
  job: Pick<Job, 'status'>,
  latestRun: Pick<RunView, 'status'> | undefined,
): JobState {
  if (job.status === 'CANCELLED') return 'cancelled';
  if (job.status === 'PAUSED') return 'paused';
  if (latestRun?.status === 'RUNNING' || latestRun?.status === 'CLAIMED') return 'running';
  if (latestRun?.status === 'QUEUED') return 'pending';
  if (job.status === 'COMPLETED') return 'completed';
  return job.status === 'FAILED' ? 'failed' : 'pending';
}
