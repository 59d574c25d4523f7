/**
 * Daily partitions of the history. They are made ahead, so that no insert ever waits for one, and dropped whole: retention
 * costs a catalogue change, not a delete.
 */
import type { Database } from '../../postgres/database.ts';
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
    for (let day = -1; day <= options.aheadDays; day += 1) {
      const fromMs = today + day * DAY_MS;
      await this.#database.query(
        {
          name: `make_partition_${partitionName(fromMs)}`,
          text: `CREATE TABLE IF NOT EXISTS ${partitionName(fromMs)} PARTITION OF job_runs
            FOR VALUES FROM ('${new Date(fromMs).toISOString()}') TO ('${new Date(fromMs + DAY_MS).toISOString()}')`,
        },
        [],
      );
    }
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
    const dropped: string[] = [];
    for (const [name] of rows) {
      if (partitionEndMs(name) > options.beforeMs) continue;
      await this.#database.query({ name: `drop_${name}`, text: `DROP TABLE IF EXISTS ${name}` }, []);
      dropped.push(name);
    }
    return dropped;
  }
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
