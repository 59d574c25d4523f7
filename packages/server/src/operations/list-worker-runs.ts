/** What a worker is running now, newest first. */
import { type Caller, requireMay } from '@carillon/domain';
import type { RunPage, RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export function listWorkerRuns(ports: OperationPorts) {
  return async (caller: Caller, workerId: string, page: RunPage): Promise<RunView[]> => {
    requireMay(caller, 'workers.read');
    // A key for looking at workers is not one for looking at what jobs did.
    requireMay(caller, 'runs.read');
    return ports.storage.runs.onWorker(workerId, page, ports.clock.now());
  };
}
