/** Partitions of the history and of the events: made ahead of time, dropped by retention. */
import type { JobStatus } from '@carillon/domain';

export interface HousekeepingStore {
  /** Makes sure that the days from now to `aheadDays` have a partition. */
  makePartitions(options: { nowMs: number; aheadDays: number }): Promise<void>;
  /** Drops whole days older than the instant; answers what was dropped. */
  dropHistory(options: { beforeMs: number }): Promise<string[]>;
  dropEvents(options: { beforeMs: number }): Promise<string[]>;
  /** Roughly how many jobs stand in each state, at a cost that does not grow with their number. */
  countJobs(): Promise<ReadonlyMap<JobStatus, number>>;
}
