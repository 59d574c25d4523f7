/** What a worker is running now, newest first. */
import type { RunPage, RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export function listWorkerRuns(ports: OperationPorts) {
  return (workerId: string, page: RunPage): Promise<RunView[]> =>
    ports.storage.runs.onWorker(workerId, page, ports.clock.now());
}
