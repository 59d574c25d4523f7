/** The worker of a process with a lower bound on unrecorded outcomes than production has: so few runs would never reach that one. */
import type { ClaimedBatch, WorkerId } from '@carillon/domain';
import type { LocalWorker } from '../../packages/server/src/worker-link/worker-link.ts';

/** As `runtime/unrecorded-bound.ts` of packages/worker has it. */
export function unrecordedMaxOf({ slots, least = 1_000 }: { slots: number; least?: number }): number {
  return Math.max(least, 2 * slots);
}

export class BoundedWorker implements LocalWorker {
  readonly #worker: LocalWorker;
  readonly #lessBy: number;

  constructor(worker: LocalWorker, { lessBy }: { lessBy: number }) {
    this.#worker = worker;
    this.#lessBy = lessBy;
  }

  get workerId(): WorkerId {
    return this.#worker.workerId;
  }

  get slots(): number {
    return this.#worker.slots;
  }

  get runningCount(): number {
    return this.#worker.runningCount;
  }

  heldBy(): ReadonlyMap<number, number> {
    return this.#worker.heldBy();
  }

  get handlers(): readonly string[] {
    return this.#worker.handlers;
  }

  get unrecordedLeft(): number {
    return this.#worker.unrecordedLeft - this.#lessBy;
  }

  get unrecordedCount(): number {
    return this.#worker.unrecordedCount;
  }

  accept(batch: ClaimedBatch): void {
    this.#worker.accept(batch);
  }
}
