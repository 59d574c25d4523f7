/** Housekeeping on a real PostgreSQL: what others do in the database meanwhile must not stop it, nor it them. */
import { type Log, ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../tests/support/test-storage.ts';
import type { PostgresStorage } from '../storage/postgres/postgres-storage.ts';
import { Housekeeper } from './housekeeper.ts';

const DAY_MS = 24 * 3_600_000;

interface Node {
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Node[];
}

describeEachPostgres('the housekeeper', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let other: pg.Client;
  let clock: ManualClock;
  let warnings: object[];
  let housekeeper: Housekeeper;

  beforeEach(async () => {
    database = await createTestDatabase(server.url);
    storage = openTestStorage(database.url);
    other = new pg.Client({ connectionString: database.url, application_name: 'somebody' });
    await other.connect();
    clock = new ManualClock(Date.UTC(2030, 0, 1));
    warnings = [];
    housekeeper = create();
  });

  function create(over: { openSecondsMax?: number } = {}): Housekeeper {
    const log: Log = { ...silentLog, warn: (facts) => void warnings.push(facts) };
    return new Housekeeper({
      ...{ store: storage.housekeeping, clock, random: new SeededRandom(1), log },
      retentionMs: 2 * DAY_MS,
      eventRetentionMs: DAY_MS,
      auditRetentionMs: 3 * DAY_MS,
      ...over,
    });
  }

  afterEach(async () => {
    await other.end();
    await storage.close();
    await database.drop();
  });

  async function partitions(): Promise<string[]> {
    const { rows } = await other.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'job_runs'::regclass ORDER BY 1`,
    );
    return rows.map(({ name }) => name).filter((name) => name !== 'job_runs_default');
  }

  it('tells the database of hot tables that outgrew what it knew, by itself and once', async () => {
    const insert = (from: number, to: number) =>
      other.query(
        `INSERT INTO jobs (job_id, name, schedule_type, status, handler, payload, priority, timeout_ms, shard)
         SELECT md5(n::text)::uuid, 'job', 'IMMEDIATE', 'SCHEDULED', 'http', '{}', 1, 1, 0 FROM generate_series($1::int, $2::int) n`,
        [from, to],
      );
    const known = async () =>
      (
        await other.query<{ rows: number }>(
          `SELECT reltuples::int AS rows FROM pg_class WHERE relname = 'jobs'`,
        )
      ).rows[0]!.rows;
    await insert(1, 3);
    await other.query('ANALYZE jobs');
    await insert(4, 2_000);
    expect(await known()).toBe(3);
    await housekeeper.start();
    await eventually(async () => expect(await known()).toBe(2_000), { withinMs: 60_000 });
    await housekeeper.stop();
    expect(await storage.housekeeping.refreshStatistics()).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('sums up what was recorded since, but for what is still written to, by itself and once', async () => {
    const { housekeeping } = storage;
    const nowMs = clock.now();
    const record = (from: number, to: number) =>
      other.query(
        `INSERT INTO job_runs (run_id, job_id, status, created_at, modified_time, epoch, trigger, scheduled_at, job_version)
         SELECT md5(n::text)::uuid, md5('job')::uuid, 'SUCCESS', to_timestamp($3 / 1000.0), to_timestamp($3 / 1000.0), 1, 1, to_timestamp($3 / 1000.0), 1
         FROM generate_series($1::int, $2::int) n`,
        [from, to, nowMs],
      );
    /** Rows that a search by instant reads although none of them can be meant. */
    const readInVain = async () => {
      await other.query(
        'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off',
      );
      const { rows } = await other.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
        `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT FROM job_runs WHERE created_at = to_timestamp(${nowMs + 3_600_000} / 1000.0)`,
      );
      const all = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(all)];
      const found = all(rows[0]!['QUERY PLAN'][0].Plan);
      return found.reduce((sum, node) => sum + (node['Rows Removed by Index Recheck'] ?? 0), 0);
    };
    await housekeeping.makePartitions({ nowMs, aheadDays: 1 });
    // Autovacuum would do a part of it meanwhile.
    await other.query(`DO $$ DECLARE part record; BEGIN
      FOR part IN SELECT x.indexrelid::regclass AS index, x.indrelid::regclass AS of FROM pg_inherits i
        JOIN pg_index x ON x.indexrelid = i.inhrelid WHERE i.inhparent = 'job_runs_created_at'::regclass LOOP
        EXECUTE format('ALTER INDEX %s SET (autosummarize = off)', part.index);
        EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', part.of);
      END LOOP; END $$`);
    expect(await housekeeping.summarizeHistory({ nowMs })).toBe(0);
    await record(1, 40_000);
    await other.query('BEGIN; LOCK TABLE job_runs IN SHARE UPDATE EXCLUSIVE MODE');
    expect(await housekeeping.summarizeHistory({ nowMs })).toBe(0);
    await other.query('COMMIT');
    expect(await housekeeping.summarizeHistory({ nowMs })).toBeGreaterThan(10);
    expect(await housekeeping.summarizeHistory({ nowMs })).toBe(0);
    expect(await readInVain()).toBeLessThan(20_000);
    await record(40_001, 120_000);
    expect(await readInVain()).toBeGreaterThan(70_000);
    await housekeeper.start();
    await eventually(async () => expect(await readInVain()).toBeLessThan(20_000), { withinMs: 60_000 });
    await housekeeper.stop();
    expect(warnings).toEqual([]);
  });

  it('tells of a transaction that was left open, and of none that has just begun (hazard 29)', async () => {
    await other.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
    await housekeeper.runOnce();
    expect(warnings).toEqual([]);
    await create({ openSecondsMax: 0 }).runOnce();
    expect(warnings).toMatchObject([{ application: 'somebody', state: 'idle in transaction' }]);
    await other.query('ROLLBACK');
    expect(await storage.housekeeping.oldestTransaction()).toBeUndefined();
  });

  it('leaves a day that somebody reads for the next time, and holds up nobody behind it', async () => {
    await housekeeper.runOnce();
    const [oldest] = await partitions();
    await other.query(`BEGIN; SELECT FROM ${oldest}`);
    clock.advance(10 * DAY_MS);
    await housekeeper.runOnce();
    expect(await partitions()).toContain(oldest);
    await other.query('COMMIT');
    clock.advance(DAY_MS);
    await housekeeper.runOnce();
    expect(await partitions()).not.toContain(oldest);
  });

  describe("whose clock is the database's", () => {
    const TODAY_LATER_MS = 30 * DAY_MS;

    beforeEach(async () => {
      clock = new ManualClock(await storage.members.serverTimeMs());
      housekeeper = create();
      await housekeeper.runOnce();
      clock.advance(TODAY_LATER_MS);
    });

    afterEach(() => housekeeper.stop());

    it('starts while a backup has read the tables and partitions are due (hazard 41)', async () => {
      await other.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM job_runs; SELECT FROM events');
      const before = (await partitions()).length;
      await housekeeper.start();
      await other.query('COMMIT');
      expect((await partitions()).length).toBeGreaterThan(before);
      expect(await storage.housekeeping.hasPartitions({ atMs: clock.now() + 7 * DAY_MS })).toBe(true);
      expect(warnings).toEqual([]);
    });

    it('goes on while the days ahead cannot be made, and makes them a minute after they can', async () => {
      clock.advance(-TODAY_LATER_MS + DAY_MS);
      await other.query('BEGIN; LOCK TABLE job_runs IN SHARE UPDATE EXCLUSIVE MODE');
      await housekeeper.start();
      const triedAgain = expect.objectContaining({ retryMs: 60_000 });
      await eventually(() => expect(warnings).toContainEqual(triedAgain), { withinMs: 60_000 });
      expect(await storage.housekeeping.hasPartitions({ atMs: clock.now() + 7 * DAY_MS })).toBe(false);
      await other.query('COMMIT');
      await eventually(
        async () => {
          clock.advance(60_000);
          expect(await storage.housekeeping.hasPartitions({ atMs: clock.now() + 7 * DAY_MS })).toBe(true);
        },
        { withinMs: 60_000 },
      );
    });

    it('waits with its start, and says so, until today has a partition', async () => {
      await other.query('BEGIN; LOCK TABLE job_runs IN SHARE UPDATE EXCLUSIVE MODE');
      let isStarted = false;
      const started = housekeeper.start().then(() => {
        isStarted = true;
      });
      await eventually(() => expect(warnings).toContainEqual({ retryMs: 2_000 }), { withinMs: 60_000 });
      expect(isStarted).toBe(false);
      await other.query('COMMIT');
      await eventually(
        () => {
          clock.advance(2_000);
          expect(isStarted).toBe(true);
        },
        { withinMs: 60_000 },
      );
      await started;
      expect(await storage.housekeeping.hasPartitions({ atMs: clock.now() })).toBe(true);
    });

    it('that is stopped while its start waits does not start', async () => {
      await other.query('BEGIN; LOCK TABLE job_runs IN SHARE UPDATE EXCLUSIVE MODE');
      const started = housekeeper.start();
      started.catch(() => undefined);
      await eventually(() => expect(warnings).toContainEqual({ retryMs: 2_000 }), { withinMs: 60_000 });
      await housekeeper.stop();
      await expect(started).rejects.toThrow(/stopped/);
    });
  });

  it('removes entries of the audit log that are past their retention, and no others', async () => {
    await other.query(`INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, subject_kind, subject_id)
      SELECT '2029-12-20Z'::timestamptz + i * interval '1 hour', 'key', 'k', 'k', 'jobs.create', 'job', i::text
      FROM generate_series(0, 300) AS i`);
    await housekeeper.runOnce();
    const { rows } = await other.query('SELECT min(at) AS oldest, count(*)::int FROM audit_log');
    expect(rows).toEqual([{ oldest: new Date('2029-12-29Z'), count: 85 }]);
  });

  it('hazard 48: removes requests and checkpoints of runs that are over, however many, in one pass', async () => {
    await other.query(`INSERT INTO checkpoints (run_id, epoch, seq, bytes, data, saved_at)
      SELECT md5(i::text)::uuid, 1, 1, 2, '{}', '2029-12-20Z' FROM generate_series(1, 2500) AS i`);
    await other.query(`INSERT INTO run_requests (run_id, job_id, requested_at)
      SELECT md5(i::text)::uuid, md5(i::text)::uuid, '2029-12-20Z' FROM generate_series(1, 25000) AS i`);
    await housekeeper.runOnce();
    const { rows } = await other.query(
      'SELECT (SELECT count(*)::int FROM checkpoints) AS checkpoints, (SELECT count(*)::int FROM run_requests) AS requests',
    );
    expect(rows).toEqual([{ checkpoints: 0, requests: 0 }]);
  });

  it('a day of which runs went astray keeps them, and the days after it get their partitions', async () => {
    await other.query(`INSERT INTO job_runs (run_id, job_id, status, created_at, epoch, trigger, scheduled_at, job_version)
      VALUES (gen_random_uuid(), gen_random_uuid(), 'SUCCESS', '2030-01-02T12:00:00Z', 1, 1, now(), 1)`);
    await housekeeper.runOnce();
    expect(await partitions()).toEqual([
      'job_runs_20291231',
      'job_runs_20300101',
      ...['03', '04', '05', '06', '07', '08'].map((day) => `job_runs_203001${day}`),
    ]);
  });
});
