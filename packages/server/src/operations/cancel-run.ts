/** Stops one run: a waiting one ends at once, a living one is asked to stop. Its job and its other runs go on. */
import { Refusal, type RunId } from '@carillon/domain';
import type { OperationPorts } from './operation-ports.ts';

/** ended: it was waiting, and is cancelled. asked: it is running, and will be. */
export type CancelledRun = 'asked' | 'ended';

export function cancelRun(ports: OperationPorts) {
  return async (runId: RunId): Promise<CancelledRun> => {
    const verdict = await ports.storage.jobs.cancelRun(runId, ports.clock.now());
    switch (verdict) {
      case 'unknown':
        throw runNotFound(runId);
      case 'finished':
        throw new Refusal('run_already_finished', `The run ${runId} has ended already.`);
      case 'asked':
        ports.signals.send('cancel-requested', { runIds: [runId] });
        return verdict;
      case 'ended':
        return verdict;
    }
  };
}

export function runNotFound(runId: string): Refusal {
  return new Refusal('run_not_found', `There is no run ${runId}.`);
}
