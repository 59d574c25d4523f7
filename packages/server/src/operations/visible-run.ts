/** A run may be seen and touched by whoever may see and touch its job. */
import {
  type Action,
  type Caller,
  type Job,
  type JobId,
  Refusal,
  type RunId,
  requireMay,
  sees,
  visibleTo,
} from '@carillon/domain';
import type { OperationPorts } from './operation-ports.ts';

/** Answers its job; undefined when that is gone, which only those who see everything get to know. */
export async function requireRun(
  ports: Pick<OperationPorts, 'storage'>,
  { caller, runId, jobId, action }: { caller: Caller; runId: RunId; jobId: JobId; action: Action },
): Promise<Job | undefined> {
  const job = await ports.storage.jobs.get(jobId);
  const visible = job ? sees(caller, job) : visibleTo(caller, action) === undefined;
  if (!visible) throw runNotFound(runId);
  requireMay(caller, action, job);
  return job;
}

export function runNotFound(runId: string): Refusal {
  return new Refusal('run_not_found', `There is no run ${runId}.`);
}
