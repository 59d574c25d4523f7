/** The link to workers in this process: a function call. Slots are counted here, by the one who promises them. */
import type { ClaimedBatch, RunId, WorkerId, WorkerView } from '@carillon/domain';
import type { WorkerLink } from './worker-link.ts';

/** What a worker in this process offers to the link. */
export interface LocalWorker {
  readonly workerId: WorkerId;
  readonly slots: number;
  offers(handler: string): boolean;
  accept(batch: ClaimedBatch): void;
  cancel(runIds: readonly RunId[]): void;
}

class Seat implements WorkerView {
  readonly worker: LocalWorker;
  #taken = 0;

  constructor(worker: LocalWorker) {
    this.worker = worker;
  }

  get workerId(): WorkerId {
    return this.worker.workerId;
  }

  get freeSlots(): number {
    return Math.max(0, this.worker.slots - this.#taken);
  }

  offers(handler: string): boolean {
    return this.worker.offers(handler);
  }

  take(slots: number): void {
    this.#taken += slots;
  }

  free(slots: number): void {
    this.#taken -= slots;
  }
}

export class InProcessWorkerLink implements WorkerLink {
  readonly #seats = new Map<string, Seat>();
  readonly #listeners: (() => void)[] = [];
  #announced = false;

  attach(worker: LocalWorker): void {
    this.#seats.set(worker.workerId, new Seat(worker));
    this.#announce();
  }

  detach(workerId: WorkerId): void {
    this.#seats.delete(workerId);
    this.#announce();
  }

  /** A worker tells that slots are free again. */
  freed(workerId: WorkerId, slots: number): void {
    this.#seats.get(workerId)?.free(slots);
    this.#announce();
  }

  workers(): readonly WorkerView[] {
    return [...this.#seats.values()];
  }

  reserve(workerId: string, slots: number): void {
    this.#seats.get(workerId)?.take(slots);
  }

  unreserve(workerId: string, slots: number): void {
    this.freed(workerId as WorkerId, slots);
  }

  hand(batch: ClaimedBatch): void {
    // A worker that left meanwhile does not answer for the lease, and gives it up with its next heartbeat or its silence.
    this.#seats.get(batch.workerId)?.worker.accept(batch);
  }

  cancel(runIds: readonly RunId[]): void {
    for (const seat of this.#seats.values()) seat.worker.cancel(runIds);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** A thousand slots freed in one turn are one change. */
  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    queueMicrotask(() => {
      this.#announced = false;
      for (const listener of this.#listeners) listener();
    });
  }
}
