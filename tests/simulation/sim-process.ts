/**
 * One process of a node: the production roles, wired as compose.ts wires them, over ports that can fail. It ends by being
 * killed (its timers and answers never come) or by being stopped, and is never used again.
 */
import { type BootId, type NodeId, SERVER } from '@carillon/domain';
import { Loop, type Random, silentLog } from '@carillon/foundation';
import { OutcomeRecorder } from '../../packages/server/src/completion/outcome-recorder.ts';
import { MemoryCounters } from '../../packages/server/src/counters/memory-counters.ts';
import { Dispatcher } from '../../packages/server/src/dispatcher/dispatcher.ts';
import { Executor } from '../../packages/server/src/executor/executor.ts';
import { Housekeeper } from '../../packages/server/src/housekeeping/housekeeper.ts';
import { DirectIngest } from '../../packages/server/src/ingest/direct-ingest.ts';
import { Accounts } from '../../packages/server/src/operations/accounts/accounts.ts';
import { AuditLog } from '../../packages/server/src/operations/audit-log.ts';
import { EventFeed } from '../../packages/server/src/operations/event-feed/event-feed.ts';
import {
  createOperations,
  type OperationsOfOne,
  operationsAs,
} from '../../packages/server/src/operations/operations.ts';
import { Recovery } from '../../packages/server/src/recovery/recovery.ts';
import { InProcessRunQueue } from '../../packages/server/src/run-queue/in-process-run-queue.ts';
import { Scheduler } from '../../packages/server/src/scheduler/scheduler.ts';
import { joinNode } from '../../packages/server/src/sharding/join-node.ts';
import { ShardKeeper } from '../../packages/server/src/sharding/shard-keeper.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import { StorageClock } from '../../packages/server/src/storage/storage-clock.ts';
import type { ExecutingProcess, ExecutionLog } from './execution-log.ts';
import type { FaultProfile } from './fault-profile.ts';
import { faultyStorage } from './faulty-storage.ts';
import { simulatedHandlers } from './handlers.ts';
import { LossySignalBus, LossyWorkerLink } from './lossy-ports.ts';
import type { Observer } from './observer.ts';
import { ProcessClock, ProcessGate } from './process-gate.ts';
import type { World } from './world.ts';

export const NODE_TTL_MS = 10_000;
export const WORKER_SILENT_MS = 15_000;
const DRAIN_MS = 4_000;
const CLOCK_SYNC_MS = 5_000;

export interface SimProcessOptions {
  readonly world: World;
  readonly storage: Storage;
  readonly observer: Observer;
  readonly executions: ExecutionLog;
  readonly nodeId: NodeId;
  readonly incarnation: number;
  readonly bootId: BootId;
  readonly endedBoots: readonly BootId[];
  readonly profile: FaultProfile;
  readonly faults: () => FaultProfile;
  readonly outage: () => boolean;
  /** It is gone, by whatever end. */
  readonly onEnd: () => void;
}

export class SimProcess implements ExecutingProcess {
  readonly name: string;
  readonly slots: number;
  readonly operations: OperationsOfOne;
  replaced = false;
  readonly #world: World;
  readonly #gate: ProcessGate;
  readonly #clock: ProcessClock;
  readonly #onEnd: () => void;
  readonly #roles: ReturnType<typeof wireRoles>;
  #lastPauseEndMs = Number.NEGATIVE_INFINITY;
  #started = false;

  constructor(options: SimProcessOptions) {
    const { world, nodeId, incarnation, profile, onEnd } = options;
    this.#world = world;
    this.#onEnd = onEnd;
    this.name = `${nodeId}.${incarnation}`;
    this.slots = profile.slots;
    this.#gate = new ProcessGate(world);
    const { chance } = world;
    const skewMs = Math.round(chance.between(-profile.skewMsMax, profile.skewMsMax));
    this.#clock = new ProcessClock(world, this.#gate, { skewMs, originMs: chance.between(0, 1e6) });
    this.#roles = wireRoles(this, { ...options, gate: this.#gate, clock: this.#clock });
    this.operations = this.#roles.operations;
  }

  get dead(): boolean {
    return this.#gate.dead;
  }

  /** Answers requests of users. */
  get serving(): boolean {
    return this.#started && !this.#gate.dead && !this.#gate.paused;
  }

  get lastPauseEndMs(): number {
    return this.#lastPauseEndMs;
  }

  /** What it still has in hand; nothing when it is at rest. */
  atHand(): { waiting: number; running: number; slotsTaken: number } {
    const { dispatcher, executor, link } = this.#roles;
    const free = link.workers().reduce((sum, worker) => sum + worker.freeSlots, 0);
    return { waiting: dispatcher.waiting, running: executor.runningCount, slotsTaken: this.slots - free };
  }

  async start(): Promise<void> {
    try {
      await this.#roles.start();
      this.#started = true;
    } catch {
      // As a real process does that finds no database when it starts.
      this.kill('could not start');
    }
  }

  kill(why: string): void {
    if (this.#gate.dead) return;
    this.#world.trace.add(this.name, `dies: ${why}`);
    this.#gate.kill();
    this.#onEnd();
  }

  pause(forMs: number): void {
    this.#world.trace.add(this.name, `stands still for ${Math.round(forMs)} ms`);
    this.#gate.pause(forMs);
    this.#lastPauseEndMs = this.#world.nowMs + forMs;
  }

  stepClock(byMs: number): void {
    this.#world.trace.add(this.name, `wall clock is set by ${byMs} ms`);
    this.#clock.step(byMs);
  }

  async shutDown(): Promise<void> {
    if (!this.#started || this.#gate.dead) return;
    this.#world.trace.add(this.name, 'is asked to stop');
    this.#started = false;
    await this.#roles.stop();
    this.kill('stopped in order');
  }
}

interface Wiring extends SimProcessOptions {
  readonly gate: ProcessGate;
  readonly clock: ProcessClock;
}

function wireRoles(process: SimProcess, wiring: Wiring) {
  const { world, nodeId, incarnation, bootId, endedBoots, profile, faults, executions } = wiring;
  const { chance } = world;
  const storage = faultyStorage({ ...wiring, name: process.name, crash: () => process.kill('crashed') });
  const { members, leases, schedule } = storage;
  const clock = new StorageClock(wiring.clock);
  const random: Random = { next: () => chance.next(), id: () => world.ids.id() };
  const log = silentLog;
  const signals = new LossySignalBus(() => chance.happens(faults().loseSignal));
  const link = new LossyWorkerLink(() => chance.happens(faults().loseHandOver));
  const queue = new InProcessRunQueue({ capacity: profile.queueCapacity });
  const common = { clock, random, log };
  const ports = { ...common, signals, link, queue, leases, members };
  const identity = { nodeId, incarnation, bootId };
  const node = { ...identity, address: process.name, ttlMs: NODE_TTL_MS };

  const keeper = new ShardKeeper({
    ...{ ...common, ...node, members },
    onReplaced: () => process.kill('replaced by a newer process'),
  });
  const guard = () => keeper.guard();
  const look = { windowMs: profile.lookAheadMs, rowsMax: profile.lookAheadRowsMax };
  const scheduler = new Scheduler({ ...ports, ...look, store: schedule, guard });
  const dispatcher = new Dispatcher({ ...ports, guard });
  const reports = new OutcomeRecorder({ ...ports, retriesPerSecond: 1_000 });
  const handlers = simulatedHandlers({
    ...{ clock: wiring.clock, log: executions, process },
    crash: () => process.kill('poisoned'),
  });
  const limits = { slots: profile.slots, silentMs: WORKER_SILENT_MS, drainMs: DRAIN_MS };
  const executor = new Executor({ ...ports, ...identity, ...limits, reports, handlers });
  const recovery = new Recovery({
    ...ports,
    endedBoots,
    reports,
    silentMs: WORKER_SILENT_MS,
  });
  const housekeeper = new Housekeeper({
    ...common,
    store: storage.housekeeping,
    retentionMs: 30 * 86_400_000,
    eventRetentionMs: 7 * 86_400_000,
    auditRetentionMs: 365 * 86_400_000,
  });
  const clockKeeper = new Loop({
    ...{ ...common, name: 'clock', idleMs: CLOCK_SYNC_MS },
    runOnce: async () => {
      await clock.sync(members);
      return undefined;
    },
  });
  keeper.onChange(() => {
    scheduler.wake();
    dispatcher.wake();
  });
  const ingest = new DirectIngest({ jobs: storage.jobs });
  return {
    dispatcher,
    executor,
    link,
    operations: operationsAs(
      SERVER,
      createOperations({
        storage,
        ingest,
        signals,
        clock,
        random,
        audit: new AuditLog({ store: storage.audit, clock }),
        accounts: new Accounts({
          ...{ store: storage.accounts, clock, random, log },
          counters: new MemoryCounters(),
        }),
        events: new EventFeed({ store: storage.events, clock, log, listenersMax: 100 }),
      }),
    ),
    async start() {
      await joinNode({
        ...{ ...node, members, endedBoots, log },
        newNodeId: () => Promise.reject(new Error('the node id is taken by a process that ended')),
      });
      await clock.sync(members);
      await housekeeper.start();
      for (const service of [clockKeeper, reports, recovery, executor, keeper, scheduler, dispatcher])
        await service.start();
    },
    async stop() {
      const backwards = [
        scheduler,
        dispatcher,
        executor,
        recovery,
        reports,
        keeper,
        housekeeper,
        clockKeeper,
      ];
      for (const service of backwards) await service.stop();
    },
  };
}
