/**
 * What is planned: a cursor stands for the next occurrence of a recurring schedule, and firing it makes a run and moves it
 * forward; `due` holds the runs that wait for their instant, for a slot of their job or for a slot.
 */
import type { JobId, MisfirePolicy, RecurringSchedule, RunId, RunInput, SkippedFire } from '@carillon/domain';

export interface Cursor {
  readonly jobId: JobId;
  readonly shard: number;
  /** When to fire: the nominal instant plus the job's spread. */
  readonly fireAtMs: number;
  readonly nominalAtMs: number;
  readonly jobVersion: number;
  readonly schedule: RecurringSchedule;
  readonly misfire: MisfirePolicy;
  /** When a person resumed the job, if this cursor stood still through the pause. */
  readonly resumedAtMs: number | undefined;
  /** Of the job at this version: what a person has skipped. */
  readonly skips?: readonly SkippedFire[] | undefined;
}

/** A run to be written into `due`. once: the only occurrence of a one-off. endsJob: nothing follows it. */
export interface NewRun {
  readonly runId: RunId;
  readonly fireAtMs: number;
  readonly nominalAtMs: number;
  readonly trigger: 'once' | 'schedule' | 'manual' | 'redrive';
  readonly endsJob: boolean;
  /** What a person said when they asked for it. */
  readonly request?: RunRequest | undefined;
  /** The ended run that it repeats: if that one is a dead letter, it is handled by this. */
  readonly rerunOf?: RunId | undefined;
}

export interface RunRequest extends Partial<RunInput> {
  readonly reason?: string | undefined;
  /** Of a request with an idempotency key. */
  readonly requestHash?: string | undefined;
  /** The ended run that it repeats, and the name of who asked for that. */
  readonly originRunId?: RunId | undefined;
  readonly requestedBy?: string | undefined;
}

export interface NewCursor {
  readonly fireAtMs: number;
  readonly nominalAtMs: number;
}

/** What a freshly saved schedule begins with. */
export type FirstDue =
  | { readonly kind: 'run'; readonly run: NewRun }
  | { readonly kind: 'cursor'; readonly cursor: NewCursor };
