/** Counts of runs in memory: what ended waits in the event log until it is counted, and is found with everything that is known of it. */
import { type FinalRunStatus, isFailure, type JobId, startDelayMs } from '@carillon/domain';
import { boundFailures, failureGroup, hourOf, type KnownGroups, mergeFailures } from '../bound-failures.ts';
import {
  ALL_HANDLERS,
  ALL_NAMESPACES,
  addUp,
  type EndedRecord,
  type FailureRow,
  floor,
  merge,
  RunTally,
  rowIn,
} from '../run-tally.ts';
import {
  BUCKET_MS,
  type Bucket,
  type CountedAttempt,
  type CountedBucket,
  type CountsQuery,
  type FailureGroup,
  type FailuresQuery,
  type StatsStore,
  UNOFFERED_SEEN_MAX,
  WAITING_SEEN_MAX,
  type WaitingNow,
} from '../stats-store.ts';
import type { UncountedEnd } from './event-log.ts';
import type { MemoryState } from './memory-state.ts';
import { offeredIn } from './run-views.ts';

export class MemoryStatsStore implements StatsStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async countEnded(): Promise<{ more: boolean }> {
    const { counts, failures, events } = this.#state;
    const ended = events.takeUncounted();
    if (ended.length === 0) return { more: false };
    const tally = new RunTally();
    for (const record of ended.flatMap((end) => this.#record(end) ?? [])) tally.addRecord(record);
    for (const bucket of ['minute', 'hour'] as const)
      for (const row of tally.rows(bucket)) merge(rowIn(counts[bucket], row), row);
    for (const row of boundFailures(tally.failures(), this.#knownFailures())) {
      const key = `${hourOf(row)}/${row.fingerprint}`;
      const before = failures.get(key);
      failures.set(key, {
        ...row,
        count: row.count + (before?.count ?? 0),
        firstAtMs: Math.min(row.firstAtMs, before?.firstAtMs ?? row.firstAtMs),
      });
    }
    return { more: false };
  }

  async counts(query: CountsQuery): Promise<CountedBucket[]> {
    const { bucket, fromMs, toMs, namespaces, handler } = query;
    const names = new Set(namespaces ?? [ALL_NAMESPACES]);
    const rows = [...this.#state.counts[bucket].values()].filter(
      (row) =>
        names.has(row.namespace) &&
        row.handler === (handler ?? ALL_HANDLERS) &&
        row.atMs >= fromMs &&
        row.atMs < toMs &&
        this.#isOf(row, bucket),
    );
    return addUp(rows, query);
  }

  async failures({ fromMs, toMs, namespaces, limit }: FailuresQuery): Promise<FailureGroup[]> {
    const rows = [...this.#state.failures.values()].filter(
      (row) =>
        (namespaces?.includes(row.namespace) ?? true) &&
        row.atMs > fromMs - BUCKET_MS.hour &&
        row.atMs < toMs &&
        (namespaces === undefined || this.#isOf(row, 'hour')),
    );
    return mergeFailures(rows, limit).map((row) => failureGroup(row, this.#state.jobs.get(row.jobId)?.name));
  }

  async fingerprintKey(): Promise<string> {
    return this.#state.fingerprintKey;
  }

  async attemptsOfJob(
    jobId: JobId,
    { fromMs, toMs, limit }: { fromMs: number; toMs: number; limit: number },
  ): Promise<CountedAttempt[]> {
    return this.#state.history
      .ofJob(jobId)
      .filter(({ createdAtMs }) => createdAtMs >= fromMs && createdAtMs < toMs)
      .sort((a, b) => b.createdAtMs - a.createdAtMs)
      .slice(0, limit)
      .map(({ modifiedAtMs: recordedAtMs, ...view }) => ({
        ...{ ...view, recordedAtMs, isRetried: isFailure(view.status) && !this.#isLast(view) },
      }));
  }

  async waitingNow({
    nowMs,
    namespaces,
  }: {
    nowMs: number;
    namespaces: readonly string[] | undefined;
  }): Promise<WaitingNow> {
    const waiting = [...this.#state.due.all()]
      .filter(({ state, held, laneAtMs }) => state === 'open' && !held && laneAtMs <= nowMs)
      .filter(({ jobId }) => namespaces?.includes(this.#state.jobs.get(jobId)?.namespace ?? '') ?? true);
    const oldestAtMs =
      waiting.length === 0 ? undefined : Math.min(...waiting.map(({ laneAtMs }) => laneAtMs));
    const isOffered = offeredIn(this.#state);
    const unoffered = new Set(waiting.filter((run) => !isOffered(run)).map(({ handler }) => handler));
    return {
      ...{ waiting: Math.min(waiting.length, WAITING_SEEN_MAX), oldestAtMs },
      unofferedHandlers: [...unoffered].sort().slice(0, UNOFFERED_SEEN_MAX),
    };
  }

  async dropCounts(before: { minutesBeforeMs: number; hoursBeforeMs: number }): Promise<number> {
    const { counts, failures } = this.#state;
    return (
      dropOld(counts.minute, before.minutesBeforeMs) +
      dropOld(counts.hour, before.hoursBeforeMs) +
      dropOld(failures, before.hoursBeforeMs)
    );
  }

  /** The run was given up with this attempt. */
  #isLast({ runId, attempt }: Pick<CountedAttempt, 'runId' | 'attempt'>): boolean {
    const letter = this.#state.deadLetters.get(runId);
    return letter !== undefined && letter.attempts <= attempt;
  }

  /** Undefined: its job was deleted. */
  #record({ view, isAgain, wasHeldUp }: UncountedEnd): EndedRecord | undefined {
    const job = this.#state.jobs.get(view.jobId);
    if (!job) return undefined;
    const { namespace, handler, schedule } = job;
    const { jobId, runId, startedAtMs, endedAtMs, error, occurrences } = view;
    const status = view.status as FinalRunStatus;
    return {
      ...{ namespace, handler, jobId, runId, status, startedAtMs, endedAtMs, error, occurrences },
      recordedAtMs: view.modifiedAtMs,
      isRetried: isAgain && isFailure(status),
      delayMs: wasHeldUp ? undefined : startDelayMs({ ...view, schedule }),
    };
  }

  #knownFailures(): ReadonlyMap<string, KnownGroups> {
    const known = new Map<string, Map<string, readonly JobId[]>>();
    for (const row of this.#state.failures.values()) {
      const groups = known.get(hourOf(row)) ?? new Map<string, readonly JobId[]>();
      known.set(hourOf(row), groups.set(row.fingerprint, [...row.jobIds]));
    }
    return known;
  }

  /** Not of a namespace that had the name before. */
  #isOf({ namespace, atMs }: Pick<FailureRow, 'namespace' | 'atMs'>, bucket: Bucket): boolean {
    if (namespace === ALL_NAMESPACES) return true;
    const row = this.#state.namespaces.get(namespace);
    return row !== undefined && atMs >= floor(row.namespace.createdAtMs, bucket);
  }
}

function dropOld<Row extends { readonly atMs: number }>(rows: Map<string, Row>, beforeMs: number): number {
  const before = rows.size;
  for (const [key, { atMs }] of rows) if (atMs < beforeMs) rows.delete(key);
  return before - rows.size;
}
