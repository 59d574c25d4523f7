/** Who executes: every worker the storage knows, how much it can take and how much it holds. */
import { type Caller, Refusal, requireMay } from '@carillon/domain';
import type { WorkerState } from '../storage/member-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface ListedWorker extends WorkerState {
  /** Runs it holds now. */
  readonly running: number;
}

export function listWorkers(ports: OperationPorts) {
  return async (caller: Caller): Promise<ListedWorker[]> => {
    requireMay(caller, 'workers.read');
    const { members } = ports.storage;
    const [workers, held] = await Promise.all([members.workers(), members.leasedRuns()]);
    return workers
      .map((worker) => ({ ...worker, running: held.get(worker.workerId) ?? 0 }))
      .sort((a, b) => (a.workerId < b.workerId ? -1 : 1));
  };
}

export function getWorker(ports: OperationPorts) {
  const list = listWorkers(ports);
  return async (caller: Caller, workerId: string): Promise<ListedWorker> => {
    const found = (await list(caller)).find((worker) => worker.workerId === workerId);
    if (!found) throw new Refusal('worker_not_found', `There is no worker ${workerId}.`);
    return found;
  };
}
