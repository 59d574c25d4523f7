/** The nodes over one storage: keeps a process alive on each, and does to them what machines and operators do. */
import type { BootId, NodeId } from '@carillon/domain';
import type { WorkerHome } from '@carillon/worker';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import type { LocalWorker } from '../../packages/server/src/worker-link/worker-link.ts';
import type { ExecutionLog } from './execution-log.ts';
import { type FaultProfile, faultless, type Plays, rolesOf } from './fault-profile.ts';
import { SignalNetwork } from './lossy-ports.ts';
import type { Observer } from './observer.ts';
import { SimProcess } from './sim-process.ts';
import { SimWorker } from './sim-worker.ts';
import { StorageLocks } from './storage-locks.ts';
import { StreamNetwork } from './stream-network.ts';
import type { World } from './world.ts';

interface Machine<Process extends SimProcess | SimWorker> {
  incarnation: number;
  /** The newest last; an older one lives on only while it stands still and has not noticed. */
  processes: Process[];
}

interface SimNode extends Machine<SimProcess> {
  readonly nodeId: NodeId;
  readonly plays: Plays;
  /** The boot ids of its processes so far: all of them on one folder, whose lock tells the next that they ended. */
  readonly boots: BootId[];
}

/** A machine that holds a worker and nothing else. */
interface SimHost extends Machine<SimWorker> {
  readonly name: string;
}

interface ClusterOptions {
  readonly storage: Storage;
  readonly observer: Observer;
  readonly executions: ExecutionLog;
  readonly profile: FaultProfile;
  /** Puts a defect between dispatchers and workers. */
  readonly mutateWorker: (worker: LocalWorker) => LocalWorker;
  /** Puts a defect between workers on other machines and their homes. */
  readonly mutateHome: (home: WorkerHome) => WorkerHome;
}

export class Cluster {
  readonly #world: World;
  readonly #shared: ClusterOptions;
  readonly #profile: FaultProfile;
  readonly #nodes: SimNode[] = [];
  readonly #hosts: SimHost[] = [];
  readonly #network: SignalNetwork;
  readonly #streams: StreamNetwork;
  readonly #locks: StorageLocks;
  #faults: FaultProfile;
  #outageUntilMs = 0;

  constructor(
    world: World,
    options: Omit<ClusterOptions, 'mutateWorker' | 'mutateHome'> & Partial<ClusterOptions>,
  ) {
    this.#world = world;
    this.#shared = { mutateWorker: (worker) => worker, mutateHome: (home) => home, ...options };
    this.#profile = options.profile;
    this.#faults = options.profile;
    this.#network = new SignalNetwork(world);
    this.#streams = new StreamNetwork({
      ...{ world, faults: () => this.#faults },
      find: (server) => this.#nodes.find(({ nodeId }) => nodeId === server)?.processes.at(-1),
    });
    this.#locks = new StorageLocks(world, options.observer.runs);
    const { profile } = options;
    for (let i = 0; i < (profile.roles.length || profile.nodes); i += 1) {
      const node: SimNode = {
        ...{ nodeId: `node-${i}` as NodeId, plays: rolesOf(profile, i) },
        ...{ incarnation: 0, boots: [], processes: [] },
      };
      this.#nodes.push(node);
      this.#world.at(world.chance.between(0, 3_000), () => this.#boot(node));
    }
    for (let i = 0; i < profile.remoteWorkers; i += 1) {
      const host: SimHost = { name: `worker-${i}`, incarnation: 0, processes: [] };
      this.#hosts.push(host);
      this.#world.at(world.chance.between(0, 6_000), () => this.#bootWorker(host));
    }
    this.#planFaults();
  }

  /** Processes that answer requests. */
  serving(): SimProcess[] {
    return this.#nodes.flatMap(({ processes }) => processes.filter((process) => process.serving));
  }

  processes(): SimProcess[] {
    return this.#nodes.flatMap(({ processes }) => processes);
  }

  /** Processes of workers on other machines. */
  workers(): SimWorker[] {
    return this.#hosts.flatMap(({ processes }) => processes);
  }

  /** Where runs are executed: in dispatchers and on machines of workers. */
  get executing(): number {
    return this.dispatchers + this.#hosts.length;
  }

  /** Nodes whose processes execute runs. */
  get dispatchers(): number {
    return this.#nodes.filter(({ plays }) => plays.dispatcher).length;
  }

  lockHistory(forMs: number): void {
    this.#locks.lockHistory(forMs);
  }

  /** From now on nothing goes wrong. */
  heal(): void {
    this.#world.trace.add('world', 'heals');
    this.#faults = faultless(this.#profile);
    this.#outageUntilMs = 0;
    this.#locks.release();
    this.#world.correctStorageClock();
  }

  #boot(node: SimNode): void {
    node.incarnation += 1;
    for (const older of node.processes) older.replaced = true;
    const bootId = this.#world.ids.id() as BootId;
    const endedBoots = [...node.boots];
    node.boots.push(bootId);
    const process: SimProcess = new SimProcess({
      ...this.#shared,
      network: this.#network,
      locks: this.#locks,
      world: this.#world,
      profile: this.#profile,
      nodeId: node.nodeId,
      plays: node.plays,
      incarnation: node.incarnation,
      bootId,
      endedBoots,
      faults: () => this.#faults,
      outage: () => this.#outageUntilMs > this.#world.nowMs,
      onEnd: () => this.#ended(node, process),
    });
    node.processes.push(process);
    this.#world.trace.add(process.name, 'boots');
    void process.start();
  }

  #bootWorker(host: SimHost): void {
    host.incarnation += 1;
    const dispatchers = this.#nodes.filter(({ plays }) => plays.dispatcher);
    const process: SimWorker = new SimWorker({
      ...this.#shared,
      ...{ world: this.#world, streams: this.#streams },
      name: `${host.name}.${host.incarnation}`,
      servers: dispatchers.map(({ nodeId }) => nodeId),
      onEnd: () => {
        host.processes = host.processes.filter((other) => other !== process);
        this.#later(() => this.#bootWorker(host));
      },
    });
    host.processes.push(process);
    this.#world.trace.add(process.name, 'boots');
    void process.start();
  }

  #ended(node: SimNode, process: SimProcess): void {
    node.processes = node.processes.filter((other) => other !== process);
    if (node.processes.length > 0) return;
    this.#later(() => {
      if (node.processes.length === 0) this.#boot(node);
    });
  }

  /** At the end of the safety phase everything is there again. */
  #later(boot: () => void): void {
    const { chance, nowMs } = this.#world;
    const { safetyMs } = this.#profile;
    const patienceMs = chance.pick([200, 2_000, 30_000]);
    const afterMs = nowMs + chance.between(0, patienceMs);
    this.#world.at(Math.max(nowMs + 100, Math.min(afterMs, safetyMs)), boot);
  }

  #planFaults(): void {
    const { chance } = this.#world;
    const { outages, outageMsMax, crashes, pauses, pauseMsMax, restarts, clockSteps, cuts, safetyMs } =
      this.#profile;
    const { partitions, partitionMsMax } = this.#profile;
    const { storageClockSteps, storageClockStepMsMax, historyLocks, jobLocks, lockMsMax } = this.#profile;
    const machines = [...this.#nodes, ...this.#hosts];
    const some = (count: number, event: (machine: SimNode | SimHost, leftMs: number) => void) => {
      for (let i = 0; i < count; i += 1) {
        const atMs = chance.between(2_000, safetyMs);
        this.#world.at(atMs, () => event(chance.pick(machines), safetyMs - atMs));
      }
    };
    some(outages, (_, leftMs) => this.#outage(Math.min(chance.between(500, outageMsMax), leftMs)));
    const lockMs = (leftMs: number) => Math.min(chance.between(500, lockMsMax), leftMs);
    some(historyLocks, (_, leftMs) => this.#locks.lockHistory(lockMs(leftMs)));
    some(jobLocks, (_, leftMs) => {
      const jobIds = this.#shared.observer.jobIds();
      if (jobIds.length > 0) this.#locks.lockJob(chance.pick(jobIds), lockMs(leftMs));
    });
    some(cuts, () => this.#streams.cutSome());
    some(this.#hosts.length === 0 ? 0 : partitions, (_, leftMs) => {
      const worker = chance.pick(this.#hosts).processes.at(-1);
      if (worker) this.#streams.partOff(worker.name, Math.min(chance.between(500, partitionMsMax), leftMs));
    });
    some(crashes, (node) => node.processes.at(-1)?.kill('killed'));
    some(restarts, (node) => void node.processes.at(-1)?.shutDown());
    some(clockSteps, (node) => node.processes.at(-1)?.stepClock(chance.integer(-100_000, 100_000)));
    some(storageClockSteps, () =>
      this.#world.stepStorageClock(chance.integer(-storageClockStepMsMax, storageClockStepMsMax)),
    );
    some(pauses, (node, leftMs) => {
      node.processes.at(-1)?.pause(Math.min(chance.between(500, pauseMsMax), leftMs));
      // Somebody takes it for dead and starts another under the same name. Only who keeps shards learns that it was replaced; for
      // the others nothing but the lock of their folder tells that earlier processes have ended.
      if ('plays' in node && chance.happens(0.2) && node.plays.scheduler)
        this.#world.at(this.#world.nowMs + chance.between(0, 5_000), () => this.#boot(node));
    });
  }

  #outage(forMs: number): void {
    this.#world.trace.add('world', `storage does not answer for ${Math.round(forMs)} ms`);
    this.#outageUntilMs = this.#world.nowMs + forMs;
  }
}
