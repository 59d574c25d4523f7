/**
 * One process of a worker on another machine: the runtime and the home of production, at the end of a stream that can fail. It is killed
 * or stopped as a process of a server is.
 */
import type { WorkerId } from '@carillon/domain';
import { type Random, silentLog } from '@carillon/foundation';
import { type WorkerHome, WorkerRuntime } from '@carillon/worker';
import { RemoteHome } from '../../packages/worker/src/remote/remote-home.ts';
import { unrecordedMaxOf } from './bounded-worker.ts';
import type { ExecutingProcess, ExecutionLog } from './execution-log.ts';
import type { FaultProfile } from './fault-profile.ts';
import { simulatedHandlers } from './handlers.ts';
import { ProcessClock, ProcessGate } from './process-gate.ts';
import type { StreamNetwork } from './stream-network.ts';
import type { World } from './world.ts';

export interface SimWorkerOptions {
  readonly world: World;
  readonly name: string;
  readonly streams: StreamNetwork;
  /** Addresses. */
  readonly servers: readonly string[];
  readonly executions: ExecutionLog;
  readonly profile: FaultProfile;
  /** Puts a defect between the worker and its home. */
  readonly mutateHome: (home: WorkerHome) => WorkerHome;
  /** It is gone, by whatever end. */
  readonly onEnd: () => void;
}

const DRAIN_MS = 4_000;

export class SimWorker implements ExecutingProcess {
  readonly name: string;
  readonly slots: number;
  readonly unrecordedMax: number;
  readonly replaced = false;
  readonly #world: World;
  readonly #gate: ProcessGate;
  readonly #clock: ProcessClock;
  readonly #runtime: WorkerRuntime;
  readonly #onEnd: () => void;
  #lastPauseEndMs = Number.NEGATIVE_INFINITY;
  #isStopping = false;
  #hasLeft = false;

  constructor(options: SimWorkerOptions) {
    const { world, name, streams, servers, executions, profile, mutateHome, onEnd } = options;
    const { slots, unrecordedMaxLeast: least, skewMsMax } = profile;
    const { chance } = world;
    this.#world = world;
    this.#onEnd = onEnd;
    this.name = name;
    this.slots = slots;
    this.unrecordedMax = unrecordedMaxOf({ slots, least });
    this.#gate = new ProcessGate(world);
    const skewMs = Math.round(chance.between(-skewMsMax, skewMsMax));
    const clock = new ProcessClock(world, this.#gate, { skewMs, originMs: chance.between(0, 1e6) });
    this.#clock = clock;
    const random: Random = { next: () => chance.next(), id: () => world.ids.id() };
    const home = new RemoteHome({
      ...{ servers, name, language: 'simulated', version: '0', labels: {}, parameters: new Map() },
      ...{ clock, random, log: silentLog },
      dial: streams.dialFrom({ name, gate: this.#gate }),
      nextTurn: () => new Promise<void>((resolve) => clock.timer(0, resolve)),
      isRefused: () => false,
      endWhenKeyRefused: false,
      onConnected: ({ server }) => world.trace.add(name, `is welcome at ${server}`),
      onRefused: ({ message }) => world.violate(`${name} was refused for good: ${message}`),
    });
    this.#runtime = new WorkerRuntime({
      ...{ clock, random, log: silentLog, slots, drainMs: DRAIN_MS },
      home: this.#watched(mutateHome(home)),
      nextId: () => random.id() as WorkerId,
      handlers: simulatedHandlers({
        ...{ clock, log: executions, process: this },
        crash: () => this.kill('poisoned'),
      }),
    });
  }

  get dead(): boolean {
    return this.#gate.dead;
  }

  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  get lastPauseEndMs(): number {
    return this.#lastPauseEndMs;
  }

  /** Changes when it was buried. */
  get workerId(): WorkerId {
    return this.#runtime.workerId;
  }

  /** What it still has in hand; nothing when it is at rest. */
  atHand(): { running: number; unrecorded: number } {
    const { runningCount: running, unrecordedCount: unrecorded } = this.#runtime;
    return { running, unrecorded };
  }

  async start(): Promise<void> {
    await this.#runtime.start();
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

  /** Notes its last word. */
  #watched(home: WorkerHome): WorkerHome {
    return new Proxy(home, {
      get: (target, name) => {
        if (name === 'leave') this.#hasLeft ||= this.#isStopping;
        const own: unknown = Reflect.get(target, name, target);
        return typeof own === 'function' ? own.bind(target) : own;
      },
    });
  }

  async shutDown(): Promise<void> {
    if (this.#isStopping || this.#gate.dead) return;
    this.#isStopping = true;
    this.#world.trace.add(this.name, 'is asked to stop');
    await this.#runtime.stop();
    this.kill('stopped in order');
  }
}
