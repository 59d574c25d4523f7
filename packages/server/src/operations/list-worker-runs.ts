/** What a worker runs and ran, newest first: living runs before the history. */
import type { RunPage, RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export function listWorkerRuns(ports: OperationPorts) {
  return (workerId: string, page: RunPage): Promise<RunView[]> =>
    ports.storage.runs.onWorker(workerId, page, ports.clock.now());
}
