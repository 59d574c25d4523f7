/** Retention in memory: no partition has to be made, and days are dropped as whole ones all the same. */
import type { HousekeepingStore } from '../housekeeping-store.ts';
import type { MemoryState } from './memory-state.ts';

export class MemoryHousekeepingStore implements HousekeepingStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async makePartitions(): Promise<void> {}

  async dropHistory(options: { beforeMs: number }): Promise<string[]> {
    return this.#state.history.dropDays(options.beforeMs);
  }
}
