/** One run with all its attempts, latest first. */
import type { RunId } from '@carillon/domain';
import type { RunView } from '../storage/run-store.ts';
import { runNotFound } from './cancel-run.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface RunDetails {
  readonly latest: RunView;
  readonly attempts: readonly RunView[];
}

export function getRun(ports: OperationPorts) {
  return async (runId: RunId): Promise<RunDetails> => {
    const attempts = await ports.storage.runs.attempts(runId, ports.clock.now());
    const [latest] = attempts;
    if (!latest) throw runNotFound(runId);
    return { latest, attempts };
  };
}
