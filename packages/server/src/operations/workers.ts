/** Workers: every worker the storage knows, its capacity, and the runs it holds. */
import { type Caller, Refusal, requireMay, runsShownTo } from '@carillon/domain';
import type { WorkerState } from '../storage/member-store.ts';
import type { RunPage, RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface ListedWorker extends WorkerState {
  /** Runs it holds now. */
  readonly running: number;
}

export function workerOperations({ storage: { members, runs }, clock }: OperationPorts) {
  const listWorkers = async (caller: Caller): Promise<ListedWorker[]> => {
    requireMay(caller, 'workers.read');
    const [workers, held] = await Promise.all([members.workers(), members.leasedRuns()]);
    return workers
      .map((worker) => ({ ...worker, running: held.get(worker.workerId) ?? 0 }))
      .sort((a, b) => (a.workerId < b.workerId ? -1 : 1));
  };

  return {
    listWorkers,

    async getWorker(caller: Caller, workerId: string): Promise<ListedWorker> {
      const found = (await listWorkers(caller)).find((worker) => worker.workerId === workerId);
      if (!found) throw new Refusal('worker_not_found', `There is no worker ${workerId}.`);
      return found;
    },

    /** What a worker is running now, newest first. */
    async listWorkerRuns(caller: Caller, workerId: string, page: RunPage): Promise<RunView[]> {
      requireMay(caller, 'workers.read');
      // Permission to read workers does not include what their jobs did.
      requireMay(caller, 'runs.read');
      return runsShownTo(caller, undefined, await runs.onWorker(workerId, page, clock.now()));
    },
  };
}
