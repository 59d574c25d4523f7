/** Partitions of the history and of the events, made ahead of time and dropped by retention; and what holds up cleaning. */
import type { JobStatus } from '@carillon/domain';

/** A transaction that somebody left open: while it lasts, nothing deleted since can be cleaned up (hazard 29). */
export interface OpenTransaction {
  readonly seconds: number;
  readonly pid: number;
  readonly application: string;
  readonly state: string;
}

export const WAITING_COUNTED_MAX = 100_000;

export interface HousekeepingStore {
  /**
   * Makes sure that the days from now to `aheadDays` have a partition. Like dropping one, this never waits for those who read
   * and write, nor they for it; it fails where a lock could not be had in time, and may then have made some of them.
   */
  makePartitions(options: { nowMs: number; aheadDays: number }): Promise<void>;
  /** Whether what is written at the instant has a partition to go to. */
  hasPartitions(options: { atMs: number }): Promise<boolean>;
  /**
   * Drops whole days older than the instant, but for those on which a run was claimed that has not ended; answers what was
   * dropped. A day that somebody may still be reading is left for the next time.
   */
  dropHistory(options: { beforeMs: number }): Promise<string[]>;
  /**
   * Removes what was given with runs that are past the history of this instant, but for those that wait or live, and for dead letters: they
   * start, or may be redriven, with the same. A bounded number at a time; answers how many.
   */
  dropRequests(options: { beforeMs: number }): Promise<number>;
  /**
   * Removes checkpoints of runs that neither wait nor live: with a dead letter that nobody has redriven when it is older than
   * lettersBeforeMs, others when they are older than leftBeforeMs. A bounded number at a time; answers how many.
   */
  dropCheckpoints(options: { leftBeforeMs: number; lettersBeforeMs: number }): Promise<number>;
  dropEvents(options: { beforeMs: number }): Promise<string[]>;
  /** Removes entries of the audit log older than the instant, a bounded number at a time; answers how many. */
  dropAudit(options: { beforeMs: number }): Promise<number>;
  /** Roughly how many jobs stand in each state, at a cost that does not grow with their number. */
  countJobs(): Promise<ReadonlyMap<JobStatus, number>>;
  /** Runs that may start and wait for a slot; counting ends at WAITING_COUNTED_MAX. */
  countWaiting(nowMs: number): Promise<number>;
  /**
   * Tells the storage how large its hot tables have become, where they outgrew what it knew by far: it would go on with plans that
   * were made for a few rows. Answers the names of those tables.
   */
  refreshStatistics(): Promise<string[]>;
  /**
   * Sums up what was recorded since the last call, so that the newest runs are found without reading all of that. Answers how many
   * parts it summed up. Others who keep the history in shape come first: then it is left for the next time.
   */
  summarizeHistory(options: { nowMs: number }): Promise<number>;
  /** The one that has been open for longest, anywhere in the database. */
  oldestTransaction(): Promise<OpenTransaction | undefined>;
}
