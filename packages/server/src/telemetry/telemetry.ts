/**
 * The port for measurements: plain numbers, reported in batches. Reporting costs a loop over numbers, and the reporter does
 * not know where they go.
 */
export const RUN_ENDS = ['succeeded', 'failed', 'timed_out', 'cancelled', 'skipped', 'retried'] as const;
export type RunEnd = (typeof RUN_ENDS)[number];

export interface Telemetry {
  /** Runs were claimed; how long each waited past its instant. */
  runsStarted(delaysMs: readonly number[]): void;
  /** Attempts ended this way; how long each ran, where it ran at all. */
  runsEnded(end: RunEnd, durationsMs: readonly number[], count: number): void;
  /** One call of the storage that takes a batch. */
  batch(kind: 'claim' | 'settle' | 'insert', size: number): void;
  requestAnswered(request: { method: string; route: string; status: number; elapsedMs: number }): void;
  /** Something was worth a warning or an error; from which loop, if it came from one. Undefined: a pass of the loop failed again, and was not told. */
  logged(level: 'warn' | 'error' | undefined, loop: string | undefined): void;
  /** All metrics so far, as text for a collector. */
  report(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The current state; read when metrics are collected. */
export interface Vitals {
  /** Rows that lie ahead, held in memory. */
  readonly held: number;
  /** Runs whose instant has come; undefined until the database has answered. */
  readonly waiting: number | undefined;
  /** Workers that this process hands runs to, with what they can do together. */
  readonly workers: number;
  readonly running: number;
  /** Runs that have ended and whose outcome is not recorded yet. */
  readonly unrecorded: number;
  readonly slots: number;
  readonly listeners: number;
  readonly eventsBehindMs: number;
  /** By pool: all that this process has to the database. */
  readonly connections: Readonly<Record<string, PoolConnections>>;
  /** By state; undefined until the database has answered. */
  readonly jobs: ReadonlyMap<string, number> | undefined;
}

export interface PoolConnections {
  readonly open: number;
  readonly idle: number;
  /** Queries that wait for one. */
  readonly queued: number;
}
