/** Partitions of the history and of the events, made ahead of time and dropped by retention; and what holds up cleaning. */
import type { JobStatus } from '@carillon/domain';

/** A transaction that somebody left open: while it lasts, nothing deleted since can be cleaned up (hazard 29). */
export interface OpenTransaction {
  readonly seconds: number;
  readonly pid: number;
  readonly application: string;
  readonly state: string;
}

export interface HousekeepingStore {
  /** Makes sure that the days from now to `aheadDays` have a partition. */
  makePartitions(options: { nowMs: number; aheadDays: number }): Promise<void>;
  /** Drops whole days older than the instant; answers what was dropped. A day that is being read is left for the next time. */
  dropHistory(options: { beforeMs: number }): Promise<string[]>;
  dropEvents(options: { beforeMs: number }): Promise<string[]>;
  /** Removes entries of the audit log older than the instant, a bounded number at a time; answers how many. */
  dropAudit(options: { beforeMs: number }): Promise<number>;
  /** Roughly how many jobs stand in each state, at a cost that does not grow with their number. */
  countJobs(): Promise<ReadonlyMap<JobStatus, number>>;
  /** The one that has been open for longest, anywhere in the database. */
  oldestTransaction(): Promise<OpenTransaction | undefined>;
}
