/**
 * The link to the workers of this server, in its process or connected by a stream: a function call. The link counts reserved slots (DISP-2), the worker counts the slots in use: a
 * worker that registered again under a new id may still execute runs of its old id.
 */
import type { ClaimedBatch, WorkerId } from '@carillon/domain';
import type { LocalWorker, LocalWorkers, WorkerLink, WorkerView } from './worker-link.ts';

/** Slots of claims under way. They belong to the id of a worker: a claim may outlive the connection of the worker it is for. */
class Reservations {
  readonly #slots = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  of(workerId: string): number {
    return this.#slots.get(workerId) ?? 0;
  }

  add(workerId: string, slots: number): void {
    this.#slots.set(workerId, this.of(workerId) + slots);
  }

  remove(workerId: string, slots: number): void {
    const left = this.of(workerId) - slots;
    if (left > 0) {
      this.#slots.set(workerId, left);
      return;
    }
    this.#slots.delete(workerId);
    const waiting = this.#waiting.get(workerId) ?? [];
    this.#waiting.delete(workerId);
    for (const resolve of waiting) resolve();
  }

  async whenNone(workerId: string): Promise<void> {
    if (this.of(workerId) === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(workerId, [...(this.#waiting.get(workerId) ?? []), resolve]);
    await promise;
  }
}

class WorkerSlots implements WorkerView {
  readonly worker: LocalWorker;
  readonly #reservations: Reservations;

  constructor(worker: LocalWorker, reservations: Reservations) {
    this.worker = worker;
    this.#reservations = reservations;
  }

  get workerId(): WorkerId {
    return this.worker.workerId;
  }

  get freeSlots(): number {
    const { slots, runningCount, unrecordedLeft } = this.worker;
    return Math.max(0, Math.min(slots - runningCount, unrecordedLeft) - this.#reservations.of(this.workerId));
  }

  get slots(): number {
    return this.worker.slots;
  }

  heldBy(): ReadonlyMap<number, number> {
    return this.worker.heldBy();
  }

  get handlers(): readonly string[] {
    return this.worker.handlers;
  }

  get namespaces(): readonly string[] | undefined {
    return this.worker.namespaces;
  }
}

export interface WorkerCounts {
  readonly workers: number;
  readonly slots: number;
  readonly running: number;
  readonly unrecorded: number;
}

export class InProcessWorkerLink implements WorkerLink, LocalWorkers {
  readonly #workers = new Map<string, WorkerSlots>();
  readonly #reservations = new Reservations();
  readonly #listeners: (() => void)[] = [];
  #announced = false;

  attach(worker: LocalWorker): void {
    this.#workers.set(worker.workerId, new WorkerSlots(worker, this.#reservations));
    this.#announce();
  }

  detach(worker: LocalWorker): void {
    if (this.#workers.get(worker.workerId)?.worker !== worker) return;
    this.#workers.delete(worker.workerId);
    this.#announce();
  }

  freed(): void {
    this.#announce();
  }

  whenUnreserved(workerId: WorkerId): Promise<void> {
    return this.#reservations.whenNone(workerId);
  }

  workers(): readonly WorkerView[] {
    return [...this.#workers.values()];
  }

  /** Of all workers together. */
  counts(): WorkerCounts {
    const counts = { workers: this.#workers.size, slots: 0, running: 0, unrecorded: 0 };
    for (const { worker } of this.#workers.values()) {
      counts.slots += worker.slots;
      counts.running += worker.runningCount;
      counts.unrecorded += worker.unrecordedCount;
    }
    return counts;
  }

  reserve(workerId: string, slots: number): void {
    this.#reservations.add(workerId, slots);
  }

  unreserve(workerId: string, slots: number): void {
    this.#reservations.remove(workerId, slots);
    this.#announce();
  }

  hand(batch: ClaimedBatch): void {
    this.#reservations.remove(batch.workerId, batch.runs.length);
    // If the worker has left, the batch is lost: the lease is recovered after its next check of leases, or after its silence.
    this.#workers.get(batch.workerId)?.worker.accept(batch);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Slots freed in one turn of the event loop are one change. */
  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    queueMicrotask(() => {
      this.#announced = false;
      for (const listener of this.#listeners) listener();
    });
  }
}
