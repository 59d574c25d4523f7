/**
 * Daily partitions of the history and of the events. They are made ahead, so that no insert ever waits for one, and dropped
 * whole: retention costs a catalogue change, not a delete.
 */
import type { JobStatus } from '@carillon/domain';
import type { Database, Statement } from '../../postgres/database.ts';
import type { HousekeepingStore, OpenTransaction } from '../housekeeping-store.ts';
import {
  COUNT_JOBS,
  DROP_PATIENCE,
  DROP_STRAY_EVENTS,
  DROP_STRAYS,
  LIST_PARTITIONS,
  OLDEST_TRANSACTION,
  PARTITION_LOCK,
  STRAY_EVENTS,
  STRAY_RUNS,
} from './housekeeping.sql.ts';

const DAY_MS = 24 * 3_600_000;
const LOCK_NOT_AVAILABLE = '55P03';

type Partitioned = 'job_runs' | 'events';

export class PostgresHousekeepingStore implements HousekeepingStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Yesterday too: a claim made just before midnight is recorded just after it. */
  async makePartitions(options: { nowMs: number; aheadDays: number }): Promise<void> {
    const today = Math.floor(options.nowMs / DAY_MS) * DAY_MS;
    await this.#database.transaction(async (session) => {
      // Two servers that start together would both find the table missing, and one would fail.
      await session.query(PARTITION_LOCK, []);
      for (let day = -1; day <= options.aheadDays; day += 1) {
        const fromMs = today + day * DAY_MS;
        for (const [table, strayRows] of [
          ['job_runs', STRAY_RUNS],
          ['events', STRAY_EVENTS],
        ] as const) {
          // A day of which rows went to the default partition stays there: making its own would fail.
          const strays = await session.query(strayRows, [fromMs, fromMs + DAY_MS]);
          if (strays.length === 0) await session.query(makePartition(table, fromMs), []);
        }
      }
    });
  }

  async dropHistory(options: { beforeMs: number }): Promise<string[]> {
    await this.#database.query(DROP_STRAYS, [options.beforeMs]);
    return this.#drop('job_runs', options.beforeMs);
  }

  async dropEvents(options: { beforeMs: number }): Promise<string[]> {
    await this.#database.query(DROP_STRAY_EVENTS, [options.beforeMs]);
    return this.#drop('events', options.beforeMs);
  }

  async countJobs(): Promise<ReadonlyMap<JobStatus, number>> {
    return new Map(await this.#database.query<readonly [JobStatus, number]>(COUNT_JOBS, []));
  }

  async oldestTransaction(): Promise<OpenTransaction | undefined> {
    type Row = readonly [seconds: number, pid: number, application: string, state: string | null];
    const [row] = await this.#database.query<Row>(OLDEST_TRANSACTION, []);
    return row && { seconds: row[0], pid: row[1], application: row[2], state: row[3] ?? 'unknown' };
  }

  async #drop(table: Partitioned, beforeMs: number): Promise<string[]> {
    const rows = await this.#database.query<readonly [string]>(LIST_PARTITIONS, [table]);
    const dropped: string[] = [];
    for (const [name] of rows) {
      if (partitionEndMs(table, name) > beforeMs) continue;
      if (await this.#dropOne(name)) dropped.push(name);
    }
    return dropped;
  }

  async #dropOne(name: string): Promise<boolean> {
    try {
      await this.#database.transaction(async (session) => {
        await session.query(DROP_PATIENCE, []);
        await session.query({ name: `drop_${name}`, text: `DROP TABLE IF EXISTS ${name}` }, []);
      });
      return true;
    } catch (error) {
      if ((error as { code?: unknown }).code === LOCK_NOT_AVAILABLE) return false;
      throw error;
    }
  }
}

function makePartition(table: Partitioned, fromMs: number): Statement {
  const name = `${table}_${new Date(fromMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
  return {
    name: `make_${name}`,
    text: `CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${table}
      FOR VALUES FROM ('${new Date(fromMs).toISOString()}') TO ('${new Date(fromMs + DAY_MS).toISOString()}')`,
  };
}

/** A table that is not named like one of ours ends never: it is kept. */
function partitionEndMs(table: Partitioned, name: string): number {
  const [, year, month, day] = name.startsWith(`${table}_`)
    ? (/_(\d{4})(\d{2})(\d{2})$/.exec(name) ?? [])
    : [];
  const endMs = Date.UTC(Number(year), Number(month) - 1, Number(day)) + DAY_MS;
  return Number.isNaN(endMs) ? Number.POSITIVE_INFINITY : endMs;
}
