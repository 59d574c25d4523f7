/**
 * The runs that may start, wherever they wait. Promise: take() hands out each run to one taker only, the most urgent priority
 * first, fairly between tenants, in a lane the oldest first; what was announced, and what was not, is found in bounded time.
 * Taking needs no ownership: any dispatcher with free slots takes.
 */
import type { ClaimedBatch, LeaseId, WorkerId } from '@carillon/domain';

/** What a worker may be given. */
export interface WorkerOffer {
  readonly handlers: readonly string[];
  /** Only runs of jobs in these namespaces. Left out: in all. */
  readonly namespaces?: readonly string[] | undefined;
  /** No runs of these namespaces, which have enough, by their keys. */
  readonly full?: ReadonlySet<number> | undefined;
}

export interface TakeRequest extends WorkerOffer {
  readonly leaseId: LeaseId;
  readonly workerId: WorkerId;
  readonly runsMax: number;
}

export interface Backlog {
  /** Runs for the worker, moved into a lease. Undefined when nothing is known that could be taken now. */
  take(request: TakeRequest): Promise<ClaimedBatch> | undefined;
  /** How long until there may be something to take for one of these. */
  readyInMs(workers: readonly WorkerOffer[]): number;
  /** How long until the next scan for runs that no hint named is due. */
  scanInMs(): number;
  /** Scans for runs that no hint named, when that is due. */
  scan(handlers: ReadonlySet<string>): Promise<void>;
  /** Called when there may be something to take. */
  onReady(listener: () => void): void;
}
