/** One run with all its attempts, latest first. */
import type { Caller, RunId } from '@carillon/domain';
import type { RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';
import { requireRun, runNotFound } from './visible-run.ts';

export interface RunDetails {
  readonly latest: RunView;
  readonly attempts: readonly RunView[];
}

export function getRun(ports: OperationPorts) {
  return async (caller: Caller, runId: RunId): Promise<RunDetails> => {
    const attempts = await ports.storage.runs.attempts(runId, ports.clock.now());
    const [latest] = attempts;
    if (!latest) throw runNotFound(runId);
    await requireRun(ports, { caller, runId, jobId: latest.jobId, action: 'runs.read' });
    return { latest, attempts };
  };
}
