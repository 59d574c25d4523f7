/**
 * Reads for people who look for something or ask why it does not run: the last outcomes of several jobs, who holds the slots of a
 * job, how many wait before a run, and what an id or a name begins with. Each looks at a bounded number of rows.
 */
import type { Job, JobId, RecurringSchedule, RunId, RunStatus, Visible, WorkerId } from '@carillon/domain';

/** The attempt of a run that was handed out last. */
export interface StripRun {
  readonly runId: RunId;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly scheduledAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
}

export interface StripQuery {
  readonly jobIds: readonly JobId[];
  /** Of each job. */
  readonly runs: number;
  /** Only of jobs of one of these owners; undefined: all. */
  readonly visible: readonly Visible[] | undefined;
}

/** Runs are tried again: so many attempts are looked at for each run that is asked for. */
export const STRIP_ATTEMPTS_PER_RUN = 3;

/** A run that holds a slot of its job. */
export interface SlotHolder {
  readonly runId: RunId;
  /** Undefined: it may start, and was not handed out yet. */
  readonly workerId: WorkerId | undefined;
  readonly claimedAtMs: number | undefined;
}

/** Where a pending run stands. */
export interface Standing {
  /** Not before this instant. */
  readonly fireAtMs: number;
  /** Given up if it has not started by then. */
  readonly expiresAtMs: number | undefined;
  /**
   * At the limit of its job: runs of the job that wait before it. Open: runs of the same owner, handler and priority that may
   * start and stand before it. Undefined: neither. Counted up to AHEAD_MAX.
   */
  readonly ahead: number | undefined;
}

export const AHEAD_MAX = 1_000;

export type FoundJob = Pick<Job, 'jobId' | 'name' | 'namespace' | 'userId' | 'handler' | 'key'>;

export interface FoundRun {
  readonly runId: RunId;
  readonly jobId: JobId;
  /** Undefined when it was deleted. */
  readonly job: Pick<Job, 'name' | 'namespace'> | undefined;
}

/** Ids from the first to the last, both included. */
export interface IdRange {
  readonly first: string;
  readonly last: string;
  readonly visible: readonly Visible[] | undefined;
  readonly limit: number;
}

export interface Found<Hit> {
  readonly found: readonly Hit[];
  /** More begin with it than were looked at. */
  readonly partial: boolean;
}

/** Ids of one range that are looked at, per table. */
export const IDS_LOOKED_AT_MAX = 1_000;

export interface FiresQuery {
  readonly atMs: readonly number[];
  readonly namespace: string;
  readonly visible: readonly Visible[] | undefined;
  /** It is not counted. */
  readonly exceptJobId: JobId | undefined;
}

/** Jobs of one rule whose next fire is at the instant. */
export interface FiresAt {
  readonly atMs: number;
  readonly schedule: RecurringSchedule;
  readonly count: number;
  /** Of this instant not every job was looked at, whatever its rule. */
  readonly partial: boolean;
}

/** Jobs that are looked at for each instant, of all namespaces. */
export const FIRES_LOOKED_AT_MAX = 2_000;

export interface NamePrefix {
  /** In any case. */
  readonly prefix: string;
  /** Undefined: all of them. */
  readonly namespaces: readonly string[] | undefined;
  readonly limit: number;
}

export interface InsightStore {
  /** The newest runs of each job first, one entry per run; jobs that are not there, or not visible, are left out. */
  strips(query: StripQuery): Promise<ReadonlyMap<JobId, readonly StripRun[]>>;
  /** By the number of their slot. */
  slotHolders(jobId: JobId, limit: number): Promise<readonly SlotHolder[]>;
  /** Undefined: it does not wait. */
  standing(runId: RunId): Promise<Standing | undefined>;
  /** Newest first. */
  jobsByIds(range: IdRange): Promise<Found<FoundJob>>;
  runsByIds(range: IdRange): Promise<Found<FoundRun>>;
  /** Recurring jobs whose name begins with it, in the order of names. */
  jobsByName(prefix: NamePrefix): Promise<readonly FoundJob[]>;
  /** How many recurring jobs fire next at these instants, by their rules. Paused ones are not among them. */
  firesAt(query: FiresQuery): Promise<readonly FiresAt[]>;
}

/** One entry per run, of what was read newest first. */
export function newestOfEach<Row extends { readonly runId: RunId }>(
  rows: readonly Row[],
  limit: number,
): Row[] {
  const byRun = new Map<RunId, Row>();
  for (const row of rows) if (!byRun.has(row.runId)) byRun.set(row.runId, row);
  return [...byRun.values()].slice(0, limit);
}
