/**
 * Carries runs whose instant has come from the scheduler to the dispatcher. Promise: at least once, in order within a
 * shard and priority. A run lost on the way is still pending in the storage, where the scheduler finds it again.
 */
import type { PendingRun } from '@carillon/domain';

export interface RunQueue {
  /** Resolves when the runs are accepted; waits while the queue is full. */
  publish(runs: readonly PendingRun[]): Promise<void>;
  /** Room left before publish has to wait: the scheduler reads no further ahead than this. */
  room(): number;
  /** What is there now, up to max; empty when nothing is. */
  take(max: number): PendingRun[];
  /** Called (often needlessly) when there may be something to take. */
  onReady(listener: () => void): void;
}
