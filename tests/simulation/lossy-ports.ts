/** The two ports whose messages may be lost: signals are hints, and handing over is repaired by heartbeats. */
import type { ClaimedBatch, RunId } from '@carillon/domain';
import { silentLog } from '@carillon/foundation';
import { MemorySignalBus } from '../../packages/server/src/signal-bus/memory-signal-bus.ts';
import type { SignalBus, Signals } from '../../packages/server/src/signal-bus/signal-bus.ts';
import { InProcessWorkerLink } from '../../packages/server/src/worker-link/in-process-worker-link.ts';

export class LossySignalBus implements SignalBus {
  readonly #bus = new MemorySignalBus({ log: silentLog });
  readonly #lost: () => boolean;

  constructor(lost: () => boolean) {
    this.#lost = lost;
  }

  send<Name extends keyof Signals>(name: Name, signal: Signals[Name]): void {
    if (!this.#lost()) this.#bus.send(name, signal);
  }

  on<Name extends keyof Signals>(name: Name, listener: (signal: Signals[Name]) => void): () => void {
    return this.#bus.on(name, listener);
  }
}

export class LossyWorkerLink extends InProcessWorkerLink {
  readonly #lost: () => boolean;

  constructor(lost: () => boolean) {
    super();
    this.#lost = lost;
  }

  override hand(batch: ClaimedBatch): void {
    if (!this.#lost()) super.hand(batch);
    // The link counts promised slots, so it is the link that frees those of a message it could not deliver.
    else this.unreserve(batch.workerId, batch.runs.length);
  }

  override cancel(runIds: readonly RunId[]): void {
    if (!this.#lost()) super.cancel(runIds);
  }
}
