/**
 * Cancels a job for good: what waits ends, what runs is asked to stop, and nothing is tried again. Repeating it is
 * harmless. The signal makes it fast; heartbeats repeat the wish until the runs have ended (hazard 18).
 */
import { type Caller, CONCURRENCY_MAX, type Job, type JobId } from '@carillon/domain';
import { type ChangeOptions, changeJob } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';

export function cancelJob(ports: OperationPorts) {
  return async (caller: Caller, jobId: JobId, options: ChangeOptions = {}): Promise<Job> => {
    const request = { caller, jobId, action: 'jobs.cancel', ...options } as const;
    const { job } = await changeJob(ports, request, ({ job: current }) =>
      current.status === 'CANCELLED'
        ? undefined
        : { job: { ...current, status: 'CANCELLED' }, pending: { kind: 'drop' } },
    );
    // Also when it was cancelled before: whoever asks again may do so because a signal was lost.
    await signalLivingRuns(ports, jobId);
    return job;
  };
}

/** Living runs come first in the list, and there are never more of them than one job may have at a time. */
async function signalLivingRuns(ports: OperationPorts, jobId: JobId): Promise<void> {
  const runs = await ports.storage.runs.ofJob(jobId, { limit: CONCURRENCY_MAX }, ports.clock.now());
  const runIds = runs
    .filter(({ status }) => status === 'CLAIMED' || status === 'RUNNING')
    .map(({ runId }) => runId);
  if (runIds.length > 0) ports.signals.send('cancel-requested', { runIds });
}
