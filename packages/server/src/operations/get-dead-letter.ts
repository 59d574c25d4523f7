/** One dead letter, for whoever may see its job. */
import { type Caller, type Job, Refusal, type RunId, requireMay, sees, visibleTo } from '@carillon/domain';
import type { DeadLetter } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export function getDeadLetter(ports: OperationPorts) {
  return async (caller: Caller, runId: RunId): Promise<DeadLetter> =>
    (await visibleLetter(ports, { caller, runId, action: 'dead_letters.read' })).letter;
}

/** With its job; undefined when that is gone, which only those who see everything get to know. */
export async function visibleLetter(
  ports: Pick<OperationPorts, 'storage'>,
  asked: { caller: Caller; runId: RunId; action: 'dead_letters.read' | 'dead_letters.redrive' },
): Promise<{ letter: DeadLetter; job: Job | undefined }> {
  const { caller, runId, action } = asked;
  const letter = await ports.storage.runs.deadLetter(runId);
  const job = letter && (await ports.storage.jobs.get(letter.jobId));
  const seen = job ? sees(caller, job) : visibleTo(caller, action) === undefined;
  if (!letter || !seen) throw new Refusal('dead_letter_not_found', `There is no dead letter ${runId}.`);
  requireMay(caller, action, job);
  return { letter, job };
}
