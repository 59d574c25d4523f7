/**
 * One process of a node: the production composition, over ports that can fail. It ends by being killed (its timers and answers
 * never come) or by being stopped, and is never used again.
 */
import { type BootId, type NodeId, SERVER, type WorkerId } from '@carillon/domain';
import { type Random, silentLog, sleep } from '@carillon/foundation';
import { composeEngine, ENGINE_DEFAULTS, type Engine } from '../../packages/server/src/compose.ts';
import { type OperationsOfOne, operationsAs } from '../../packages/server/src/operations/operations.ts';
import { joinNode } from '../../packages/server/src/sharding/join-node.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import type { WorkerRights } from '../../packages/server/src/worker-home/worker-sessions.ts';
import type { LocalWorker } from '../../packages/server/src/worker-link/worker-link.ts';
import { BoundedWorker, unrecordedMaxOf } from './bounded-worker.ts';
import type { ExecutingProcess, ExecutionLog } from './execution-log.ts';
import type { FaultProfile, Plays } from './fault-profile.ts';
import { faultyStorage } from './faulty-storage.ts';
import { simulatedHandlers } from './handlers.ts';
import { LossyWorkerLink, type SignalNetwork } from './lossy-ports.ts';
import type { Observer } from './observer.ts';
import { ProcessClock, ProcessGate } from './process-gate.ts';
import type { StorageLocks } from './storage-locks.ts';
import type { StreamHome } from './stream-network.ts';
import type { World } from './world.ts';

export const NODE_TTL_MS = 10_000;
export const WORKER_SILENT_MS = 15_000;
const DRAIN_MS = 4_000;
/** Streams that are open when it stops. */
const CLOSE_MS = 5_000;

export interface SimProcessOptions {
  readonly world: World;
  readonly storage: Storage;
  readonly observer: Observer;
  readonly executions: ExecutionLog;
  /** Puts a defect between the dispatcher and the worker. */
  readonly mutateWorker: (worker: LocalWorker) => LocalWorker;
  readonly network: SignalNetwork;
  readonly locks: StorageLocks;
  readonly nodeId: NodeId;
  readonly plays: Plays;
  readonly incarnation: number;
  readonly bootId: BootId;
  readonly endedBoots: readonly BootId[];
  readonly profile: FaultProfile;
  readonly faults: () => FaultProfile;
  readonly outage: () => boolean;
  /** It is gone, by whatever end. */
  readonly onEnd: () => void;
}

export class SimProcess implements ExecutingProcess, StreamHome {
  readonly name: string;
  readonly slots: number;
  readonly unrecordedMax: number;
  readonly operations: OperationsOfOne;
  replaced = false;
  readonly #world: World;
  readonly #nodeId: NodeId;
  readonly gate: ProcessGate;
  readonly #clock: ProcessClock;
  readonly #onEnd: () => void;
  readonly #engine: Engine;
  readonly #join: () => Promise<unknown>;
  readonly #link: LossyWorkerLink;
  #lastPauseEndMs = Number.NEGATIVE_INFINITY;
  #started = false;
  /** Streams of workers that are open. */
  readonly #streams = new Set<Promise<void>>();

  constructor(options: SimProcessOptions) {
    const { world, nodeId, incarnation, profile, onEnd, plays } = options;
    this.#world = world;
    this.#nodeId = nodeId;
    this.#onEnd = onEnd;
    this.name = `${nodeId}.${incarnation}`;
    this.slots = plays.dispatcher ? profile.slots : 0;
    this.gate = new ProcessGate(world);
    const { chance } = world;
    const skewMs = Math.round(chance.between(-profile.skewMsMax, profile.skewMsMax));
    this.#clock = new ProcessClock(world, this.gate, { skewMs, originMs: chance.between(0, 1e6) });
    const { faults, mutateWorker } = options;
    const { slots, unrecordedMaxLeast: least } = profile;
    this.unrecordedMax = unrecordedMaxOf({ slots, least });
    const lessBy = unrecordedMaxOf({ slots }) - this.unrecordedMax;
    this.#link = new LossyWorkerLink({
      lost: () => chance.happens(faults().loseHandOver),
      wrap: (worker) => mutateWorker(new BoundedWorker(worker, { lessBy })),
    });
    const storage = faultyStorage({
      ...options,
      ...{ gate: this.gate, name: this.name, crash: () => this.kill('crashed') },
    });
    this.#engine = this.#compose(options, storage);
    this.#join = async () => {
      if (!plays.scheduler) return;
      await joinNode({
        ...{ ...options, members: storage.members, address: this.name, ttlMs: NODE_TTL_MS, log: silentLog },
        newNodeId: () => Promise.reject(new Error('the node id is taken by a process that ended')),
      });
    };
    this.operations = operationsAs(SERVER, this.#engine.operations);
  }

  get dead(): boolean {
    return this.gate.dead;
  }

  /** Answers requests of users. */
  get serving(): boolean {
    return this.#started && !this.gate.dead && !this.gate.paused;
  }

  get lastPauseEndMs(): number {
    return this.#lastPauseEndMs;
  }

  /** What it still has in hand; nothing when it is at rest. */
  atHand(): { running: number; slotsTaken: number } {
    const free = this.#link.workers().reduce((sum, worker) => sum + worker.freeSlots, 0);
    const slots = this.slots * (1 + this.remoteWorkers().length);
    return { running: this.#engine.counts().running, slotsTaken: slots - free };
  }

  /** Workers on other machines that it hands runs to. */
  remoteWorkers(): WorkerId[] {
    return this.#link
      .workers()
      .flatMap(({ workerId }) => (workerId.startsWith(this.#nodeId) ? [] : [workerId]));
  }

  serve(stream: Parameters<StreamHome['serve']>[0]): ReturnType<StreamHome['serve']> {
    if (!this.#started) return undefined;
    const rights: WorkerRights = { mayOffer: () => true, namespaces: 'all' };
    const recognise = () => Promise.resolve(rights);
    const keepOpen = () => undefined;
    const unreadable = () => undefined;
    const call = { ...stream, keyId: 'simulated-key', rights, recognise, keepOpen, unreadable };
    const answers = this.#engine.workers?.serve(call);
    return answers && this.#whileOpen(answers);
  }

  async *#whileOpen<Frame>(answers: AsyncIterable<Frame>): AsyncGenerator<Frame> {
    const { promise: isOver, resolve } = Promise.withResolvers<void>();
    this.#streams.add(isOver);
    try {
      yield* answers;
    } finally {
      resolve();
      this.#streams.delete(isOver);
    }
  }

  async start(): Promise<void> {
    try {
      await this.#join();
      await this.#engine.start();
      this.#started = true;
    } catch {
      // As a real process does that finds no database when it starts.
      this.kill('could not start');
    }
  }

  kill(why: string): void {
    if (this.gate.dead) return;
    this.#world.trace.add(this.name, `dies: ${why}`);
    this.gate.kill();
    this.#onEnd();
  }

  pause(forMs: number): void {
    this.#world.trace.add(this.name, `stands still for ${Math.round(forMs)} ms`);
    this.gate.pause(forMs);
    this.#lastPauseEndMs = this.#world.nowMs + forMs;
  }

  stepClock(byMs: number): void {
    this.#world.trace.add(this.name, `wall clock is set by ${byMs} ms`);
    this.#clock.step(byMs);
  }

  async shutDown(): Promise<void> {
    if (!this.#started || this.gate.dead) return;
    this.#world.trace.add(this.name, 'is asked to stop');
    this.#started = false;
    await this.#engine.workers?.stop();
    const isClosed = new AbortController();
    await Promise.race([Promise.all(this.#streams), sleep(this.#clock, CLOSE_MS, isClosed.signal)]);
    isClosed.abort();
    await this.#engine.stop();
    this.kill('stopped in order');
  }

  #compose(options: SimProcessOptions, storage: Storage): Engine {
    const { world, nodeId, incarnation, bootId, endedBoots, plays, profile } = options;
    const { executions, network, faults } = options;
    const { chance } = world;
    const random: Random = { next: () => chance.next(), id: () => world.ids.id() };
    return composeEngine({
      storage,
      handlers: simulatedHandlers({
        ...{ clock: this.#clock, log: executions, process: this },
        crash: () => this.kill('poisoned'),
      }),
      ...{ nodeId, incarnation, bootId, endedBoots, plays, address: this.name },
      ...{
        random,
        clock: this.#clock,
        log: silentLog,
      },
      settings: {
        ...ENGINE_DEFAULTS,
        ...{
          slots: profile.slots,
          nodeTtlMs: NODE_TTL_MS,
          workerSilentMs: WORKER_SILENT_MS,
          drainMs: DRAIN_MS,
        },
        ...{ lookAheadMs: profile.lookAheadMs, lookAheadRowsMax: profile.lookAheadRowsMax },
      },
      link: this.#link,
      signals: network.join({ gate: this.gate, loses: () => chance.happens(faults().loseSignal) }),
      onReplaced: () => this.kill('replaced by a newer process'),
      defer: queueMicrotask,
    });
  }
}
