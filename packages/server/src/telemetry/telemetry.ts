/**
 * What is measured, told in plain numbers and whole batches: whoever tells spends a loop over numbers and nothing else, and
 * does not know where they go.
 */
export const RUN_ENDS = ['succeeded', 'failed', 'timed_out', 'cancelled', 'skipped', 'retried'] as const;
export type RunEnd = (typeof RUN_ENDS)[number];

export interface Telemetry {
  /** Runs were handed out; how long each waited past its instant. */
  runsStarted(delaysMs: readonly number[]): void;
  /** Attempts ended this way; how long each ran, where it ran at all. */
  runsEnded(end: RunEnd, durationsMs: readonly number[], count: number): void;
  /** One call of the storage that takes a batch. */
  batch(kind: 'claim' | 'settle' | 'insert', size: number): void;
  requestAnswered(request: { method: string; route: string; status: number; elapsedMs: number }): void;
  /** Something was worth a warning or an error; from which loop, if it came from one. */
  logged(level: 'warn' | 'error', loop: string | undefined): void;
  /** Everything so far, as text for whoever collects it. */
  report(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** What can be seen at any moment; asked for when somebody collects. */
export interface Vitals {
  /** Rows that lie ahead, held in memory. */
  readonly held: number;
  /** Runs whose instant has come; undefined when the database has not told yet. */
  readonly waiting: number | undefined;
  readonly running: number;
  /** Runs that have ended and whose outcome is not recorded yet. */
  readonly unrecorded: number;
  readonly slots: number;
  readonly listeners: number;
  readonly eventsBehindMs: number;
  /** By pool: all that this process has to the database. */
  readonly connections: Readonly<Record<string, PoolConnections>>;
  /** By state; undefined when the database has not told yet. */
  readonly jobs: ReadonlyMap<string, number> | undefined;
}

export interface PoolConnections {
  readonly open: number;
  readonly idle: number;
  /** Queries that wait for one. */
  readonly queued: number;
}
