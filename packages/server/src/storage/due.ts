/**
 * The rows of `due`: what must run and when. A cursor stands for the next occurrence of a recurring schedule; firing it
 * makes a run and moves it forward. Everything else is a run waiting for its instant or for a slot.
 */
import type {
  JobId,
  MisfirePolicy,
  OverlapPolicy,
  PendingRun,
  Priority,
  RecurringSchedule,
  RunId,
} from '@carillon/domain';

export interface Cursor {
  readonly kind: 'cursor';
  readonly jobId: JobId;
  readonly shard: number;
  readonly priority: Priority;
  /** When to fire: the nominal instant plus the job's spread. */
  readonly fireAtMs: number;
  readonly nominalAtMs: number;
  readonly jobVersion: number;
  readonly schedule: RecurringSchedule;
  readonly misfire: MisfirePolicy;
  /** What the runs it makes are dispatched by; valid as long as jobVersion is. */
  readonly handler: string;
  readonly maxConcurrency: number;
  readonly overlap: OverlapPolicy;
  readonly startTimeoutMs: number | undefined;
}

export interface DueRun extends PendingRun {
  readonly kind: 'run';
}

export type DueRow = Cursor | DueRun;

/** A run to be written into `due`. once: the only occurrence of a one-off. endsJob: nothing follows it. */
export interface NewRun {
  readonly runId: RunId;
  readonly fireAtMs: number;
  readonly nominalAtMs: number;
  readonly trigger: 'once' | 'schedule' | 'manual' | 'redrive';
  readonly endsJob: boolean;
}

/** A cursor to be written into `due`. */
export interface NewCursor {
  readonly fireAtMs: number;
  readonly nominalAtMs: number;
}

/** What a freshly saved schedule puts into `due`. */
export type FirstDue =
  | { readonly kind: 'run'; readonly run: NewRun }
  | { readonly kind: 'cursor'; readonly cursor: NewCursor };
