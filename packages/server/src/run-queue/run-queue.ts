/**
 * Carries runs whose instant has come from the scheduler to the dispatcher. Promise: at least once, in order within a
 * shard and priority. Each priority has a line of its own, so that a long one holds up nothing more urgent. A run lost on
 * the way is still pending in the storage, where the scheduler finds it again.
 */
import type { PendingRun, Priority } from '@carillon/domain';

export interface RunQueue {
  /** Resolves when the runs are accepted; waits while their lines are full. */
  publish(runs: readonly PendingRun[]): Promise<void>;
  /** Room left in a line before publish has to wait: the scheduler passes on no more than this. */
  room(priority: Priority): number;
  /** What is there now, up to max; empty when nothing is. */
  take(priority: Priority, max: number): PendingRun[];
  /** Called (often needlessly) when there may be something to take. */
  onReady(listener: () => void): void;
}
