/** Workers: every worker the storage knows, its capacity, and the runs it holds. They are drained, and take runs again. */
import { type Caller, Refusal, type RunId, requireMay, runsShownTo, type WorkerId } from '@carillon/domain';
import { auditEntry } from '../audit/audit-log.ts';
import type { LostWorker, WorkerState } from '../storage/member-store.ts';
import type { RunPage, RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

type Ports = Pick<OperationPorts, 'storage' | 'clock'>;

const NOT_LOST: Partial<LostWorker> = {};

export interface ListedWorker extends Omit<WorkerState, 'incarnation' | 'bootId'> {
  /** Runs it holds now. */
  readonly running: number;
  /** A process of its own, at the end of a stream. */
  readonly remote: boolean;
  /** Since when it is given up for dead; undefined: it is not. */
  readonly lostAtMs: number | undefined;
  /** Of a lost one: what it held then, the first by their ids. It was taken back. */
  readonly held: number;
  readonly heldRuns: readonly RunId[];
}

export interface WorkerFilter {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly alive?: boolean | undefined;
}

export function workerOperations(ports: OperationPorts) {
  const { runs } = ports.storage;

  return {
    /** Those that have all of these labels; also those that were lost within the last hour. */
    async listWorkers(caller: Caller, { labels = {}, alive }: WorkerFilter = {}): Promise<ListedWorker[]> {
      requireMay(caller, 'workers.read');
      const wanted = Object.entries(labels);
      return (await listed(ports)).filter(
        (worker) =>
          (alive === undefined || worker.alive === alive) &&
          wanted.every(
            ([name, value]) => Object.hasOwn(worker.labels, name) && worker.labels[name] === value,
          ),
      );
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
      return runsShownTo(caller, undefined, await runs.onWorker(workerId, page, ports.clock.now()));
    },
  };
}

/** A dead one is among the workers until its runs were taken back, and among the lost ones from the start. */
async function listed({ storage: { members }, clock }: Ports): Promise<ListedWorker[]> {
  const [workers, held, lost] = await Promise.all([
    members.workers(),
    members.leasedRuns(),
    members.lostWorkers(clock.now()),
  ]);
  const isLost = new Map(lost.map((worker) => [worker.workerId, worker]));
  const known = workers.map((worker): ListedWorker => {
    const {
      lostAtMs,
      held: had = 0,
      heldRuns = [],
    } = (!worker.alive && isLost.get(worker.workerId)) || NOT_LOST;
    return {
      ...{ ...worker, running: held.get(worker.workerId) ?? 0, remote: worker.session > 0 },
      ...{ lostAtMs, held: had, heldRuns },
    };
  });
  const present = new Set(workers.map(({ workerId }) => workerId));
  const gone = lost
    .filter(({ workerId }) => !present.has(workerId))
    .map(
      (worker): ListedWorker => ({
        ...{ ...worker, alive: false, draining: false, stuck: 0, running: 0, remote: worker.session > 0 },
      }),
    );
  return [...known, ...gone].sort((a, b) => (a.workerId < b.workerId ? -1 : 1));
}

async function find(ports: Ports, workerId: string): Promise<ListedWorker> {
  const found = (await listed(ports)).find((worker) => worker.workerId === workerId);
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
