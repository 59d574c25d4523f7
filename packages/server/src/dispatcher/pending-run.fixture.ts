/** For tests: runs as they wait for a slot. */
import type { JobId, PendingRun, RunId } from '@carillon/domain';

export const NOW_MS = Date.UTC(2030, 0, 1);

export function pendingRun(runId: string, over: Partial<PendingRun> = {}): PendingRun {
  return {
    jobId: 'job' as JobId,
    runId: runId as RunId,
    shard: 0,
    priority: 'medium',
    fireAtMs: NOW_MS,
    nominalAtMs: NOW_MS,
    trigger: 'schedule',
    attempt: 1,
    handler: 'http',
    maxConcurrency: 1,
    overlap: 'queue',
    startTimeoutMs: undefined,
    ...over,
  };
}
