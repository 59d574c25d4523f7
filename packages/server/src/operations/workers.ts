/** Workers: every worker the storage knows, its capacity, and the runs it holds. They are drained, and take runs again. */
import { type Caller, Refusal, requireMay, runsShownTo, type WorkerId } from '@carillon/domain';
import { auditEntry } from '../audit/audit-log.ts';
import type { MemberStore, WorkerState } from '../storage/member-store.ts';
import type { RunPage, RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface ListedWorker extends WorkerState {
  /** Runs it holds now. */
  readonly running: number;
  /** A process of its own, at the end of a stream. */
  readonly remote: boolean;
}

export function workerOperations(ports: OperationPorts) {
  const { members, runs } = ports.storage;

  return {
    /** Those that have all of these labels. */
    async listWorkers(
      caller: Caller,
      labels: Readonly<Record<string, string>> = {},
    ): Promise<ListedWorker[]> {
      requireMay(caller, 'workers.read');
      const wanted = Object.entries(labels);
      return (await listed(members)).filter((worker) =>
        wanted.every(([name, value]) => Object.hasOwn(worker.labels, name) && worker.labels[name] === value),
      );
    },

    async getWorker(caller: Caller, workerId: string): Promise<ListedWorker> {
      requireMay(caller, 'workers.read');
      return find(members, workerId);
    },

    /** It takes no more runs, ends those that it has, and then idles until it is undrained or ended. */
    drainWorker: (caller: Caller, workerId: string) => ask(ports, caller, { workerId, draining: true }),

    undrainWorker: (caller: Caller, workerId: string) => ask(ports, caller, { workerId, draining: false }),

    /** What a worker is running now, newest first. */
    async listWorkerRuns(caller: Caller, workerId: string, page: RunPage): Promise<RunView[]> {
      requireMay(caller, 'workers.read');
      // Permission to read workers does not include what their jobs did.
      requireMay(caller, 'runs.read');
      return runsShownTo(caller, undefined, await runs.onWorker(workerId, page, ports.clock.now()));
    },
  };
}

async function listed(members: MemberStore): Promise<ListedWorker[]> {
  const [workers, held] = await Promise.all([members.workers(), members.leasedRuns()]);
  return workers
    .map((worker) => ({
      ...{ ...worker, running: held.get(worker.workerId) ?? 0 },
      remote: worker.session > 0,
    }))
    .sort((a, b) => (a.workerId < b.workerId ? -1 : 1));
}

async function find(members: MemberStore, workerId: string): Promise<ListedWorker> {
  const found = (await listed(members)).find((worker) => worker.workerId === workerId);
  if (!found) throw new Refusal('worker_not_found', `There is no worker ${workerId}.`);
  return found;
}

/** The flag in the storage decides; the signal only makes the worker ask for it sooner. */
async function ask(
  { storage: { members }, signals, clock }: OperationPorts,
  caller: Caller,
  { workerId, draining }: { workerId: string; draining: boolean },
): Promise<ListedWorker> {
  requireMay(caller, 'workers.manage');
  const worker = await find(members, workerId);
  if (worker.draining === draining && worker.alive) return worker;
  const change = {
    action: draining ? 'workers.drain' : 'workers.undrain',
    ...{ namespace: undefined, subject: { kind: 'worker', id: workerId } },
    ...{ before: { draining: worker.draining }, after: { draining } },
  };
  const audit = auditEntry(caller, change, clock.now());
  if (!(await members.drainWorker(workerId as WorkerId, draining, audit))) {
    throw new Refusal('worker_not_found', `The worker ${workerId} has ended or was given up for dead.`);
  }
  signals.send('workers-asked', {});
  return { ...worker, draining };
}
