/** For tests: runs as a worker is handed them. */
import type { ClaimedBatch, ClaimedRun, JobId, LeaseId, RunId, WorkerId } from '@carillon/domain';

export function claimedRun(over: Partial<ClaimedRun> = {}): ClaimedRun {
  return {
    leaseId: 'lease-1' as LeaseId,
    position: 0,
    leaseSize: 1,
    jobId: 'job-1' as JobId,
    runId: 'run-1' as RunId,
    epoch: 1,
    attempt: 1,
    nominalAtMs: Date.UTC(2030, 0, 1),
    dueAtMs: Date.UTC(2030, 0, 1),
    claimedAtMs: Date.UTC(2030, 0, 1),
    handler: 'test',
    payload: '{"n":1}',
    timeoutMs: 60_000,
    limited: false,
    ...over,
  };
}

export function batchOf(...runs: readonly Partial<ClaimedRun>[]): ClaimedBatch {
  const leaseId = runs[0]?.leaseId ?? ('lease-1' as LeaseId);
  return {
    leaseId,
    workerId: 'worker-1' as WorkerId,
    claimedAtMs: Date.UTC(2030, 0, 1),
    runs: runs.map((run, position) =>
      claimedRun({
        leaseId,
        position,
        leaseSize: runs.length,
        runId: `run-${position + 1}` as RunId,
        ...run,
      }),
    ),
  };
}
