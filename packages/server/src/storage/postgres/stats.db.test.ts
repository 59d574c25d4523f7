/** Counts on PostgreSQL: of several servers they add up, whoever counts and whenever one dies; and they are read by index. */
import type { JobId, LeaseId, WorkerId } from '@carillon/domain';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  emptyTestDatabase,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../../tests/support/test-storage.ts';
import { newId } from '../conformance/sample-job.ts';
import { BASE_MS, DAY_MS } from '../conformance/storage-under-test.ts';
import { StorageWorld, settlement } from '../conformance/storage-world.ts';
import type { CountedBucket } from '../stats-store.ts';
import type { Storage } from '../storage.ts';
import { fill, planOf } from './plans.fixture.ts';
import type { PostgresStorage } from './postgres-storage.ts';
import {
  ADD_COUNTS,
  ATTEMPTS_OF_JOB,
  DROP_FAILURES,
  DROP_HOURS,
  DROP_MINUTES,
  ENDED_RECORDS,
  KNOWN_FAILURES,
  READ_ALL_FAILURES,
  READ_COUNTS,
  READ_FAILURES,
  UNCOUNTED,
  WAITING_NOW,
} from './stats.sql.ts';

const DAY = { fromMs: BASE_MS, toMs: BASE_MS + DAY_MS };
const RUNS = 40;

describeEachPostgres('counts of runs', (server) => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  describe('of two servers', () => {
    let servers: [PostgresStorage, PostgresStorage];
    let world: StorageWorld;

    beforeEach(async () => {
      await emptyTestDatabase(client);
      servers = [openTestStorage(database.url), openTestStorage(database.url)];
      world = new StorageWorld(servers[0]);
      await world.prepare();
      return async () => void (await Promise.all(servers.map((storage) => storage.close())));
    });

    const countAll = async (storages: readonly Storage[], ended: number): Promise<CountedBucket[]> =>
      eventually(
        async () => {
          await Promise.all(storages.map(({ stats }) => stats.countEnded({ nowMs: BASE_MS })));
          const buckets = await servers[1].stats.counts({ bucket: 'hour', ...DAY, namespaces: undefined });
          expect(buckets.reduce((sum, { started }) => sum + started, 0)).toBe(ended);
          return buckets;
        },
        { withinMs: 60_000 },
      );
    const claimOn = async (storage: Storage, runs: number) => {
      const jobs = await Promise.all(Array.from({ length: runs }, () => world.oneOff()));
      const heads = await storage.leases.lanes({ after: undefined, limit: 1_000 });
      const lanes = heads.map(({ laneAtMs: _, runId: __, ...lane }) => ({
        ...{ lane, runsMax: runs },
        after: { laneAtMs: 0, runId: '00000000-0000-0000-0000-000000000000' },
      }));
      const { runs: claimed } = await storage.leases.claim({
        ...{ leaseId: newId<LeaseId>(), workerId: world.workerId as WorkerId, nowMs: BASE_MS },
        pick: { lanes, runsMax: runs },
      });
      expect(claimed).toHaveLength(jobs.length);
      return claimed;
    };
    const uncountedTexts = async () =>
      (await client.query(`SELECT counted FROM events WHERE kind = 'run.ended'`)).rows.map(
        (row) => row.counted,
      );

    it('they add up, while both count at the same time', async () => {
      const settle = async (storage: Storage) => {
        for (let batch = 0; batch < 3; batch += 1) {
          const runs = await claimOn(storage, RUNS);
          await storage.leases.settle(
            runs.map((run) => settlement(run)),
            BASE_MS,
          );
          await storage.stats.countEnded({ nowMs: BASE_MS });
        }
      };
      // Claimed one after the other, since a claim takes whatever waits.
      for (const storage of servers) await settle(storage);
      const [bucket] = await countAll(servers, 6 * RUNS);
      expect(bucket).toMatchObject({ succeeded: 6 * RUNS, failed: 0 });
      await Promise.all(servers.map(({ stats }) => stats.countEnded({ nowMs: BASE_MS })));
      expect(await countAll(servers, 6 * RUNS)).toHaveLength(1);
    });

    it('nothing is lost with a server that dies between the end of a run and its count', async () => {
      const runs = await claimOn(servers[0], RUNS);
      await servers[0].leases.settle(
        runs.map((run) => settlement(run)),
        BASE_MS,
      );
      await servers[0].close();
      expect((await uncountedTexts()).every((text) => typeof text === 'string')).toBe(true);
      const [bucket] = await countAll([servers[1]], RUNS);
      expect(bucket).toMatchObject({ succeeded: RUNS });
      servers[0] = openTestStorage(database.url);
    });

    it('what another server settles than the one that had claimed it is found in the history', async () => {
      const runs = await claimOn(servers[0], 4);
      await servers[1].leases.settle(
        [
          ...runs.slice(0, 2).map((run) => settlement(run, { endedAtMs: BASE_MS + 80 })),
          settlement(runs[2]!, { status: 'FAILED', error: 'row 5 is broken' }),
        ],
        BASE_MS,
      );
      expect(await uncountedTexts()).toEqual([null]);
      const [bucket] = await countAll(servers, 3);
      expect(bucket).toMatchObject({ succeeded: 2, failed: 1, durationMs: { p95: expect.any(Number) } });
      const [group] = await servers[0].stats.failures({ ...DAY, namespaces: ['default'], limit: 5 });
      expect(group).toMatchObject({ message: 'row 5 is broken', sampleJobId: runs[2]!.jobId as JobId });
    });

    it('a transaction that is rolled back counts nothing', async () => {
      const [run] = await claimOn(servers[0], 1);
      await client.query('BEGIN; LOCK TABLE job_runs IN ACCESS EXCLUSIVE MODE');
      try {
        await expect(servers[0].leases.settle([settlement(run!)], BASE_MS)).rejects.toThrow();
      } finally {
        await client.query('ROLLBACK');
      }
      await servers[0].leases.settle([settlement(run!)], BASE_MS);
      expect(await countAll(servers, 1)).toMatchObject([{ succeeded: 1 }]);
    });
  });
});

describeEachPostgres('counts of runs over full tables', (server) => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const STATEMENTS = [
    ...[UNCOUNTED, ENDED_RECORDS, KNOWN_FAILURES, READ_ALL_FAILURES, READ_FAILURES, ATTEMPTS_OF_JOB],
    ...[WAITING_NOW, DROP_MINUTES, DROP_HOURS, DROP_FAILURES],
    ...Object.values(READ_COUNTS),
    ...Object.values(ADD_COUNTS),
  ];
  const GROWING = /^(jobs|due|leases|job_runs_(?!default)\w+|events\w*|run_minutes|run_hours|failure_hours)$/;

  beforeAll(async () => {
    await client.query(`${fill(15_000)};
      INSERT INTO run_minutes SELECT 'n' || n % 20, 'h' || n % 3, '2030-01-01Z'::timestamptz + n * interval '1 minute', 1, 1, 0, 0, 0, 0, 0, 0, '{1}', '{1}'
        FROM generate_series(1, 30000) n;
      INSERT INTO run_hours SELECT 'n' || n % 20, 'h' || n % 3, '2030-01-01Z'::timestamptz + n * interval '1 hour', 1, 1, 0, 0, 0, 0, 0, 0, '{1}', '{1}'
        FROM generate_series(1, 30000) n;
      INSERT INTO failure_hours SELECT 'n' || n % 20, '2030-01-01Z'::timestamptz + n * interval '1 hour', 'f' || n % 50, 'h', 'm', 1, now(), now(),
          md5(n::text)::uuid, md5(n::text)::uuid, ARRAY[md5(n::text)::uuid]
        FROM generate_series(1, 30000) n;
      INSERT INTO events (kind, ids) SELECT 'run.ended', ARRAY[md5(n::text)::uuid] FROM generate_series(1, 30000) n;
      ANALYZE`);
    await client.query('SET plan_cache_mode = force_generic_plan; SET enable_seqscan = on; SET jit = off');
  });

  it.each(STATEMENTS)('$name scans no table that grows', async (statement) => {
    const nodes = await planOf(client, statement);
    const scanned = nodes
      .filter((node) => node['Node Type'] === 'Seq Scan' && GROWING.test(node['Relation Name'] ?? ''))
      .map((node) => node['Relation Name']);
    expect(scanned).toEqual([]);
    expect(nodes.length).toBeGreaterThan(1);
  });
});
