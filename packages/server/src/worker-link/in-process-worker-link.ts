/**
 * The link to workers in this process: a function call. Promised slots are counted here, taken ones by the worker itself:
 * one that came back under a new id may still be busy with runs of its old one.
 */
import type { ClaimedBatch, RunId, WorkerId, WorkerView } from '@carillon/domain';
import type { LocalWorker, LocalWorkers } from './local-workers.ts';
import type { WorkerLink } from './worker-link.ts';

class Seat implements WorkerView {
  readonly worker: LocalWorker;
  #promised = 0;

  constructor(worker: LocalWorker) {
    this.worker = worker;
  }

  get workerId(): WorkerId {
    return this.worker.workerId;
  }

  get freeSlots(): number {
    const { slots, runningCount, unrecordedLeft } = this.worker;
    return Math.max(0, Math.min(slots - runningCount, unrecordedLeft) - this.#promised);
  }

  get handlers(): readonly string[] {
    return this.worker.handlers;
  }

  promise(slots: number): void {
    this.#promised += slots;
  }
}

export class InProcessWorkerLink implements WorkerLink, LocalWorkers {
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

  freed(): void {
    this.#announce();
  }

  workers(): readonly WorkerView[] {
    return [...this.#seats.values()];
  }

  reserve(workerId: string, slots: number): void {
    this.#seats.get(workerId)?.promise(slots);
  }

  unreserve(workerId: string, slots: number): void {
    this.#seats.get(workerId)?.promise(-slots);
    this.#announce();
  }

  hand(batch: ClaimedBatch): void {
    // A worker that left meanwhile does not answer for the lease, and gives it up with its next heartbeat or its silence.
    const seat = this.#seats.get(batch.workerId);
    seat?.promise(-batch.runs.length);
    seat?.worker.accept(batch);
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
