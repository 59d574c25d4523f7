/**
 * Counts of runs on PostgreSQL. What is to be counted lies in the events, as text that the statement of the change wrote; countEnded reads
 * it outside of any transaction, and adds it in a short one that also moves the cursor, if no other server has moved it meanwhile.
 */
import {
  type FinalRunStatus,
  isFailure,
  type JobId,
  type RecurringSchedule,
  type RunId,
  startDelayMs,
} from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Database } from '../../postgres/database.ts';
import { boundFailures, failureGroup, hourOf, type KnownGroups, mergeFailures } from '../bound-failures.ts';
import { namespaceKey } from '../lane.ts';
import { type Digest, readDigest } from '../run-digest.ts';
import {
  ALL_HANDLERS,
  ALL_NAMESPACES,
  addUp,
  type CountRow,
  type EndedRecord,
  type FailureRow,
  RunTally,
} from '../run-tally.ts';
import {
  COUNTS,
  type CountedAttempt,
  type CountedBucket,
  type Counts,
  type CountsQuery,
  type FailureGroup,
  type FailuresQuery,
  type StatsStore,
  type WaitingNow,
} from '../stats-store.ts';
import { triggerWord } from './codes.ts';
import { countParameters, failureParameters } from './count-parameters.ts';
import { readAll } from './selection.ts';
import * as sql from './stats.sql.ts';

interface Cursor {
  readonly xid: string;
  readonly seq: number;
}

type UncountedRow = readonly [xid: string, seq: number, counted: string | null, runs: number];
type RecordRow = readonly [
  namespace: string,
  handler: string,
  jobId: JobId,
  runId: RunId,
  recordedAtMs: number,
  status: FinalRunStatus,
  isAgain: boolean,
  trigger: number,
  attempt: number,
  epoch: number,
  scheduledAtMs: number,
  spread: string | null,
  startedAtMs: number | null,
  endedAtMs: number | null,
  error: string | null,
  occurrences: number,
  isRepeat: boolean,
];
type CountsRow = readonly [atMs: number, ...counts: number[], delays: string, durations: string];

const FIRST: Cursor = { xid: '0', seq: 0 };
const ROWS_MAX = 2_000;
/** Runs that are found in the history one by one: so few that a call stays short. A row is taken as a whole. */
const FOUND_RUNS_MAX = 2_000;
/** Hours of groups that an answer is made of: those of a day in 50 namespaces, and more than anybody reads. */
const FAILURE_HOURS_MAX = 5_000;

export class PostgresStatsStore implements StatsStore {
  readonly #database: Database;
  /** A name and its number belong together for good. */
  readonly #names = new Map<number, string>();
  #fingerprintKey: string | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  async countEnded({ nowMs }: { nowMs: number }): Promise<{ more: boolean }> {
    const from = (await this.#cursor()) ?? FIRST;
    const rows = await this.#database.query<UncountedRow>(sql.UNCOUNTED, [from.xid, from.seq, ROWS_MAX]);
    const taken = withinBounds(rows);
    const last = taken.at(-1);
    if (!last) return { more: false };
    const tally = await this.#tally(taken);
    const failures = boundFailures(tally.failures(), await this.#knownFailures(tally.failures()));
    const moved = await this.#database.transaction(async (session) => {
      const next = [from.xid, from.seq, last[0], last[1], nowMs];
      if ((await session.query(sql.MOVE_COUNT_CURSOR, next)).length === 0) return false;
      for (const bucket of ['minute', 'hour'] as const) {
        const counted = tally.rows(bucket);
        if (counted.length > 0) await session.query(sql.ADD_COUNTS[bucket], countParameters(counted));
      }
      if (failures.length > 0) await session.query(sql.ADD_FAILURES, failureParameters(failures));
      return true;
    });
    return { more: moved && (rows.length === ROWS_MAX || taken.length < rows.length) };
  }

  async counts(query: CountsQuery): Promise<CountedBucket[]> {
    const { bucket, fromMs, toMs, namespaces, handler } = query;
    const rows = await this.#database.query<CountsRow>(sql.READ_COUNTS[bucket], [
      textArray(namespaces ?? [ALL_NAMESPACES]),
      handler ?? ALL_HANDLERS,
      fromMs,
      toMs,
    ]);
    return addUp(rows.map(countRow), query);
  }

  async failures({ fromMs, toMs, namespaces, limit }: FailuresQuery): Promise<FailureGroup[]> {
    const hours = namespaces
      ? await readAll(this.#database, sql.READ_FAILURES, [
          textArray(namespaces),
          ...[fromMs, toMs, Math.ceil(FAILURE_HOURS_MAX / Math.max(1, namespaces.length))],
        ])
      : await readAll(this.#database, sql.READ_ALL_FAILURES, [fromMs, toMs, FAILURE_HOURS_MAX]);
    const kept = hours.map(({ sampleRunId: runId, sampleJobId: jobId, jobIds, ...hour }) => ({
      ...{ ...hour, runId, jobId, jobIds: jobIds as JobId[] },
    }));
    const groups = mergeFailures(kept, limit);
    const names = await this.#jobNames(groups.map(({ jobId }) => jobId));
    return groups.map((group) => failureGroup(group, names.get(group.jobId)));
  }

  async fingerprintKey(): Promise<string> {
    const read = async () => (await this.#database.query<readonly [string]>(sql.FINGERPRINT_KEY, []))[0]?.[0];
    this.#fingerprintKey ??= (await read()) ?? (await read());
    if (this.#fingerprintKey === undefined) throw new Error('there is no key for fingerprints');
    return this.#fingerprintKey;
  }

  async attemptsOfJob(
    jobId: JobId,
    { fromMs, toMs, limit }: { fromMs: number; toMs: number; limit: number },
  ): Promise<CountedAttempt[]> {
    return readAll(this.#database, sql.ATTEMPTS_OF_JOB, [jobId, fromMs, toMs, limit]);
  }

  async waitingNow({
    nowMs,
    namespaces,
  }: {
    nowMs: number;
    namespaces: readonly string[] | undefined;
  }): Promise<WaitingNow> {
    const keys = namespaces ? plainArray(namespaces.map(namespaceKey)) : null;
    const [row] = await this.#database.query<readonly [number, number | null, readonly string[]]>(
      sql.WAITING_NOW,
      [nowMs, keys],
    );
    return { waiting: row![0], oldestAtMs: row![1] ?? undefined, unofferedHandlers: row![2] };
  }

  async dropCounts(before: { minutesBeforeMs: number; hoursBeforeMs: number }): Promise<number> {
    let dropped = 0;
    for (const [statement, beforeMs] of [
      [sql.DROP_MINUTES, before.minutesBeforeMs],
      [sql.DROP_HOURS, before.hoursBeforeMs],
      [sql.DROP_FAILURES, before.hoursBeforeMs],
    ] as const) {
      const [row] = await this.#database.query<readonly [number]>(statement, [beforeMs]);
      dropped += row![0];
    }
    return dropped;
  }

  async #cursor(): Promise<Cursor | undefined> {
    const [row] = await this.#database.query<readonly [string, number]>(sql.COUNT_CURSOR, []);
    return row && { xid: row[0], seq: row[1] };
  }

  async #tally(rows: readonly UncountedRow[]): Promise<RunTally> {
    const tally = new RunTally();
    const digests = rows.flatMap((row) => (row[2] === null ? [] : [readDigest(row[2])]));
    await this.#learnNames(digests);
    const spread = await this.#spreads(digests);
    for (const digest of digests) {
      tally.addDigest(digest, {
        nameOf: (key) => this.#names.get(key),
        delayOf: ({ jobId, nominalAtMs, delayMs }) => {
          const occurrence = {
            trigger: 'schedule',
            attempt: 1,
            epoch: 1,
            isRepeat: false,
            scheduledAtMs: nominalAtMs,
          } as const;
          const startedAtMs = nominalAtMs + delayMs;
          return startDelayMs({ ...occurrence, jobId, startedAtMs, schedule: spread.get(jobId) })!;
        },
      });
    }
    for (const record of await this.#records(rows)) tally.addRecord(record);
    return tally;
  }

  async #learnNames(digests: readonly Digest[]): Promise<void> {
    const isKnown = ({ entries }: Digest) => entries.every((entry) => this.#names.has(entry.namespaceKey));
    if (digests.every(isKnown)) return;
    const rows = await this.#database.query<readonly [string]>(sql.NAMESPACES_COUNTED, []);
    for (const [name] of rows) this.#names.set(namespaceKey(name), name);
  }

  async #spreads(digests: readonly Digest[]): Promise<ReadonlyMap<JobId, RecurringSchedule>> {
    const late = digests.flatMap(({ entries }) =>
      entries.flatMap((entry) => (entry.late ? [entry.late.jobId] : [])),
    );
    if (late.length === 0) return new Map();
    const rows = await this.#database.query<readonly [JobId, string]>(sql.SPREAD_SCHEDULES, [
      plainArray([...new Set(late)]),
    ]);
    return new Map(rows.map(([jobId, schedule]) => [jobId, JSON.parse(schedule) as RecurringSchedule]));
  }

  async #records(rows: readonly UncountedRow[]): Promise<EndedRecord[]> {
    const without = rows.filter(([, , , runs]) => runs > 0);
    if (without.length === 0) return [];
    const found = await this.#database.query<RecordRow>(sql.ENDED_RECORDS, [
      plainArray(without.map(([xid]) => xid)),
      plainArray(without.map(([, seq]) => seq)),
    ]);
    return found.map(endedRecord);
  }

  async #knownFailures(rows: readonly FailureRow[]): Promise<ReadonlyMap<string, KnownGroups>> {
    const hours = new Map(rows.map((row) => [hourOf(row), row]));
    if (hours.size === 0) return new Map();
    const found = await this.#database.query<readonly [string, number, string, string]>(sql.KNOWN_FAILURES, [
      textArray([...hours.values()].map(({ namespace }) => namespace)),
      plainArray([...hours.values()].map(({ atMs }) => atMs)),
    ]);
    const known = new Map<string, Map<string, readonly JobId[]>>();
    for (const [namespace, atMs, fingerprint, jobIds] of found) {
      const hour = hourOf({ namespace, atMs });
      const groups = known.get(hour) ?? new Map<string, readonly JobId[]>();
      groups.set(fingerprint, jobIds.slice(1, -1).split(',') as JobId[]);
      known.set(hour, groups);
    }
    return known;
  }

  async #jobNames(jobIds: readonly JobId[]): Promise<ReadonlyMap<JobId, string>> {
    if (jobIds.length === 0) return new Map();
    return new Map(
      await this.#database.query<readonly [JobId, string]>(sql.JOB_NAMES, [plainArray([...new Set(jobIds)])]),
    );
  }
}

/** As many rows as can be counted at once, and at least one. */
function withinBounds(rows: readonly UncountedRow[]): readonly UncountedRow[] {
  let runs = 0;
  const end = rows.findIndex((row, i) => {
    runs += row[3];
    return i > 0 && runs > FOUND_RUNS_MAX;
  });
  return end < 0 ? rows : rows.slice(0, end);
}

function endedRecord(row: RecordRow): EndedRecord {
  const [namespace, handler, jobId, runId, recordedAtMs, status, isAgain, ...times] = row;
  const [trigger, attempt, epoch, scheduledAtMs, spread, started, endedAtMs, error, occurrences, isRepeat] =
    times;
  const startedAtMs = started === null ? undefined : Math.round(started);
  return {
    ...{ namespace, handler, jobId, runId, status, occurrences, startedAtMs },
    recordedAtMs: Math.round(recordedAtMs),
    isRetried: isAgain && isFailure(status),
    delayMs: startDelayMs({
      ...{ jobId, trigger: triggerWord(trigger), attempt, epoch, isRepeat, startedAtMs },
      scheduledAtMs: Math.round(scheduledAtMs),
      schedule: spread === null ? undefined : (JSON.parse(spread) as RecurringSchedule),
    }),
    endedAtMs: endedAtMs ?? undefined,
    error: error ?? undefined,
  };
}

function countRow(row: CountsRow): CountRow {
  const counts = Object.fromEntries(COUNTS.map((name, i) => [name, row[i + 1]])) as Counts;
  const [delays, durations] = row.slice(-2).map((text) => JSON.parse(`[${(text as string).slice(1, -1)}]`));
  return { namespace: '', handler: '', atMs: row[0], counts, delays, durations };
}
