/** Sends a dead letter round again as a new run. Asked twice, it answers the run that the first request made. */
import type { Caller, JobId, RunId } from '@carillon/domain';
import { announceChange } from './announce.ts';
import { auditEntry } from './audit-log.ts';
import { jobCancelled, jobNotFound } from './change-job.ts';
import { visibleLetter } from './get-dead-letter.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface RedrivenLetter {
  readonly jobId: JobId;
  /** The new run. */
  readonly runId: RunId;
  /** The run that had died. */
  readonly redrivenFrom: RunId;
}

export function redriveDeadLetter(ports: OperationPorts) {
  const { jobs, runs } = ports.storage;
  return async (caller: Caller, deadRunId: RunId): Promise<RedrivenLetter> => {
    const { letter, job } = await visibleLetter(ports, {
      caller,
      runId: deadRunId,
      action: 'dead_letters.redrive',
    });
    const { jobId, redrivenAs } = letter;
    if (redrivenAs) return { jobId, runId: redrivenAs, redrivenFrom: deadRunId };

    const runId = ports.random.id() as RunId;
    const nowMs = ports.clock.now();
    const subject = { kind: 'run', id: deadRunId };
    const change = { action: 'dead_letters.redrive', namespace: job?.namespace, subject, after: { runId } };
    if (!(await runs.redrive(deadRunId, { runId, nowMs, audit: auditEntry(caller, change, nowMs) }))) {
      const meanwhile = await runs.deadLetter(deadRunId);
      if (meanwhile?.redrivenAs) return { jobId, runId: meanwhile.redrivenAs, redrivenFrom: deadRunId };
      throw (await jobs.get(jobId)) ? jobCancelled(jobId) : jobNotFound(jobId);
    }
    if (job) announceChange(ports, job, nowMs);
    return { jobId, runId, redrivenFrom: deadRunId };
  };
}
