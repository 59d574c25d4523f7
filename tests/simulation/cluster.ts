/** The nodes over one storage: keeps a process alive on each, and does to them what machines and operators do. */
import type { BootId, NodeId } from '@carillon/domain';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import type { LocalWorker } from '../../packages/server/src/worker-link/worker-link.ts';
import type { ExecutionLog } from './execution-log.ts';
import { type FaultProfile, faultless, type Plays, rolesOf } from './fault-profile.ts';
import { SignalNetwork } from './lossy-ports.ts';
import type { Observer } from './observer.ts';
import { SimProcess } from './sim-process.ts';
import { StorageLocks } from './storage-locks.ts';
import type { World } from './world.ts';

interface SimNode {
  readonly nodeId: NodeId;
  readonly plays: Plays;
  incarnation: number;
  /** The boot ids of its processes so far: all of them on one folder, whose lock tells the next that they ended. */
  readonly boots: BootId[];
  /** The newest last; an older one lives on only while it stands still and has not noticed. */
  processes: SimProcess[];
}

interface ClusterOptions {
  readonly storage: Storage;
  readonly observer: Observer;
  readonly executions: ExecutionLog;
  readonly profile: FaultProfile;
  /** Puts a defect between dispatchers and workers. */
  readonly mutateWorker: (worker: LocalWorker) => LocalWorker;
}

export class Cluster {
  readonly #world: World;
  readonly #shared: ClusterOptions;
  readonly #profile: FaultProfile;
  readonly #nodes: SimNode[] = [];
  readonly #network: SignalNetwork;
  readonly #locks: StorageLocks;
  #faults: FaultProfile;
  #outageUntilMs = 0;

  constructor(world: World, options: Omit<ClusterOptions, 'mutateWorker'> & Partial<ClusterOptions>) {
    this.#world = world;
    this.#shared = { mutateWorker: (worker) => worker, ...options };
    this.#profile = options.profile;
    this.#faults = options.profile;
    this.#network = new SignalNetwork(world);
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
    this.#planFaults();
  }

  /** Processes that answer requests. */
  serving(): SimProcess[] {
    return this.#nodes.flatMap(({ processes }) => processes.filter((process) => process.serving));
  }

  processes(): SimProcess[] {
    return this.#nodes.flatMap(({ processes }) => processes);
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

  #ended(node: SimNode, process: SimProcess): void {
    node.processes = node.processes.filter((other) => other !== process);
    if (node.processes.length > 0) return;
    const { chance, nowMs } = this.#world;
    const { safetyMs } = this.#profile;
    const patienceMs = chance.pick([200, 2_000, 30_000]);
    const afterMs = nowMs + chance.between(0, patienceMs);
    this.#world.at(Math.max(nowMs + 100, Math.min(afterMs, safetyMs)), () => {
      if (node.processes.length === 0) this.#boot(node);
    });
  }

  #planFaults(): void {
    const { chance } = this.#world;
    const { outages, outageMsMax, crashes, pauses, pauseMsMax, restarts, clockSteps, safetyMs } =
      this.#profile;
    const { storageClockSteps, storageClockStepMsMax, historyLocks, jobLocks, lockMsMax } = this.#profile;
    const some = (count: number, event: (node: SimNode, leftMs: number) => void) => {
      for (let i = 0; i < count; i += 1) {
        const atMs = chance.between(2_000, safetyMs);
        this.#world.at(atMs, () => event(chance.pick(this.#nodes), safetyMs - atMs));
      }
    };
    some(outages, (_, leftMs) => this.#outage(Math.min(chance.between(500, outageMsMax), leftMs)));
    const lockMs = (leftMs: number) => Math.min(chance.between(500, lockMsMax), leftMs);
    some(historyLocks, (_, leftMs) => this.#locks.lockHistory(lockMs(leftMs)));
    some(jobLocks, (_, leftMs) => {
      const jobIds = this.#shared.observer.jobIds();
      if (jobIds.length > 0) this.#locks.lockJob(chance.pick(jobIds), lockMs(leftMs));
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
      if (chance.happens(0.2) && node.plays.scheduler)
        this.#world.at(this.#world.nowMs + chance.between(0, 5_000), () => this.#boot(node));
    });
  }

  #outage(forMs: number): void {
    this.#world.trace.add('world', `storage does not answer for ${Math.round(forMs)} ms`);
    this.#outageUntilMs = this.#world.nowMs + forMs;
  }
}
