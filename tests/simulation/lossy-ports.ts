/** The two ports whose messages may be lost: signals are hints, and handing over is repaired by heartbeats. */
import type { ClaimedBatch } from '@carillon/domain';
import { silentLog } from '@carillon/foundation';
import { MemorySignalBus } from '../../packages/server/src/signal-bus/memory-signal-bus.ts';
import type { SignalBus, Signals } from '../../packages/server/src/signal-bus/signal-bus.ts';
import { InProcessWorkerLink } from '../../packages/server/src/worker-link/in-process-worker-link.ts';
import type { LocalWorker } from '../../packages/server/src/worker-link/worker-link.ts';
import type { ProcessGate } from './process-gate.ts';
import type { World } from './world.ts';

interface Member {
  readonly gate: ProcessGate;
  readonly loses: () => boolean;
}

/** What processes say to each other: after a while, or never. Within its own process a hint may be lost as well. */
export class SignalNetwork {
  readonly #world: World;
  readonly #members: (Member & { readonly bus: MemorySignalBus })[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  join(member: Member): SignalBus {
    const bus = new MemorySignalBus({ log: silentLog });
    const joined = { ...member, bus };
    this.#members.push(joined);
    return {
      send: (name, signal) => {
        if (!member.loses()) bus.send(name, signal);
        this.#carry(joined, name, signal);
      },
      on: (name, listener) => bus.on(name, listener),
    };
  }

  #carry<Name extends keyof Signals>(from: Member, name: Name, signal: Signals[Name]): void {
    for (const to of this.#members) {
      if (to.gate.dead || to.gate === from.gate || from.loses()) continue;
      const delayMs = this.#world.chance.between(0.5, 8);
      this.#world.clock.timer(delayMs, () => to.gate.enter(() => to.bus.send(name, signal)));
    }
  }
}

export class LossyWorkerLink extends InProcessWorkerLink {
  readonly #lost: () => boolean;
  readonly #wrap: (worker: LocalWorker) => LocalWorker;
  readonly #wrapped = new WeakMap<LocalWorker, LocalWorker>();

  /** wrap: how the dispatcher sees the worker. */
  constructor(options: { lost: () => boolean; wrap: (worker: LocalWorker) => LocalWorker }) {
    super();
    this.#lost = options.lost;
    this.#wrap = options.wrap;
  }

  override attach(worker: LocalWorker): void {
    const wrapped = this.#wrap(worker);
    this.#wrapped.set(worker, wrapped);
    super.attach(wrapped);
  }

  override detach(worker: LocalWorker): void {
    super.detach(this.#wrapped.get(worker) ?? worker);
  }

  override hand(batch: ClaimedBatch): void {
    if (!this.#lost()) super.hand(batch);
    // The link counts reserved slots, so the link frees those of a message that it could not deliver.
    else this.unreserve(batch.workerId, batch.runs.length);
  }
}
