/** Where workers of this process sign in, and say that slots are free again. */
import type { ClaimedBatch, RunId, WorkerId } from '@carillon/domain';

/** What a worker in this process offers to the link. */
export interface LocalWorker {
  readonly workerId: WorkerId;
  /** How many runs it executes at a time; 0 while it takes none. */
  readonly slots: number;
  /** Executions that have not returned, whoever they belong to now. */
  readonly runningCount: number;
  readonly handlers: readonly string[];
  /** Runs it may take on before outcomes of earlier ones are recorded. */
  readonly unrecordedLeft: number;
  accept(batch: ClaimedBatch): void;
  cancel(runIds: readonly RunId[]): void;
}

export interface LocalWorkers {
  attach(worker: LocalWorker): void;
  detach(workerId: WorkerId): void;
  /** A worker tells that slots are free again. */
  freed(): void;
}
