/** What only PostgreSQL can get wrong about events: transactions that commit late, partitions, and plans. */
import { compareEventCursors, type JobId, type WorkerId } from '@carillon/domain';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../../tests/support/test-storage.ts';
import { newId } from '../conformance/sample-job.ts';
import { BASE_MS } from '../conformance/storage-under-test.ts';
import { StorageWorld } from '../conformance/storage-world.ts';
import { READ_EVENTS } from './event.sql.ts';
import type { PostgresStorage } from './postgres-storage.ts';

const DAY_MS = 24 * 3_600_000;

describeEachPostgres('events on PostgreSQL', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let world: StorageWorld;
  let late: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    storage = openTestStorage(database.url);
    world = new StorageWorld(storage);
    await world.prepare();
    late = new pg.Client({ connectionString: database.url });
    await late.connect();
  });

  afterAll(async () => {
    await late.end();
    await storage.close();
    await database.drop();
  });

  const workersTold = async (after: Parameters<PostgresStorage['events']['read']>[0]) =>
    (await storage.events.read(after, 1_000)).events.map(({ member }) => member?.workerId);

  it('an event that commits late is never skipped, and nobody reads past it while it may still come', async () => {
    const [first, second] = [newId<WorkerId>(), newId<WorkerId>()];
    // A transaction of any database of this server holds back what was recorded since it began.
    const since = await eventually(
      async () => {
        const end = await storage.events.end();
        expect(await storage.events.recordedAfter(end)).toBeUndefined();
        return end;
      },
      { withinMs: 60_000 },
    );
    await late.query('BEGIN');
    await late.query(
      `INSERT INTO events (kind, data) VALUES ('worker.joined', jsonb_build_object('worker_id', $1::text, 'node_id', 'n'))`,
      [first],
    );
    await world.register(second);
    expect(await workersTold(since)).not.toContain(second);
    expect(await storage.events.recordedAfter(since)).toBeTypeOf('number');
    const between = await storage.events.end();
    await late.query('COMMIT');
    const told = await eventually(
      async () => {
        const workers = await workersTold(since);
        expect(workers).toContain(second);
        return workers;
      },
      { withinMs: 60_000 },
    );
    expect(told.indexOf(first)).toBeGreaterThanOrEqual(0);
    expect(told.indexOf(first)).toBeLessThan(told.indexOf(second));
    expect(await workersTold(between)).toEqual(expect.arrayContaining([first, second]));
  });

  it('what is rolled back is never told', async () => {
    const since = await storage.events.end();
    const [gone, kept] = [newId<WorkerId>(), newId<WorkerId>()];
    await late.query('BEGIN');
    await late.query(
      `INSERT INTO events (kind, data) VALUES ('worker.joined', jsonb_build_object('worker_id', $1::text, 'node_id', 'n'))`,
      [gone],
    );
    await late.query('ROLLBACK');
    await world.register(kept);
    const told = await eventually(
      async () => {
        const workers = await workersTold(since);
        expect(workers).toContain(kept);
        return workers;
      },
      { withinMs: 60_000 },
    );
    expect(told).not.toContain(gone);
  });

  it('a day whose rows went to the default partition stays there, and housekeeping goes on', async () => {
    const nowMs = (await storage.members.serverTimeMs()) + 100 * DAY_MS;
    await late.query(
      `INSERT INTO events (at, kind) VALUES (to_timestamp($1::float8 / 1000), 'worker.left')`,
      [nowMs],
    );
    await storage.housekeeping.makePartitions({ nowMs, aheadDays: 1 });
    await storage.housekeeping.makePartitions({ nowMs, aheadDays: 1 });
    const strays = await late.query('SELECT FROM events_default WHERE at = to_timestamp($1::float8 / 1000)', [
      nowMs,
    ]);
    expect(strays.rowCount).toBe(1);
  });

  it('each day has a partition of its own, and dropping it leaves the others', async () => {
    const nowMs = await storage.members.serverTimeMs();
    await storage.housekeeping.dropEvents({ beforeMs: nowMs + 200 * DAY_MS });
    await storage.housekeeping.makePartitions({ nowMs, aheadDays: 1 });
    await world.register(newId<WorkerId>());
    const { rows } = await late.query('SELECT DISTINCT tableoid::regclass::text AS name FROM events');
    const today = new Date(nowMs).toISOString().slice(0, 10).replaceAll('-', '');
    expect(rows).toEqual([{ name: `events_${today}` }]);
    await late.query(`INSERT INTO events (at, kind) VALUES (now() - interval '1 day', 'worker.left')`);
    const dropped = await storage.housekeeping.dropEvents({ beforeMs: nowMs });
    expect(dropped).toHaveLength(1);
    expect((await late.query('SELECT FROM events')).rowCount).toBe(1);
  });

  it('reading goes through indexes only, however full the tables are', async () => {
    await late.query('SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off');
    await late.query(
      `INSERT INTO events (kind, ids) SELECT 'job.created', ARRAY[md5(n::text)::uuid] FROM generate_series(1, 5000) n`,
    );
    await late.query('ANALYZE');
    await late.query(`PREPARE events_plan AS ${READ_EVENTS.text}`);
    const { rows } = await late.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN EXECUTE events_plan('1', 1, 100, 100)`,
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).not.toMatch(/Seq Scan/);
  });

  it('jobs are counted by state', async () => {
    await world.oneOff();
    await world.recurring({ job: { status: 'PAUSED' } });
    const jobId = (await world.oneOff()).job.jobId as JobId;
    await storage.jobs.cancelRun(
      (await storage.runs.ofJob(jobId, { limit: 1 }, Date.UTC(2031, 0)))[0]!.runId,
      BASE_MS,
    );
    const counts = await storage.housekeeping.countJobs();
    expect(Object.fromEntries(counts)).toMatchObject({ SCHEDULED: 1, PAUSED: 1, CANCELLED: 1 });
  });

  it('the end lies after everything that was read', async () => {
    const { through } = await storage.events.read({ xid: 0, seq: 0, index: 0 }, 10_000);
    expect(compareEventCursors(through, await storage.events.end())).toBeLessThanOrEqual(0);
  });
});
