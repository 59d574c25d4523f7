/**
 * Adds up what ended, in memory: rows by minute and by hour, of each handler and of all of them, in each namespace and in all; and groups
 * of failures by hour. An adapter writes the rows, adding them to those that are there.
 */
import {
  type FinalRunStatus,
  isFailure,
  type Job,
  type JobId,
  type RunId,
  startDelayMs,
} from '@carillon/domain';
import { errorGroupOf } from './error-group.ts';
import { addHistogram, addToHistogram, bucketOf, quantilesOf } from './log-histogram.ts';
import type { Digest, DigestEntry } from './run-digest.ts';
import {
  BUCKET_MS,
  type Bucket,
  COUNTS,
  type CountedAttempt,
  type CountedBucket,
  type CountName,
  type Counts,
  type CountsQuery,
} from './stats-store.ts';

/** In place of a namespace or handler: all of them. No name is like these. */
export const ALL_NAMESPACES = '*';
export const ALL_HANDLERS = '';

export interface CountRow {
  readonly namespace: string;
  readonly handler: string;
  readonly atMs: number;
  readonly counts: Counts;
  readonly delays: number[];
  readonly durations: number[];
}

export interface FailureRow {
  readonly namespace: string;
  readonly handler: string;
  readonly atMs: number;
  readonly fingerprint: string;
  readonly message: string;
  readonly firstAtMs: number;
  lastAtMs: number;
  readonly runId: RunId;
  /** Of that run. */
  readonly jobId: JobId;
  readonly jobIds: Set<JobId>;
  count: number;
}

/** An attempt that ended, or an occurrence that did not run, found by its record. */
export interface EndedRecord {
  readonly namespace: string;
  readonly handler: string;
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly recordedAtMs: number;
  readonly status: FinalRunStatus;
  readonly isRetried: boolean;
  /** Undefined: not measured. */
  readonly delayMs: number | undefined;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
  readonly error: string | undefined;
  readonly occurrences: number;
}

const BY_STATUS: Partial<Record<FinalRunStatus, CountName>> = {
  SUCCESS: 'succeeded',
  FAILED: 'failed',
  TIMED_OUT: 'timedOut',
  CANCELLED: 'cancelled',
  SKIPPED: 'skipped',
  LOST: 'lost',
};

export class RunTally {
  /** By minute, namespace and handler: what all other rows are added up from. */
  readonly #minutes = new Map<string, CountRow>();
  readonly #failures = new Map<string, FailureRow>();

  /** nameOf: undefined where the namespace is gone. delayOf: without what is no delay. */
  addDigest(
    { atMs, entries, failures }: Digest,
    {
      nameOf,
      delayOf,
    }: {
      nameOf: (namespaceKey: number) => string | undefined;
      delayOf: (late: NonNullable<DigestEntry['late']>) => number;
    },
  ): void {
    for (const { namespaceKey, handler, late, ...entry } of entries) {
      const namespace = nameOf(namespaceKey);
      if (namespace === undefined) continue;
      const delayBucket = late ? bucketOf(delayOf(late)) : entry.delayBucket;
      add(this.#row(namespace, handler, atMs), { ...entry, delayBucket });
    }
    for (const { namespaceKey, ...failure } of failures) {
      const namespace = nameOf(namespaceKey);
      if (namespace !== undefined) this.#fail({ ...failure, namespace, recordedAtMs: atMs });
    }
  }

  addRecord(record: EndedRecord): void {
    const { namespace, handler, recordedAtMs, status, isRetried, delayMs } = record;
    const { startedAtMs, endedAtMs, error, occurrences, runId, jobId } = record;
    const hasStarted = startedAtMs !== undefined;
    add(this.#row(namespace, handler, recordedAtMs), {
      ...{ status, isRetried, hasStarted, count: status === 'SKIPPED' ? occurrences : 1 },
      delayBucket: hasStarted && delayMs !== undefined ? bucketOf(delayMs) : undefined,
      durationBucket: hasStarted && endedAtMs !== undefined ? bucketOf(endedAtMs - startedAtMs) : undefined,
    });
    if (error === undefined || !isFailure(status)) return;
    const group = errorGroupOf(handler, error);
    this.#fail({ ...group, namespace, handler, recordedAtMs, runId, jobIds: [jobId], count: 1 });
  }

  /** With the rows of all handlers, and of all namespaces. */
  rows(bucket: Bucket): CountRow[] {
    const rows = new Map<string, CountRow>();
    for (const minute of this.#minutes.values()) {
      const atMs = floor(minute.atMs, bucket);
      for (const namespace of [minute.namespace, ALL_NAMESPACES]) {
        for (const handler of [minute.handler, ALL_HANDLERS])
          merge(rowIn(rows, { namespace, handler, atMs }), minute);
      }
    }
    return [...rows.values()];
  }

  failures(): FailureRow[] {
    return [...this.#failures.values()];
  }

  #row(namespace: string, handler: string, recordedAtMs: number): CountRow {
    return rowIn(this.#minutes, { namespace, handler, atMs: floor(recordedAtMs, 'minute') });
  }

  #fail(failure: {
    namespace: string;
    handler: string;
    fingerprint: string;
    message: string;
    recordedAtMs: number;
    runId: RunId;
    jobIds: readonly JobId[];
    count: number;
  }): void {
    const { namespace, fingerprint, recordedAtMs, jobIds, count, ...rest } = failure;
    const atMs = floor(recordedAtMs, 'hour');
    const key = `${atMs}/${namespace}/${fingerprint}`;
    const known = this.#failures.get(key);
    if (known) {
      known.count += count;
      known.lastAtMs = Math.max(known.lastAtMs, recordedAtMs);
      for (const jobId of jobIds) known.jobIds.add(jobId);
      return;
    }
    this.#failures.set(key, {
      ...{ ...rest, namespace, fingerprint, atMs, count, jobId: jobIds[0]!, jobIds: new Set(jobIds) },
      ...{ firstAtMs: recordedAtMs, lastAtMs: recordedAtMs },
    });
  }
}

/** Attempts of one job, counted by themselves; in the order of time. */
export function countAttempts(
  { jobId, schedule }: Pick<Job, 'jobId' | 'schedule'>,
  attempts: readonly CountedAttempt[],
  bucket: Bucket,
): CountedBucket[] {
  const rows = new Map<string, CountRow>();
  for (const attempt of attempts) {
    const { status, startedAtMs, endedAtMs, isRetried, occurrences, recordedAtMs } = attempt;
    const hasStarted = startedAtMs !== undefined;
    const delayMs = startDelayMs({ ...attempt, jobId, schedule });
    add(rowIn(rows, { namespace: '', handler: '', atMs: floor(recordedAtMs, bucket) }), {
      ...{ status: status as FinalRunStatus, isRetried, hasStarted },
      count: status === 'SKIPPED' ? occurrences : 1,
      delayBucket: delayMs === undefined ? undefined : bucketOf(delayMs),
      durationBucket: hasStarted && endedAtMs !== undefined ? bucketOf(endedAtMs - startedAtMs) : undefined,
    });
  }
  return [...rows.values()].sort((a, b) => a.atMs - b.atMs).map(bucketOfRow);
}

export function bucketOfRow({ atMs, counts, delays, durations }: CountRow): CountedBucket {
  return { atMs, ...counts, startDelayMs: quantilesOf(delays), durationMs: quantilesOf(durations) };
}

/** Rows of one bucket each, of several namespaces, as one row per bucket, or one in all; in the order of time. */
export function addUp(
  rows: readonly CountRow[],
  { together, fromMs }: Pick<CountsQuery, 'together' | 'fromMs'>,
): CountedBucket[] {
  const sums = new Map<string, CountRow>();
  for (const row of rows)
    merge(rowIn(sums, { namespace: '', handler: '', atMs: together ? fromMs : row.atMs }), row);
  return [...sums.values()].sort((a, b) => a.atMs - b.atMs).map(bucketOfRow);
}

export function merge(to: CountRow, other: CountRow): void {
  for (const name of COUNTS) to.counts[name] += other.counts[name];
  addHistogram(to.delays, other.delays);
  addHistogram(to.durations, other.durations);
}

export function rowIn(
  rows: Map<string, CountRow>,
  { namespace, handler, atMs }: Pick<CountRow, 'namespace' | 'handler' | 'atMs'>,
): CountRow {
  const key = `${atMs}/${namespace}/${handler}`;
  let row = rows.get(key);
  if (!row) {
    row = { namespace, handler, atMs, counts: noCounts(), delays: [], durations: [] };
    rows.set(key, row);
  }
  return row;
}

export function floor(ms: number, bucket: Bucket): number {
  return ms - (ms % BUCKET_MS[bucket]);
}

function noCounts(): Counts {
  return Object.fromEntries(COUNTS.map((name) => [name, 0])) as Counts;
}

function add(
  { counts, delays, durations }: CountRow,
  entry: Pick<
    DigestEntry,
    'status' | 'isRetried' | 'hasStarted' | 'delayBucket' | 'durationBucket' | 'count'
  >,
): void {
  const { status, isRetried, hasStarted, delayBucket, durationBucket, count } = entry;
  const name = BY_STATUS[status];
  if (name) counts[name] += count;
  if (hasStarted) counts.started += count;
  if (isRetried) counts.retried += count;
  if (delayBucket !== undefined) addToHistogram(delays, delayBucket, count);
  if (durationBucket !== undefined) addToHistogram(durations, durationBucket, count);
}
