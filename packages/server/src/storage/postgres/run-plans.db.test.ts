/** The history grows with every run: what people list of it is found by an index, not by reading all of it. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { Database, SESSION_OPTIONS } from '../../postgres/database.ts';
import type { RunCursor, RunQuery } from '../run-store.ts';
import {
  ENDED_RUNS_OF_JOB,
  NOT_SUCCEEDED_RUNS,
  READ_SUMMARIES,
  SUCCEEDED_RUNS,
  SUCCESSES_SCANNED_MAX,
  WAITING_RUNS,
} from './list-runs.sql.ts';
import { listRuns } from './list-runs.ts';

const ROWS = 24_000;
const DAY_MS = 86_400_000;
const END_MS = Date.UTC(2030, 0, 4);
/** One run a second or so over three days, one in 400 of which failed; every 1,000th took an hour. One job had ten of them. */
const PARTITIONS = `
  CREATE TABLE job_runs_first PARTITION OF job_runs FOR VALUES FROM ('2030-01-01Z') TO ('2030-01-02Z');
  CREATE TABLE job_runs_second PARTITION OF job_runs FOR VALUES FROM ('2030-01-02Z') TO ('2030-01-03Z');
  CREATE TABLE job_runs_third PARTITION OF job_runs FOR VALUES FROM ('2030-01-03Z') TO ('2030-01-04Z')`;
const FILL = `
  INSERT INTO jobs (job_id, name, schedule_type, status, handler, payload, priority, timeout_ms, shard)
    SELECT md5(n::text)::uuid, 'job ' || n, 'IMMEDIATE', 'SCHEDULED', 'http', '{}', 1, 60000, 1 FROM generate_series(0, 999) AS n;
  INSERT INTO job_runs (run_id, job_id, status, created_at, modified_time, epoch, trigger, scheduled_at, job_version, error_message)
    SELECT md5('run' || n)::uuid, md5((CASE WHEN n % 12000 = 0 THEN 0 ELSE 1 + n % 999 END)::text)::uuid,
      CASE WHEN n % 400 = 0 THEN 'FAILED' ELSE 'SUCCESS' END,
      '2030-01-01Z'::timestamptz + (greatest(0, n - CASE WHEN n % 1000 = 0 THEN 1600 ELSE 0 END) * 3 * 86400.0 / ${ROWS}) * interval '1 s',
      '2030-01-01Z'::timestamptz + (n * 3 * 86400.0 / ${ROWS}) * interval '1 s', 1, 1, '2030-01-01Z', 1, 'no'
    FROM generate_series(0, ${ROWS - 1}) AS n ORDER BY n;
  INSERT INTO due (job_id, run_id, shard, part, priority, handler_key, tenant, kind, job_version, fire_at, lane_at, nominal_at, handler)
    SELECT md5((n % 1000)::text)::uuid, md5('due' || n)::uuid, 1, 1, 1, 1, 1, 1, 1, n, n, n, 'http' FROM generate_series(1, 30000) AS n;
  SELECT brin_summarize_new_values(inhrelid) FROM pg_inherits WHERE inhparent = 'job_runs_created_at'::regclass`;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

const all = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(all)];

/** Rows of the table that a plan touched, whether it showed them or not. */
function lookedAt(plan: PlanNode, table: RegExp): number {
  return all(plan)
    .filter((node) => table.test(node['Relation Name'] ?? ''))
    .reduce((sum, node) => {
      const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
      return sum + (node['Actual Rows'] + removed) * node['Actual Loops'];
    }, 0);
}

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const HISTORY = /^job_runs_(first|second|third)$/;

describeEachPostgres('lists of runs', (server) => {
  describe.each(['before it was filled', 'over a full history'])('with a plan made %s', (moment) => {
    let database: TestDatabase;
    let client: pg.Client;

    const plan = async (name: string, values: readonly unknown[]): Promise<PlanNode> => {
      const given = values.map((value) => (value === null ? 'NULL' : `'${value}'`)).join(', ');
      const { rows } = await client.query(
        `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE ${name}(${given})`,
      );
      return (rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan;
    };
    const inWindows = async <T>(work: () => Promise<T>): Promise<T> => {
      await client.query(`BEGIN; ${READ_SUMMARIES.text}`);
      const answer = await work();
      await client.query('ROLLBACK');
      return answer;
    };
    const parameters = (
      over: { beforeMs?: number; fromMs?: number; jobId?: string; limit?: number; last?: boolean } = {},
    ) => {
      const { beforeMs = END_MS, fromMs = 0, jobId = null, limit = 50, last = false } = over;
      const filters = Array(10).fill(null);
      return [limit, END_MS, false, beforeMs, LAST_ID, 0, fromMs, ...filters, jobId, last, last];
    };

    beforeAll(async () => {
      database = await createTestDatabase(server.url);
      client = new pg.Client({ connectionString: database.url, options: SESSION_OPTIONS });
      await client.connect();
      await client.query(PARTITIONS);
      for (const { name, text } of [NOT_SUCCEEDED_RUNS, ENDED_RUNS_OF_JOB, WAITING_RUNS, SUCCEEDED_RUNS]) {
        await client.query(`PREPARE ${name} AS ${text}`);
      }
      // Executed once, a statement keeps its plan until somebody analyses the table.
      await inWindows(async () => void (await plan('succeeded_runs', parameters())));
      for (const name of ['not_succeeded_runs', 'ended_runs_of_job', 'waiting_runs'])
        await plan(name, parameters());
      await client.query(FILL);
      if (moment === 'over a full history') await client.query('ANALYZE');
    }, 120_000);

    afterAll(async () => {
      await client.end();
      await database.drop();
    });

    it('the jobs of successes are read for what is shown, not for all of a window', async () => {
      const found = await inWindows(() =>
        plan('succeeded_runs', parameters({ fromMs: END_MS - DAY_MS / 2 })),
      );
      expect(lookedAt(found, HISTORY)).toBeGreaterThan(1_000);
      expect(lookedAt(found, /^jobs$/)).toBeLessThanOrEqual(200);
    });

    it('of a window that is too wide nothing but the number of its runs is read', async () => {
      const found = await inWindows(() => plan('succeeded_runs', parameters()));
      expect(lookedAt(found, HISTORY)).toBeGreaterThan(SUCCESSES_SCANNED_MAX);
      expect(lookedAt(found, /^jobs$/)).toBe(0);
    });

    it('what did not succeed is read from the newest on, and no success with it', async () => {
      const found = await plan('not_succeeded_runs', parameters());
      expect(lookedAt(found, HISTORY)).toBeLessThanOrEqual(60);
      const failures = ROWS / 400;
      const toTheEnd = await plan('not_succeeded_runs', parameters({ limit: 1_000 }));
      // Once for the page and once for where it stopped.
      expect(lookedAt(toTheEnd, HISTORY)).toBeLessThanOrEqual(2 * failures);
    });

    it('whether a run was tried again is looked up for it alone', async () => {
      const found = await plan('not_succeeded_runs', parameters({ last: true }));
      expect(lookedAt(found, HISTORY)).toBeLessThanOrEqual(60);
      expect(lookedAt(found, /^due$/)).toBeLessThanOrEqual(100);
    });

    it('a list of one job reads the runs of that job', async () => {
      const jobId = (await client.query(`SELECT md5('0')::uuid AS id`)).rows[0].id as string;
      const found = await plan('ended_runs_of_job', parameters({ jobId, limit: 1_000 }));
      expect(lookedAt(found, HISTORY)).toBeLessThanOrEqual(20);
    });

    it('successes of a window of time are found by the summaries, runs that took long notwithstanding', async () => {
      const beforeMs = END_MS - 1.5 * DAY_MS;
      const found = await inWindows(() =>
        plan('succeeded_runs', parameters({ beforeMs, fromMs: beforeMs - 60_000 })),
      );
      const scans = all(found).filter((node) => node['Node Type'] === 'Bitmap Index Scan');
      expect(scans.some((node) => /created_at/.test(node['Index Name'] ?? ''))).toBe(true);
      // Twenty or thirty in the window; 32 pages hold some 2,000 rows, and a window may lie in two or three such parts.
      expect(lookedAt(found, HISTORY)).toBeLessThan(ROWS / 3);
    });

    it('what waits is read by key, from the cursor on', async () => {
      const found = await plan('waiting_runs', parameters({ jobId: LAST_ID }));
      expect(lookedAt(found, /^due$/)).toBeLessThanOrEqual(60);
    });
  });

  it('every list of a full history can be read to its end, and each answer looks through a bounded part', async () => {
    const database = await createTestDatabase(server.url);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(`${PARTITIONS};${FILL}`);
    // All at one instant, as when a job with many waiting runs is cancelled or a large batch is claimed.
    await client.query(`INSERT INTO job_runs (run_id, job_id, status, created_at, modified_time, epoch, trigger, scheduled_at, job_version)
      SELECT md5('same' || n)::uuid, md5('1')::uuid, 'SUCCESS', '2030-01-02 12:00Z', '2030-01-02 12:00Z', 1, 1, '2030-01-02Z', 1
      FROM generate_series(1, 12000) AS n`);
    await client.end();
    const pool = new Database({
      url: database.url,
      connectionsMax: 2,
      connectTimeoutMs: 60_000,
      statementTimeoutMs: 60_000,
    });
    const walk = async (query: Partial<RunQuery>) => {
      let before: RunQuery['before'];
      const seen = new Set<string>();
      let [rows, answers, newest] = [0, 0, Number.POSITIVE_INFINITY];
      do {
        const { runs, stoppedAt } = await listRuns(pool, { limit: 1_000, nowMs: END_MS, ...query, before });
        for (const { run, cursor } of runs) {
          seen.add(run.runId);
          expect((cursor as RunCursor).atMs).toBeLessThanOrEqual(newest);
          newest = (cursor as RunCursor).atMs;
        }
        rows += runs.length;
        answers += 1;
        before = runs.length === 1_000 ? runs.at(-1)!.cursor : stoppedAt;
      } while (before !== undefined && answers < 500);
      expect(seen.size).toBe(rows);
      return { rows, answers };
    };
    expect((await walk({})).rows).toBe(ROWS + 12_000);
    expect((await walk({ statuses: ['FAILED'] })).rows).toBe(ROWS / 400);
    // Nothing matches: an answer ends after some thousands of runs and says where to go on.
    const none = await walk({ statuses: ['SUCCESS'], handler: 'no such' });
    expect(none.rows).toBe(0);
    expect(none.answers).toBeGreaterThan(2);
    await pool.close();
    await database.drop();
  }, 240_000);
});
