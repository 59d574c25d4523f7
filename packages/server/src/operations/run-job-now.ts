/** Adds a run of a job at once, past its schedule and also while it is paused. Its limits hold; its plan is untouched. */
import type { Caller, JobId } from '@carillon/domain';
import { type AskedRun, addAskedRun } from './add-asked-run.ts';
import type { OperationPorts } from './operation-ports.ts';
import { visibleJob } from './visible-job.ts';

export function runJobNow(ports: OperationPorts) {
  return async (
    caller: Caller,
    jobId: JobId,
    options: { idempotencyKey?: string | undefined } = {},
  ): Promise<AskedRun> => {
    const job = await visibleJob(ports, { caller, jobId, action: 'jobs.run' });
    return addAskedRun(ports, {
      caller,
      action: 'jobs.run',
      job,
      nominalAtMs: ports.clock.now(),
      subject: jobId,
      idempotencyKey: options.idempotencyKey,
    });
  };
}
