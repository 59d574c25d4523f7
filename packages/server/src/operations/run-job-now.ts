/** Adds a run of a job at once, past its schedule and also while it is paused. Its limits hold; its plan is untouched. */
import type { Caller, JobId, RunId } from '@carillon/domain';
import type { NewRun } from '../storage/due.ts';
import { jobSubject } from './audit-log.ts';
import { jobCancelled, jobNotFound } from './change-job.ts';
import { dueRunOf } from './due-row-of.ts';
import type { OperationPorts } from './operation-ports.ts';
import { visibleJob } from './visible-job.ts';

export function runJobNow(ports: OperationPorts) {
  return async (caller: Caller, jobId: JobId): Promise<{ jobId: JobId; runId: RunId }> => {
    const job = await visibleJob(ports, { caller, jobId, action: 'jobs.run' });
    const nowMs = ports.clock.now();
    const runId = ports.random.id() as RunId;
    const run: NewRun = { runId, fireAtMs: nowMs, nominalAtMs: nowMs, trigger: 'manual', endsJob: false };
    if (!(await ports.storage.jobs.enqueue(jobId, run))) {
      throw (await ports.storage.jobs.get(jobId)) ? jobCancelled(jobId) : jobNotFound(jobId);
    }
    ports.signals.send('due-added', { shards: [job.shard], rows: [dueRunOf(job, run)] });
    await ports.audit.record(caller, { action: 'jobs.run', ...jobSubject(job), after: { runId } });
    return { jobId, runId };
  };
}
