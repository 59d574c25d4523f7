/** What people are told when they ask why something does not run, search for something, or read the history of a job. */
import type { Actor } from '../access/caller.ts';
import type { JobId, RunId } from '../ids.ts';

export const WHY_STATES = [
  'scheduled',
  'waiting',
  'running',
  'paused',
  'succeeded',
  'failed',
  'cancelled',
  'skipped',
  'ended',
] as const;
export type WhyState = (typeof WHY_STATES)[number];

export const REASON_CODES = [
  'paused',
  'not_due',
  'retry_wait',
  'at_limit',
  'no_worker',
  'scripts_off',
  'workers_draining',
  'slots_busy',
  'behind_others',
  'starting',
  'start_timeout',
  'no_scheduler',
  'running',
  'cancelling',
  'interrupted',
  'succeeded',
  'failed',
  'dead_letter',
  'cancelled',
  'skipped',
  'fire_skipped',
  'schedule_ended',
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

export interface Holder {
  readonly runId: RunId;
  readonly jobId: JobId;
  /** Undefined: it may start, and was not handed out yet. */
  readonly workerId: string | undefined;
}

export interface Reason {
  readonly code: ReasonCode;
  /** One or two sentences. */
  readonly text: string;
  readonly sinceMs: number | undefined;
  /** When it ends by itself, where that is known. */
  readonly untilMs: number | undefined;
  readonly heldBy: readonly Holder[];
  /** What a person can do; undefined: nothing needs to be done. */
  readonly fix: string | undefined;
}

export interface Why {
  readonly state: WhyState;
  /** What matters most first; at least one. */
  readonly reasons: readonly Reason[];
  /** Of what waits, counted from 1. */
  readonly position: number | undefined;
  readonly estimatedStartMs: number | undefined;
}

export const HIT_KINDS = ['job', 'run', 'worker', 'user', 'namespace'] as const;

export interface SearchHit {
  readonly kind: (typeof HIT_KINDS)[number];
  readonly id: string;
  readonly title: string;
  readonly detail: string;
  /** Undefined: it belongs to none. */
  readonly namespace: string | undefined;
}

export interface SearchResult {
  readonly hits: readonly SearchHit[];
  /** There may be more that match: not everything was looked at, or there were too many. */
  readonly partial: boolean;
}

export const HITS_MAX = 20;

/** Jobs and runs of each that one request for strips may name. */
export const STRIP_JOBS_MAX = 50;
export const STRIP_RUNS_MAX = 100;

export interface FieldChange {
  /** As answers name it. */
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface JobVersion {
  /** Undefined: written by a server that did not record it. */
  readonly version: number | undefined;
  /** The earlier version that it brought back. */
  readonly restoredVersion: number | undefined;
  readonly atMs: number;
  readonly action: string;
  readonly actor: Pick<Actor, 'kind' | 'id' | 'name'>;
  readonly changes: readonly FieldChange[];
  /** Its place in the audit log. */
  readonly auditId: number;
}

export const BULK_RUN_ACTIONS = ['cancel', 'rerun'] as const;
export type BulkRunAction = (typeof BULK_RUN_ACTIONS)[number];
