/**
 * What the owner of a shard does: fires cursors, and admits runs within the limit of their job. Firing is a compare-and-set on the
 * cursor in one transaction with everything that follows (SCHED-1). A limited run that is open or leased holds one of its job's
 * numbered slots (SCHED-2).
 */
import type { JobId, NodeId, SkippedRange as PlannedSkip, RunId } from '@carillon/domain';
import type { Cursor } from './due.ts';
import type { LaneHint } from './lane.ts';

/**
 * Proof of ownership that goes with every write of a shard's owner. The storage writes only rows whose shard belongs to this node at
 * this epoch (SHARD-1).
 */
export interface ShardGuard {
  readonly nodeId: NodeId;
  readonly epochs: ReadonlyMap<number, number>;
}

/** Rows of a shard are read in the order of instant and id, from just after a known position. */
export interface ShardPosition {
  readonly shard: number;
  readonly afterMs: number;
  readonly afterId: string;
}

export interface ReadWindow {
  readonly untilMs: number;
  readonly limitPerShard: number;
}

/** A pending run that is admitted once its instant has come: a retry, a run-now, a redriven one. */
export interface PlannedRun {
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly shard: number;
  readonly fireAtMs: number;
}

export interface SkippedRange extends PlannedSkip {
  readonly runId: RunId;
}

export interface Fire {
  readonly cursor: Cursor;
  /** Occurrences that run, unless a limit and the job's overlap policy say otherwise. */
  readonly runs: readonly { readonly runId: RunId; readonly nominalAtMs: number }[];
  /** Occurrences that do not run, missed or skipped by a person: one recorded verdict per range, oldest first. */
  readonly skipped: readonly SkippedRange[];
  /** The next occurrence; undefined when the schedule has ended. */
  readonly next: { readonly nominalAtMs: number; readonly fireAtMs: number } | undefined;
}

/** The last occurrence that has its verdict with this fire. */
export function lastJudgedMs({ runs, skipped }: Pick<Fire, 'runs' | 'skipped'>): number | undefined {
  const [ranMs, skippedMs] = [runs.at(-1)?.nominalAtMs, skipped.at(-1)?.toMs];
  if (ranMs === undefined || skippedMs === undefined) return ranMs ?? skippedMs;
  return Math.max(ranMs, skippedMs);
}

export interface Fired {
  /** Those whose cursors were still as given and are fired now. The others changed: read them again. */
  readonly jobIds: ReadonlySet<JobId>;
  /** Of these nothing happened, since somebody holds locked what their verdicts are written into: fire them again. */
  readonly later: ReadonlySet<JobId>;
  readonly opened: readonly LaneHint[];
  /** Of these, runs wait behind the limit of their job. */
  readonly waiting: readonly WaitingJob[];
  /** Runs that were skipped because of a limit. */
  readonly skipped: number;
}

export interface WaitingJob {
  readonly jobId: JobId;
  /** A fresh occurrence that waits replaces what waits or runs. */
  readonly replaces: boolean;
}

export interface Admitted {
  readonly opened: readonly LaneHint[];
  readonly waiting: readonly WaitingJob[];
}

export interface Admission extends Admitted {
  /** Of these there is more to let in, or to leave waiting, than was asked for. */
  readonly more: readonly JobId[];
}

/** A run that will never start. */
export interface GivenUpRun {
  readonly jobId: JobId;
  readonly runId: RunId;
}

export interface OwnerOptions {
  readonly guard: ShardGuard;
  readonly nowMs: number;
}

export interface ScheduleStore {
  readCursors(positions: readonly ShardPosition[], window: ReadWindow): Promise<Cursor[]>;
  readPlanned(positions: readonly ShardPosition[], window: ReadWindow): Promise<PlannedRun[]>;
  fire(fires: readonly Fire[], options: OwnerOptions): Promise<Fired>;
  /**
   * Opens planned and waiting runs of these jobs as far as there are free slots, the oldest first; planned runs that find none wait.
   * Of each job at most so many, of the one and of the other.
   */
  admit(
    jobIds: readonly JobId[],
    options: OwnerOptions & { readonly runsPerJob: number },
  ): Promise<Admission>;
  /**
   * For jobs whose newest occurrence replaces the others: skips the occurrences that wait before it, and asks the longest
   * living run to stop if it still has no slot. Answers the runs that were asked.
   */
  replace(jobIds: readonly JobId[], options: OwnerOptions): Promise<RunId[]>;
  /** Frees the slots that belong to no run. Returns jobs of which runs wait though there is a free slot, at most limit. */
  reconcile(options: OwnerOptions & { readonly limit: number }): Promise<WaitingJob[]>;
  /** Ends runs that waited for their start for longer than their job allows; at most limit. */
  expire(options: OwnerOptions & { readonly limit: number }): Promise<GivenUpRun[]>;
  /**
   * Ends runs that became claimable before the instant and whose handler no living worker offers, or has offered since that
   * instant; at most limit.
   */
  expireUnoffered(
    options: OwnerOptions & { readonly beforeMs: number; readonly limit: number },
  ): Promise<GivenUpRun[]>;
}
