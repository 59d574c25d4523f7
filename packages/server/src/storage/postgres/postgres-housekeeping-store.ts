/**
 * Daily partitions of the history. They are made ahead, so that no insert ever waits for one, and dropped whole: retention
 * costs a catalogue change, not a delete.
 */
import type { Database, Statement } from '../../postgres/database.ts';
import type { HousekeepingStore } from '../housekeeping-store.ts';

const DAY_MS = 24 * 3_600_000;

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
      for (let day = -1; day <= options.aheadDays; day += 1)
        await session.query(makePartition(today + day * DAY_MS), []);
    });
  }

  async dropHistory(options: { beforeMs: number }): Promise<string[]> {
    const rows = await this.#database.query<readonly [string]>(
      {
        name: 'list_partitions',
        text: `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = 'job_runs'::regclass ORDER BY c.relname`,
      },
      [],
    );
    await this.#database.query(DROP_STRAYS, [options.beforeMs]);
    const dropped: string[] = [];
    for (const [name] of rows) {
      if (partitionEndMs(name) > options.beforeMs) continue;
      await this.#database.query({ name: `drop_${name}`, text: `DROP TABLE IF EXISTS ${name}` }, []);
      dropped.push(name);
    }
    return dropped;
  }
}

const PARTITION_LOCK: Statement = {
  name: 'partition_lock',
  text: 'SELECT FROM (SELECT pg_advisory_xact_lock(7420002)) AS locked',
};

/** What was claimed on a day without a partition of its own. */
const DROP_STRAYS: Statement = {
  name: 'drop_strays',
  text: 'DELETE FROM job_runs_default WHERE created_at < to_timestamp($1::float8 / 1000)',
};

function makePartition(fromMs: number): Statement {
  const name = partitionName(fromMs);
  return {
    name: `make_${name}`,
    text: `CREATE TABLE IF NOT EXISTS ${name} PARTITION OF job_runs
      FOR VALUES FROM ('${new Date(fromMs).toISOString()}') TO ('${new Date(fromMs + DAY_MS).toISOString()}')`,
  };
}

function partitionName(dayMs: number): string {
  return `job_runs_${new Date(dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

/** A table that is not named like one of ours ends never: it is kept. */
function partitionEndMs(name: string): number {
  const [, year, month, day] = /^job_runs_(\d{4})(\d{2})(\d{2})$/.exec(name) ?? [];
  const endMs = Date.UTC(Number(year), Number(month) - 1, Number(day)) + DAY_MS;
  return Number.isNaN(endMs) ? Number.POSITIVE_INFINITY : endMs;
}
