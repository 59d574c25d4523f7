/** A worker as whoever hands out runs sees it. */
import type { WorkerId } from '../ids.ts';

export interface WorkerView {
  readonly workerId: WorkerId;
  readonly freeSlots: number;
  readonly handlers: readonly string[];
}
