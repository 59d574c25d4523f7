/**
 * The link to workers in this process: a function call. The link counts reserved slots (DISP-2), the worker counts the slots in use: a
 * worker that registered again under a new id may still execute runs of its old id.
 */
import type { ClaimedBatch, WorkerId } from '@carillon/domain';
import type { LocalWorker, LocalWorkers, WorkerLink, WorkerView } from './worker-link.ts';

class WorkerSlots implements WorkerView {
  readonly worker: LocalWorker;
  #reserved = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(worker: LocalWorker) {
    this.worker = worker;
  }

  get workerId(): WorkerId {
    return this.worker.workerId;
  }

  get freeSlots(): number {
    const { slots, runningCount, unrecordedLeft } = this.worker;
    return Math.max(0, Math.min(slots - runningCount, unrecordedLeft) - this.#reserved);
  }

  get handlers(): readonly string[] {
    return this.worker.handlers;
  }

  reserve(slots: number): void {
    this.#reserved += slots;
    if (this.#reserved === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async whenUnreserved(): Promise<void> {
    if (this.#reserved > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

export class InProcessWorkerLink implements WorkerLink, LocalWorkers {
  readonly #workers = new Map<string, WorkerSlots>();
  readonly #listeners: (() => void)[] = [];
  #announced = false;

  attach(worker: LocalWorker): void {
    this.#workers.set(worker.workerId, new WorkerSlots(worker));
    this.#announce();
  }

  detach(workerId: WorkerId): void {
    this.#workers.delete(workerId);
    this.#announce();
  }

  freed(): void {
    this.#announce();
  }

  async whenUnreserved(workerId: WorkerId): Promise<void> {
    await this.#workers.get(workerId)?.whenUnreserved();
  }

  workers(): readonly WorkerView[] {
    return [...this.#workers.values()];
  }

  reserve(workerId: string, slots: number): void {
    this.#workers.get(workerId)?.reserve(slots);
  }

  unreserve(workerId: string, slots: number): void {
    this.#workers.get(workerId)?.reserve(-slots);
    this.#announce();
  }

  hand(batch: ClaimedBatch): void {
    // If the worker has left, the batch is lost: the lease is recovered after its next check of leases, or after its silence.
    const slots = this.#workers.get(batch.workerId);
    slots?.reserve(-batch.runs.length);
    slots?.worker.accept(batch);
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
