/**
 * From the dispatcher to workers, wherever they run: in this process, or at the end of a stream. A handed-over batch may be lost on its
 * way: the home of the worker compares the leases it has with those in the storage, and returns the runs of the others.
 */
import type { ClaimedBatch, WorkerId } from '@carillon/domain';

/** A worker as the dispatcher sees it. */
export interface WorkerView {
  readonly workerId: WorkerId;
  readonly freeSlots: number;
  /** How many runs it executes at a time; 0 while it takes none. */
  readonly slots: number;
  /** How many of its slots each namespace has, by the key of the namespace. Claims under way are not in it. */
  heldBy(): ReadonlyMap<number, number>;
  readonly handlers: readonly string[];
  /** Only runs of jobs in these namespaces. Left out: in all. */
  readonly namespaces?: readonly string[] | undefined;
}

export interface WorkerLink {
  /** Living workers that this dispatcher can reach, with their free slots. */
  workers(): readonly WorkerView[];
  /** Reserves slots before the claim, so that two claims under way never use the same slot. */
  reserve(workerId: string, slots: number): void;
  /** Frees reserved slots for which no run is handed over. */
  unreserve(workerId: string, slots: number): void;
  hand(batch: ClaimedBatch): void;
  /** Called when slots became free or workers came and went. */
  onChange(listener: () => void): void;
}

/** A worker that this process can call: it runs here, or stands for one at the end of a stream. */
export interface LocalWorker {
  readonly workerId: WorkerId;
  /** How many runs it executes at a time; 0 while it takes none. */
  readonly slots: number;
  /** Executions that have not returned, also of runs that belong to other workers by now. */
  readonly runningCount: number;
  /** How many of these each namespace has, by the key of the namespace. */
  heldBy(): ReadonlyMap<number, number>;
  readonly handlers: readonly string[];
  /** Only runs of jobs in these namespaces. Left out: in all. */
  readonly namespaces?: readonly string[] | undefined;
  /** Runs it may take on before outcomes of earlier ones are recorded. */
  readonly unrecordedLeft: number;
  /** Runs that have ended and whose outcome is not recorded yet. */
  readonly unrecordedCount: number;
  accept(batch: ClaimedBatch): void;
}

/** Where they register, and announce free slots. */
export interface LocalWorkers {
  attach(worker: LocalWorker): void;
  /** Nothing happens when another worker was attached under its id since. */
  detach(worker: LocalWorker): void;
  /** Slots of a worker are free again. */
  freed(): void;
  /** Resolves when no claim for the worker is under way. */
  whenUnreserved(workerId: WorkerId): Promise<void>;
}
