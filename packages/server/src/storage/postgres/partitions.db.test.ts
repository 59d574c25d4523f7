/** Partitions are made and dropped while others read and write, and nobody waits (hazard 41); what a crash leaves is finished. */
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../../tests/support/test-storage.ts';
import type { HousekeepingStore } from '../housekeeping-store.ts';
import { markToDrop, type Partitioned } from './partition.sql.ts';
import type { PostgresStorage } from './postgres-storage.ts';

const DAY_MS = 24 * 3_600_000;
const TABLES: readonly Partitioned[] = ['job_runs', 'events'];

describeEachPostgres('partitions', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let housekeeping: HousekeepingStore;
  let backup: pg.Client;
  let writer: pg.Client;
  let nowMs: number;

  beforeEach(async () => {
    database = await createTestDatabase(server.url);
    storage = open();
    ({ housekeeping } = storage);
    backup = await connect();
    writer = await connect();
    // A lock that has to be waited for is a failure of the test; without one this limit never counts.
    await writer.query(`SET lock_timeout = '1s'`);
    nowMs = await storage.members.serverTimeMs();
  });

  afterEach(async () => {
    await backup.end();
    await writer.end();
    await storage.close();
    await database.drop();
  });

  function open(): PostgresStorage {
    return openTestStorage(database.url);
  }

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    return client;
  }

  const dayName = (table: Partitioned, atMs: number) =>
    `${table}_${new Date(atMs).toISOString().slice(0, 10).replaceAll('-', '')}`;

  async function partitions(table: Partitioned): Promise<string[]> {
    const { rows } = await writer.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass ORDER BY 1`,
      [table],
    );
    return rows.map(({ name }) => name);
  }

  async function exists(name: string): Promise<boolean> {
    const { rows } = await writer.query('SELECT to_regclass($1) IS NOT NULL AS found', [name]);
    return rows[0].found;
  }

  async function write(atMs: number): Promise<void> {
    await writer.query(
      `INSERT INTO job_runs (run_id, job_id, status, created_at, epoch, trigger, scheduled_at, job_version)
        VALUES (gen_random_uuid(), gen_random_uuid(), 'SUCCESS', to_timestamp($1::float8 / 1000), 1, 1, now(), 1)`,
      [atMs],
    );
    await writer.query(
      `INSERT INTO events (at, kind) VALUES (to_timestamp($1::float8 / 1000), 'worker.left')`,
      [atMs],
    );
  }

  async function countOn(client: pg.Client, table: Partitioned): Promise<number> {
    return (await client.query(`SELECT count(*)::int FROM ${table}`)).rows[0].count;
  }

  /** Reads and writes without a pause while the work goes on. */
  async function whileOthersGoOn<T>(work: () => Promise<T>): Promise<T> {
    let isOver = false;
    const done = work().finally(() => {
      isOver = true;
    });
    // A rejection is the caller's to see, after the loop.
    done.catch(() => undefined);
    do {
      await write(nowMs);
      for (const table of TABLES) await countOn(writer, table);
    } while (!isOver);
    return done;
  }

  /** The days the tests call old: made after the default partition was given up, and each written to. */
  async function makeOld(): Promise<number[]> {
    await housekeeping.makePartitions({ nowMs, aheadDays: 1 });
    await housekeeping.makePartitions({ nowMs: nowMs - 10 * DAY_MS, aheadDays: 0 });
    const days = [nowMs - 11 * DAY_MS, nowMs - 10 * DAY_MS];
    for (const day of days) await write(day);
    return days;
  }

  const dropOld = async (on = housekeeping) => [
    ...(await on.dropHistory({ beforeMs: nowMs - 5 * DAY_MS })),
    ...(await on.dropEvents({ beforeMs: nowMs - 5 * DAY_MS })),
  ];

  const lease = (claimedAtMs: number) =>
    writer.query(
      `INSERT INTO leases (lease_id, worker_id, claimed_at, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job, epochs,
          job_versions, nominal_ats)
        SELECT gen_random_uuid(), 'worker', $1, ARRAY[gen_random_uuid()], ARRAY[gen_random_uuid()], '{1}', '{1}', '{1}', '{0}',
          '{t}', '{1}', '{1}', '{1}'`,
      [Math.floor(claimedAtMs)],
    );

  describe('while a backup has read the tables', () => {
    const startBackup = () =>
      backup.query(
        'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM job_runs; SELECT count(*) FROM events',
      );

    it('are made, and others read and write meanwhile', async () => {
      await housekeeping.makePartitions({ nowMs, aheadDays: 1 });
      await startBackup();
      const laterMs = nowMs + 20 * DAY_MS;
      await whileOthersGoOn(() => housekeeping.makePartitions({ nowMs: laterMs, aheadDays: 3 }));
      await write(laterMs);
      for (const table of TABLES) expect(await partitions(table)).toContain(dayName(table, laterMs));
    });

    it('are dropped for all who come later and kept for the backup, and others read and write meanwhile', async () => {
      const days = await makeOld();
      await startBackup();
      for (let pass = 0; pass < 2; pass += 1) expect(await whileOthersGoOn(() => dropOld())).toEqual([]);
      expect(await countOn(backup, 'job_runs')).toBe(2);
      await backup.query('COMMIT');
      const names = TABLES.flatMap((table) => days.map((day) => dayName(table, day)));
      expect((await whileOthersGoOn(() => dropOld())).sort()).toEqual(names.sort());
      for (const name of names) expect(await exists(name)).toBe(false);
    });

    it('the days ahead are made although a day could only be half detached', async () => {
      await makeOld();
      await startBackup();
      await dropOld();
      const laterMs = nowMs + 20 * DAY_MS;
      await housekeeping.makePartitions({ nowMs: laterMs, aheadDays: 1 });
      expect(await housekeeping.hasPartitions({ atMs: laterMs })).toBe(true);
    });

    it('a default partition stays, takes what is written, and is given up when the backup has ended', async () => {
      await write(nowMs - 3 * DAY_MS);
      await startBackup();
      await expect(housekeeping.makePartitions({ nowMs, aheadDays: 1 })).rejects.toThrow(/lock timeout/);
      expect(await housekeeping.hasPartitions({ atMs: nowMs })).toBe(true);
      await write(nowMs);
      await backup.query('COMMIT');
      await housekeeping.makePartitions({ nowMs, aheadDays: 1 });
      for (const table of TABLES) {
        expect(await partitions(table)).toEqual(
          [-3, -1, 0, 1].map((day) => dayName(table, nowMs + day * DAY_MS)),
        );
        expect(await countOn(backup, table)).toBe(2);
      }
    });
  });

  it('are like those that PostgreSQL makes: same columns, same indexes, each under its parent', async () => {
    await backup.query(`CREATE TABLE job_runs_19990101 PARTITION OF job_runs FOR VALUES FROM ('1999-01-01Z') TO ('1999-01-02Z');
      CREATE TABLE events_19990101 PARTITION OF events FOR VALUES FROM ('1999-01-01Z') TO ('1999-01-02Z')`);
    await housekeeping.makePartitions({ nowMs, aheadDays: 0 });
    for (const table of TABLES) {
      const [theirs, ours] = await Promise.all(
        [`${table}_19990101`, dayName(table, nowMs)].map(async (name) => {
          const { rows } = await backup.query<{ shape: string }>(
            `SELECT concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attstorage, pg_get_expr(adbin, adrelid)) AS shape
              FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
              WHERE attrelid = $1::regclass AND attnum > 0
            UNION ALL
            SELECT concat_ws(' ', pg_get_indexdef(indexrelid), 'under', inhparent::regclass) FROM pg_index
              JOIN pg_inherits ON inhrelid = indexrelid WHERE indrelid = $1::regclass ORDER BY 1`,
            [name],
          );
          return rows.map(({ shape }) => shape.replaceAll(name, 'partition'));
        }),
      );
      expect(ours).toEqual(theirs);
    }
  });

  it('a default partition that holds too much to be moved at once stays, and the days beside it are made and dropped', async () => {
    await writer.query(`INSERT INTO events (at, kind)
      SELECT now() - interval '3 days', 'worker.left' FROM generate_series(1, 10001)`);
    await housekeeping.makePartitions({ nowMs, aheadDays: 1 });
    expect(await partitions('events')).toEqual([
      ...[-1, 0, 1].map((day) => dayName('events', nowMs + day * DAY_MS)),
      'events_default',
    ]);
    expect(await housekeeping.dropEvents({ beforeMs: nowMs })).toEqual([dayName('events', nowMs - DAY_MS)]);
    expect(await countOn(backup, 'events')).toBe(0);
    await housekeeping.makePartitions({ nowMs, aheadDays: 1 });
    expect(await partitions('events')).not.toContain('events_default');
  });

  it('the day of a claim that has not ended is not dropped, and made where it is missing', async () => {
    const days = await makeOld();
    const missing = nowMs - 40 * DAY_MS;
    await lease(days[0]!);
    await lease(missing);
    expect(await housekeeping.dropHistory({ beforeMs: nowMs - 5 * DAY_MS })).toEqual([
      dayName('job_runs', days[1]!),
    ]);
    await housekeeping.makePartitions({ nowMs, aheadDays: 1 });
    expect(await partitions('job_runs')).toEqual(
      expect.arrayContaining([dayName('job_runs', missing), dayName('job_runs', days[0]!)]),
    );
    await writer.query('DELETE FROM leases');
    expect(await housekeeping.dropHistory({ beforeMs: nowMs - 5 * DAY_MS })).toEqual([
      dayName('job_runs', missing),
      dayName('job_runs', days[0]!),
    ]);
  });

  describe('after a crash', () => {
    async function halfDetach(name: string): Promise<void> {
      await backup.query('BEGIN; SELECT FROM job_runs');
      const crashing = await connect();
      await crashing.query(`SET lock_timeout = '20ms'`);
      await expect(
        crashing.query(`ALTER TABLE job_runs DETACH PARTITION ${name} CONCURRENTLY`),
      ).rejects.toThrow(/lock timeout/);
      await crashing.end();
      await backup.query('COMMIT');
    }

    it('a day that was half detached is detached and dropped', async () => {
      const [first, second] = (await makeOld()).map((day) => dayName('job_runs', day));
      await backup.query(markToDrop(first!).text);
      await halfDetach(first!);
      expect(await dropOld()).toEqual(expect.arrayContaining([first, second]));
      expect(await exists(first!)).toBe(false);
    });

    it('a day that was detached is dropped', async () => {
      const [first] = (await makeOld()).map((day) => dayName('job_runs', day));
      await backup.query(markToDrop(first!).text);
      await backup.query(`ALTER TABLE job_runs DETACH PARTITION ${first} CONCURRENTLY`);
      expect(await dropOld()).toContain(first);
      expect(await exists(first!)).toBe(false);
    });

    it('a day that was detached and is wanted again comes back with what it holds, and is no longer to be dropped', async () => {
      const [day] = await makeOld();
      const name = dayName('job_runs', day!);
      await backup.query(markToDrop(name).text);
      await halfDetach(name);
      await housekeeping.dropHistory({ beforeMs: 0 });
      expect(await exists(name)).toBe(true);
      await housekeeping.makePartitions({ nowMs: day!, aheadDays: 0 });
      expect(await countOn(backup, 'job_runs')).toBe(2);
      expect(await partitions('job_runs')).toContain(name);
      const { rows } = await backup.query(`SELECT obj_description('${name}'::regclass, 'pg_class') AS mark`);
      expect(rows).toEqual([{ mark: null }]);
    });

    it('a day that somebody else has detached is not ours to drop', async () => {
      const [first, second] = (await makeOld()).map((day) => dayName('job_runs', day));
      await backup.query(`ALTER TABLE job_runs DETACH PARTITION ${first} CONCURRENTLY`);
      await halfDetach(second!);
      await dropOld();
      expect([await exists(first!), await exists(second!)]).toEqual([true, true]);
      expect(await partitions('job_runs')).not.toContain(second);
    });
  });

  it('several servers make and drop the same days at once, each day once, and none fails', async () => {
    const others = [open(), open()];
    const all = [housekeeping, ...others.map((it) => it.housekeeping)];
    await Promise.all(all.map((it) => it.makePartitions({ nowMs, aheadDays: 5 })));
    expect(await partitions('job_runs')).toHaveLength(7);
    const days = await makeOld();
    const dropped = await Promise.all(all.map((it) => dropOld(it)));
    // Who finds another one at it leaves the rest to the next pass.
    dropped.push(await dropOld());
    expect(dropped.flat().sort()).toEqual(
      TABLES.flatMap((table) => days.map((day) => dayName(table, day))).sort(),
    );
    await Promise.all(others.map((it) => it.close()));
  });

  it('leave no trace on the connection: neither a limit nor a lock', async () => {
    await makeOld();
    const single = openTestStorage(database.url, { connectionsMax: 1 });
    expect(await dropOld(single.housekeeping)).toHaveLength(4);
    const [settings] = await single.database.query(
      {
        name: '',
        text: `SELECT current_setting('lock_timeout'), current_setting('enable_seqscan'),
          (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())`,
      },
      [],
    );
    expect(settings).toEqual(['0', 'off', 0]);
    await single.close();
  });
});
