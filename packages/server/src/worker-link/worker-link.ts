/**
 * Between the dispatcher and workers, wherever they run: in this process today, at the end of a stream tomorrow. Handing
 * over is a message that may be lost; the worker's heartbeat tells which leases it holds, and the others are given back.
 */
import type { ClaimedBatch, RunId, WorkerView } from '@carillon/domain';

export interface WorkerLink {
  /** Living workers that this dispatcher can reach, with their free slots. */
  workers(): readonly WorkerView[];
  /** Takes slots before the claim, so that two claims under way never promise the same one. */
  reserve(workerId: string, slots: number): void;
  /** Gives back slots of runs that were reserved and not handed over. */
  unreserve(workerId: string, slots: number): void;
  hand(batch: ClaimedBatch): void;
  /** Asks for a stop; repeated by heartbeats until the run has ended. */
  cancel(runIds: readonly RunId[]): void;
  /** Called when slots became free or workers came and went. */
  onChange(listener: () => void): void;
}
