/** What people look for is found through an index and within a bound, however many jobs and runs there are. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { SESSION_OPTIONS } from '../../postgres/database.ts';
import { AHEAD_MAX, FIRES_LOOKED_AT_MAX, IDS_LOOKED_AT_MAX } from '../insight-store.ts';
import {
  FIRES_AT,
  JOBS_BY_IDS,
  JOBS_BY_NAME,
  RUNS_BY_IDS,
  SLOT_HOLDERS,
  STANDING_OF_RUN,
  STRIPS,
} from './insight.sql.ts';
import { fill } from './plans.fixture.ts';

const JOBS = 15_000;
/** One job has a long history. All open runs of one lane stand before the last of it. */
const MORE = `
  INSERT INTO namespaces (name) VALUES ('team-a');
  UPDATE jobs SET namespace = 'team-a' WHERE shard = 7;
  INSERT INTO job_runs (run_id, job_id, status, created_at, epoch, trigger, scheduled_at, job_version)
    SELECT md5('long' || n)::uuid, md5('1')::uuid, 'SUCCESS', '2030-01-01Z'::timestamptz + n * interval '1 s', 1, 1, '2030-01-01Z', 1
    FROM generate_series(1, 20000) AS n;
  INSERT INTO due (job_id, run_id, shard, part, priority, handler_key, tenant, kind, job_version, fire_at, lane_at, nominal_at, handler)
    SELECT md5('1')::uuid, md5('lane' || n)::uuid, 1, n % 8, 1, 9, 9, 1, 1, n, n, n, 'http' FROM generate_series(1, 12000) AS n;
  INSERT INTO due (job_id, run_id, shard, part, priority, handler_key, tenant, kind, job_version, fire_at, lane_at, nominal_at, handler,
      blocked)
    SELECT md5('2')::uuid, md5('limit' || n)::uuid, 1, 1, 1, 9, 9, 1, 1, n, n, n, 'http', 2 FROM generate_series(1, 5000) AS n;
  INSERT INTO cursors (job_id, shard, fire_at, nominal_at, job_version)
    SELECT job_id, shard, 1893456000000, 1893456000000, 1 FROM jobs WHERE shard <> 7 ON CONFLICT DO NOTHING;
  UPDATE cursors SET fire_at = 1893456000000 WHERE job_id IN (SELECT job_id FROM jobs WHERE shard <> 7);
  ANALYZE`;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const all = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(all)];
const GROWING = /^(jobs|due|cursors|admissions|job_runs\w*)$/;

function lookedAt(plan: PlanNode): number {
  return all(plan)
    .filter((node) => GROWING.test(node['Relation Name'] ?? ''))
    .reduce(
      (sum, node) =>
        sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    );
}

describeEachPostgres('what people look for', (server) => {
  describe.each(['before the tables were filled', 'over full tables'])('with a plan made %s', (moment) => {
    let database: TestDatabase;
    let client: pg.Client;

    const statements = [
      FIRES_AT,
      STRIPS,
      SLOT_HOLDERS,
      STANDING_OF_RUN,
      JOBS_BY_IDS,
      RUNS_BY_IDS,
      JOBS_BY_NAME,
    ];
    const plan = async ({ name }: { name: string }, values: readonly unknown[]): Promise<PlanNode> => {
      const given = values.map((value) => (value === null ? 'NULL' : `'${value}'`)).join(', ');
      const { rows } = await client.query(
        `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE ${name}(${given})`,
      );
      const found = (rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan;
      const scanned = all(found).filter(
        (node) => node['Node Type'] === 'Seq Scan' && GROWING.test(node['Relation Name'] ?? ''),
      );
      expect(scanned).toEqual([]);
      return found;
    };
    const id = async (text: string) =>
      (await client.query(`SELECT md5('${text}')::uuid AS id`)).rows[0].id as string;

    beforeAll(async () => {
      database = await createTestDatabase(server.url);
      client = new pg.Client({ connectionString: database.url, options: SESSION_OPTIONS });
      await client.connect();
      for (const { name, text } of statements) await client.query(`PREPARE ${name} AS ${text}`);
      const none = '00000000-0000-0000-0000-000000000000';
      // Executed once, a statement keeps its plan until somebody analyses the table.
      if (moment === 'before the tables were filled') {
        await client.query(`SET plan_cache_mode = force_generic_plan`);
        await plan(STRIPS, [`{${none}}`, 20, null, null]);
        await plan(FIRES_AT, ['{1,2}', 'default', null, null, null]);
        await plan(SLOT_HOLDERS, [none, 10]);
        await plan(STANDING_OF_RUN, [none]);
        await plan(JOBS_BY_IDS, [none, none, null, null, 20]);
        await plan(RUNS_BY_IDS, [none, none, null, null, 20]);
        await plan(JOBS_BY_NAME, ['job', null, 20]);
      }
      const filled = `${fill(JOBS)};${MORE}`;
      await client.query(moment === 'over full tables' ? filled : filled.replaceAll('ANALYZE', 'SELECT'));
    }, 120_000);

    afterAll(async () => {
      await client.end();
      await database.drop();
    });

    it('strips read the newest runs of the jobs that are named', async () => {
      const { rows } = await client.query(
        `SELECT array_agg(md5(n::text)::uuid)::text AS ids FROM generate_series(1, 50) AS n`,
      );
      const found = await plan(STRIPS, [rows[0].ids, 20, null, null]);
      // Each job, its one run in another partition, and sixty attempts of the one with a long history.
      expect(lookedAt(found)).toBeLessThan(400);
    });

    it('jobs that fire at an instant are looked at up to a bound', async () => {
      const there = await plan(FIRES_AT, ['{1893456000000}', 'default', null, null, null]);
      expect(lookedAt(there)).toBeLessThanOrEqual(3 * FIRES_LOOKED_AT_MAX);
      const nobody = await plan(FIRES_AT, ['{1893456000001,1893456000002}', 'default', null, null, null]);
      expect(lookedAt(nobody)).toBe(0);
    });

    it('the slots of a job are those of that job', async () => {
      expect(lookedAt(await plan(SLOT_HOLDERS, [await id('3'), 10]))).toBeLessThanOrEqual(2);
    });

    it('what stands before a run is counted up to a bound', async () => {
      expect(lookedAt(await plan(STANDING_OF_RUN, [await id('lane12000')]))).toBeLessThanOrEqual(
        AHEAD_MAX + 10,
      );
      expect(lookedAt(await plan(STANDING_OF_RUN, [await id('limit5000')]))).toBeLessThanOrEqual(
        AHEAD_MAX + 10,
      );
    });

    it('ids of a range are looked at up to a bound', async () => {
      const range = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'];
      expect(lookedAt(await plan(JOBS_BY_IDS, [...range, null, null, 20]))).toBeLessThanOrEqual(
        IDS_LOOKED_AT_MAX + 10,
      );
      // Four places that runs are in, each with its partitions, and the jobs of what is shown.
      expect(lookedAt(await plan(RUNS_BY_IDS, [...range, null, null, 20]))).toBeLessThanOrEqual(
        10 * IDS_LOOKED_AT_MAX,
      );
      const narrow = ['12345678-0000-0000-0000-000000000000', '12345678-ffff-ffff-ffff-ffffffffffff'];
      expect(lookedAt(await plan(RUNS_BY_IDS, [...narrow, null, null, 20]))).toBeLessThanOrEqual(50);
    });

    it('names are read from where they begin, in each namespace', async () => {
      expect(lookedAt(await plan(JOBS_BY_NAME, ['Job 1', null, 20]))).toBeLessThanOrEqual(50);
      expect(lookedAt(await plan(JOBS_BY_NAME, ['job 1', '{team-a}', 20]))).toBeLessThanOrEqual(25);
      expect(lookedAt(await plan(JOBS_BY_NAME, ['nothing', null, 20]))).toBe(0);
    });
  });
});
