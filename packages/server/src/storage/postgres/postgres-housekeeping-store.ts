/**
 * Retention on PostgreSQL. The history and the events lie in daily partitions, made ahead of time and dropped whole: retention
 * costs a change of the catalogue, not a delete. The audit log is small, and deleted from in parts.
 */
import type { JobStatus } from '@carillon/domain';
import type { Database } from '../../postgres/database.ts';
import type { HousekeepingStore, OpenTransaction } from '../housekeeping-store.ts';
import {
  ANALYZE,
  COUNT_JOBS,
  COUNT_WAITING,
  DROP_AUDIT,
  DROP_CHECKPOINTS,
  DROP_REQUESTS,
  OLDEST_TRANSACTION,
  OUTGROWN_TABLES,
  SUMMARIZE_HISTORY,
} from './housekeeping.sql.ts';
import { LIMIT_LOCK_WAITS } from './partition.sql.ts';
import { Partitions, unlessLocked } from './partitions.ts';

const DAY_MS = 24 * 3_600_000;

export class PostgresHousekeepingStore implements HousekeepingStore {
  readonly #database: Database;
  readonly #history: Partitions;
  readonly #events: Partitions;
  /** By partition: the page from which on summaries may be missing. */
  readonly #summarizedTo = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
    this.#history = new Partitions(database, 'job_runs');
    this.#events = new Partitions(database, 'events');
  }

  async makePartitions(options: { nowMs: number; aheadDays: number }): Promise<void> {
    const faults: unknown[] = [];
    // One table that cannot be changed now is no reason to leave the other as it is.
    for (const table of [this.#history, this.#events]) {
      await table.make(options).catch((error: unknown) => faults.push(error));
    }
    if (faults.length > 0) throw faults[0];
  }

  async hasPartitions({ atMs }: { atMs: number }): Promise<boolean> {
    return (await this.#history.has(atMs)) && (await this.#events.has(atMs));
  }

  async dropHistory({ beforeMs }: { beforeMs: number }): Promise<string[]> {
    return this.#history.drop(beforeMs);
  }

  async dropRequests({ beforeMs }: { beforeMs: number }): Promise<number> {
    // The history goes by whole days.
    const [row] = await this.#database.query<readonly [number]>(DROP_REQUESTS, [beforeMs - DAY_MS]);
    return Number(row![0]);
  }

  async dropCheckpoints({
    leftBeforeMs,
    lettersBeforeMs,
  }: {
    leftBeforeMs: number;
    lettersBeforeMs: number;
  }): Promise<number> {
    const parameters = [leftBeforeMs, lettersBeforeMs];
    const [row] = await this.#database.query<readonly [number]>(DROP_CHECKPOINTS, parameters);
    return Number(row![0]);
  }

  async dropEvents({ beforeMs }: { beforeMs: number }): Promise<string[]> {
    return this.#events.drop(beforeMs);
  }

  async countWaiting(nowMs: number): Promise<number> {
    const [row] = await this.#database.query<readonly [number]>(COUNT_WAITING, [nowMs]);
    return row![0];
  }

  async countJobs(): Promise<ReadonlyMap<JobStatus, number>> {
    return new Map(await this.#database.query<readonly [JobStatus, number]>(COUNT_JOBS, []));
  }

  async refreshStatistics(): Promise<string[]> {
    const tables = await this.#database.query<readonly [string]>(OUTGROWN_TABLES, []);
    for (const [table] of tables) {
      await this.#database.transaction(async (session) => {
        // Not behind others who clean or change the table: then they do it, or the next pass.
        await session.query(LIMIT_LOCK_WAITS, ['200ms']);
        await session.query(ANALYZE(table), []);
      });
    }
    return tables.map(([table]) => table);
  }

  async summarizeHistory({ nowMs }: { nowMs: number }): Promise<number> {
    // A run is recorded under the day of its claim: around midnight, under either.
    const days = [nowMs - DAY_MS, nowMs].map((atMs) => this.#history.nameAt(atMs));
    for (const day of this.#summarizedTo.keys()) if (!days.includes(day)) this.#summarizedTo.delete(day);
    let made = 0;
    for (const day of days) {
      const parameters = [day, this.#summarizedTo.get(day) ?? null];
      await unlessLocked(async () => {
        const [row] = await this.#database.transaction(async (session) => {
          await session.query(LIMIT_LOCK_WAITS, ['50ms']);
          return session.query<readonly [page: number, made: number]>(SUMMARIZE_HISTORY, parameters);
        });
        if (row === undefined) return;
        this.#summarizedTo.set(day, row[0]);
        made += row[1];
      });
    }
    return made;
  }

  async dropAudit({ beforeMs }: { beforeMs: number }): Promise<number> {
    const [row] = await this.#database.query<readonly [number]>(DROP_AUDIT, [beforeMs]);
    return row![0];
  }

  async oldestTransaction(): Promise<OpenTransaction | undefined> {
    type Row = readonly [seconds: number, pid: number, application: string, state: string | null];
    const [row] = await this.#database.query<Row>(OLDEST_TRANSACTION, []);
    return row && { seconds: row[0], pid: row[1], application: row[2], state: row[3] ?? 'unknown' };
  }
}
