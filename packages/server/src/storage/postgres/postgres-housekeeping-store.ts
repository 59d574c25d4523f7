/**
 * Daily partitions of the history and of the events. They are made ahead, so that no insert ever waits for one, and dropped
 * whole: retention costs a catalogue change, not a delete.
 */
import type { JobStatus } from '@carillon/domain';
import type { Database, Statement } from '../../postgres/database.ts';
import type { HousekeepingStore, OpenTransaction } from '../housekeeping-store.ts';
import { StorageTimeout } from '../storage.ts';
import {
  COUNT_JOBS,
  DROP_AUDIT,
  DROP_STRAY_EVENTS,
  DROP_STRAYS,
  LIST_PARTITIONS,
  LOCK_PATIENCE,
  OLDEST_TRANSACTION,
  PARTITION_LOCK,
  STRAY_EVENTS,
  STRAY_RUNS,
} from './housekeeping.sql.ts';

const DAY_MS = 24 * 3_600_000;

type Partitioned = 'job_runs' | 'events';

export class PostgresHousekeepingStore implements HousekeepingStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Yesterday too: a claim made just before midnight is recorded just after it. */
  async makePartitions(options: { nowMs: number; aheadDays: number }): Promise<void> {
    const today = Math.floor(options.nowMs / DAY_MS) * DAY_MS;
    for (const table of ['job_runs', 'events'] as const) {
      const there = await this.#partitionsOf(table);
      for (let day = -1; day <= options.aheadDays; day += 1) {
        const fromMs = today + day * DAY_MS;
        if (!there.includes(partitionName(table, fromMs))) await this.#make(table, fromMs);
      }
    }
  }

  async #make(table: Partitioned, fromMs: number): Promise<void> {
    await this.#database.transaction(async (session) => {
      await session.query(LOCK_PATIENCE, []);
      // Two servers that start together would both find the table missing, and one would fail.
      await session.query(PARTITION_LOCK, []);
      // A day of which rows went to the default partition stays there: making its own would fail.
      const strays = await session.query(table === 'events' ? STRAY_EVENTS : STRAY_RUNS, [
        fromMs,
        fromMs + DAY_MS,
      ]);
      if (strays.length === 0) await session.query(makePartition(table, fromMs), []);
    });
  }

  async #partitionsOf(table: Partitioned): Promise<string[]> {
    return (await this.#database.query<readonly [string]>(LIST_PARTITIONS, [table])).map(([name]) => name);
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

  async dropAudit({ beforeMs }: { beforeMs: number }): Promise<number> {
    const [row] = await this.#database.query<readonly [number]>(DROP_AUDIT, [beforeMs]);
    return row![0];
  }

  async oldestTransaction(): Promise<OpenTransaction | undefined> {
    type Row = readonly [seconds: number, pid: number, application: string, state: string | null];
    const [row] = await this.#database.query<Row>(OLDEST_TRANSACTION, []);
    return row && { seconds: row[0], pid: row[1], application: row[2], state: row[3] ?? 'unknown' };
  }

  async #drop(table: Partitioned, beforeMs: number): Promise<string[]> {
    const dropped: string[] = [];
    for (const name of await this.#partitionsOf(table)) {
      if (partitionEndMs(table, name) > beforeMs) continue;
      if (await this.#dropOne(name)) dropped.push(name);
    }
    return dropped;
  }

  async #dropOne(name: string): Promise<boolean> {
    try {
      await this.#database.transaction(async (session) => {
        await session.query(LOCK_PATIENCE, []);
        await session.query({ name: `drop_${name}`, text: `DROP TABLE IF EXISTS ${name}` }, []);
      });
      return true;
    } catch (error) {
      if (error instanceof StorageTimeout) return false;
      throw error;
    }
  }
}

function partitionName(table: Partitioned, fromMs: number): string {
  return `${table}_${new Date(fromMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

function makePartition(table: Partitioned, fromMs: number): Statement {
  const name = partitionName(table, fromMs);
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
