/** Workers: every worker the storage knows, its capacity, and the runs it holds. They are drained, and take runs again. */
import { type Caller, Refusal, requireMay, runsShownTo, type WorkerId } from '@carillon/domain';
import { auditEntry } from '../audit/audit-log.ts';
import type { KnownWorker, WorkerPage } from '../storage/member-store.ts';
import type { RunPage, RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

type Ports = Pick<OperationPorts, 'storage' | 'clock'>;

export interface ListedWorker extends KnownWorker {
  /** Runs it holds now. */
  readonly running: number;
  /** A process of its own, at the end of a stream. */
  readonly remote: boolean;
}

export type WorkerFilter = Omit<WorkerPage, 'nowMs' | 'text'>;

export function workerOperations(ports: OperationPorts) {
  const { clock } = ports;
  const { runs, members } = ports.storage;

  return {
    /** By id; also those that were lost within the last hour. */
    async listWorkers(caller: Caller, filter: WorkerFilter): Promise<ListedWorker[]> {
      requireMay(caller, 'workers.read');
      return listed(ports, await members.listWorkers({ ...filter, nowMs: clock.now() }));
    },

    async getWorker(caller: Caller, workerId: string): Promise<ListedWorker> {
      requireMay(caller, 'workers.read');
      return find(ports, workerId);
    },

    /** It takes no more runs, ends those that it has, and then idles until it is undrained or ended. */
    drainWorker: (caller: Caller, workerId: string) => ask(ports, caller, { workerId, draining: true }),

    undrainWorker: (caller: Caller, workerId: string) => ask(ports, caller, { workerId, draining: false }),

    /** What a worker is running now, newest first. */
    async listWorkerRuns(caller: Caller, workerId: string, page: RunPage): Promise<RunView[]> {
      requireMay(caller, 'workers.read');
      // Permission to read workers does not include what their jobs did.
      requireMay(caller, 'runs.read');
      return runsShownTo(caller, undefined, await runs.onWorker(workerId, page, clock.now()));
    },
  };
}

async function listed(
  { storage: { members } }: Ports,
  workers: readonly KnownWorker[],
): Promise<ListedWorker[]> {
  const held = await members.leasedRuns();
  return workers.map((worker) => ({
    ...{ ...worker, running: held.get(worker.workerId) ?? 0, remote: worker.session > 0 },
  }));
}

async function find(ports: Ports, workerId: string): Promise<ListedWorker> {
  const known = await ports.storage.members.findWorker(workerId, ports.clock.now());
  const [found] = known ? await listed(ports, [known]) : [];
  if (!found) throw new Refusal('worker_not_found', `There is no worker ${workerId}.`);
  return found;
}

/** The flag in the storage decides; the signal only makes the worker ask for it sooner. */
async function ask(
  ports: OperationPorts,
  caller: Caller,
  { workerId, draining }: { workerId: string; draining: boolean },
): Promise<ListedWorker> {
  requireMay(caller, 'workers.manage');
  const { storage, signals, clock } = ports;
  const worker = await find(ports, workerId);
  if (worker.draining === draining && worker.alive) return worker;
  const change = {
    action: draining ? 'workers.drain' : 'workers.undrain',
    ...{ namespace: undefined, subject: { kind: 'worker', id: workerId } },
    ...{ before: { draining: worker.draining }, after: { draining } },
  };
  const audit = auditEntry(caller, change, clock.now());
  if (!(await storage.members.drainWorker(workerId as WorkerId, draining, audit))) {
    throw new Refusal('worker_not_found', `The worker ${workerId} has ended or was given up for dead.`);
  }
  signals.send('workers-asked', {});
  return { ...worker, draining };
}
