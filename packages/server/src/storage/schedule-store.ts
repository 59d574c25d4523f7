/**
 * What the scheduler needs: to look ahead over what is pending in its shards, and to fire. Firing is a compare-and-set on
 * the cursor in one transaction with everything that follows from it: it happens exactly once or not at all.
 */
import type { JobId, RunId } from '@carillon/domain';
import type { Cursor, DueRow } from './due.ts';
import type { ShardGuard } from './shard-guard.ts';

/** Pending rows are read by shard and priority, in the order of their instants, from just after a known place. */
export interface Lane {
  readonly shard: number;
  readonly priority: Cursor['priority'];
  readonly after: LanePlace;
}

export interface LanePlace {
  readonly fireAtMs: number;
  readonly runId: string;
}

export interface SkippedRange {
  readonly runId: RunId;
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
  readonly exact: boolean;
}

export interface Fire {
  readonly cursor: Cursor;
  /** Occurrences that run; each gets an id here. */
  readonly runs: readonly { readonly runId: RunId; readonly nominalAtMs: number }[];
  /** Occurrences that were missed and do not run: one recorded verdict for the range. */
  readonly skipped: SkippedRange | undefined;
  /** The next occurrence; undefined when the schedule has ended. */
  readonly next: { readonly nominalAtMs: number; readonly fireAtMs: number } | undefined;
}

export interface ScheduleStore {
  /** Rows due no later than untilMs, at most limit per lane, with the place each stands at. */
  read(lanes: readonly Lane[], options: { untilMs: number; limitPerLane: number }): Promise<PlacedRow[]>;
  /** Answers the jobs whose cursors were still as given and are now fired. The others changed: read them again. */
  fire(fires: readonly Fire[], options: { guard: ShardGuard; nowMs: number }): Promise<ReadonlySet<JobId>>;
}

export interface PlacedRow {
  readonly row: DueRow;
  readonly place: LanePlace;
}
