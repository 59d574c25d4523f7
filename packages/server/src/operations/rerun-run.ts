/** Runs a finished run again: a new run of its job as it is now, for the same occurrence. The old one stays in the history. */
import { type Caller, isFinal, Refusal, type RunId } from '@carillon/domain';
import { type AskedRun, addAskedRun } from './add-asked-run.ts';
import { jobNotFound } from './change-job.ts';
import type { OperationPorts } from './operation-ports.ts';
import { requireRun, runNotFound } from './visible-run.ts';

export function rerunRun(ports: OperationPorts) {
  return async (
    caller: Caller,
    runId: RunId,
    options: { idempotencyKey?: string | undefined } = {},
  ): Promise<AskedRun> => {
    const [latest] = await ports.storage.runs.attempts(runId, ports.clock.now());
    if (!latest) throw runNotFound(runId);
    const job = await requireRun(ports, { caller, runId, jobId: latest.jobId, action: 'runs.rerun' });
    if (!job) throw jobNotFound(latest.jobId);
    if (!isFinal(latest.status)) {
      throw new Refusal('run_not_finished', `The run ${runId} has not ended yet (${latest.status}).`);
    }
    return addAskedRun(ports, {
      caller,
      action: 'runs.rerun',
      job,
      nominalAtMs: latest.scheduledAtMs,
      subject: runId,
      idempotencyKey: options.idempotencyKey,
      details: { rerunOf: runId },
    });
  };
}
