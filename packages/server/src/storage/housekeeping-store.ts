/** Partitions of the history: made ahead of time, dropped by retention. */
export interface HousekeepingStore {
  /** Makes sure that the days from now to `aheadDays` have a partition. */
  makePartitions(options: { nowMs: number; aheadDays: number }): Promise<void>;
  /** Drops whole days older than the instant; answers what was dropped. */
  dropHistory(options: { beforeMs: number }): Promise<string[]>;
}
