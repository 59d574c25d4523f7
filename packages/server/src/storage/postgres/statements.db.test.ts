/** Every statement is valid on the migrated schema, and the hot ones go through indexes however full the tables are. */
import { readdir } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import type { Statement } from '../../postgres/database.ts';
import { INSERT_JOBS, INSERT_KEYED_JOBS } from './job.sql.ts';
import { CLAIM, HELD, RESOLVE_PENDING, SETTLE, SETTLE_WHOLE } from './lease.sql.ts';
import { FIRE, READ_DUE } from './schedule.sql.ts';
import { UPCOMING, UPCOMING_IS_PARTIAL } from './upcoming.sql.ts';

const STATEMENTS = await exportedStatements();
const HOT = [
  ...[READ_DUE, FIRE, CLAIM, SETTLE, SETTLE_WHOLE, HELD, RESOLVE_PENDING],
  ...[INSERT_JOBS, INSERT_KEYED_JOBS],
  ...[UPCOMING, UPCOMING_IS_PARTIAL],
];
const ROWS = 5_000;

/** Tables that grow with use; scanning one of them would make every call as slow as the table is long. */
const GROWING = /^(jobs|due|job_runs\w*)$/;

const FILL = `
  CREATE TABLE job_runs_first PARTITION OF job_runs FOR VALUES FROM ('2030-01-01Z') TO ('2030-01-02Z');
  CREATE TABLE job_runs_second PARTITION OF job_runs FOR VALUES FROM ('2030-01-02Z') TO ('2030-01-03Z');
  INSERT INTO jobs (job_id, name, schedule_type, status, handler, payload, priority, timeout_ms, shard)
    SELECT md5(n::text)::uuid, 'job ' || n, 'IMMEDIATE', 'SCHEDULED', 'http', '{}', n % 3, 60000, n % 64
    FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO due (job_id, run_id, shard, priority, kind, job_version, max_concurrency, fire_at, nominal_at, handler, overlap)
    SELECT job_id, md5('run' || job_id)::uuid, shard, priority, 1, 1, 1, row_number() OVER (), 0, handler, 'queue' FROM jobs;
  INSERT INTO job_runs (run_id, job_id, status, created_at, epoch, trigger, scheduled_at, job_version)
    SELECT md5('run' || job_id)::uuid, job_id, 'SUCCESS', '2030-01-01Z'::timestamptz + shard * interval '40 min', 1, 1, '2030-01-01Z', 1
    FROM jobs;
  INSERT INTO leases (lease_id, worker_id, claimed_at, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job, epochs,
      job_versions, nominal_ats)
    SELECT md5('lease' || n)::uuid, 'worker', 1, ARRAY[md5('r' || n)::uuid], ARRAY[md5(n::text)::uuid], '{1}', '{1}', '{1}', '{0}',
      '{t}', '{1}', '{1}', '{1}'
    FROM generate_series(1, 200) AS n;
  ANALYZE`;

describe('the statements', () => {
  it('have names of their own: one name prepared with two texts would fail on a busy connection', () => {
    const names = STATEMENTS.map((statement) => statement.name);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  it('are found: the hot ones are among them', () => {
    expect(STATEMENTS).toEqual(expect.arrayContaining(HOT));
  });
});

describeEachPostgres('the statements', (server) => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(FILL);
    await client.query('SET plan_cache_mode = force_generic_plan; SET enable_seqscan = on; SET jit = off');
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each(STATEMENTS)('$name can be prepared on the migrated schema', async (statement) => {
    await client.query(`PREPARE ${statement.name}_check AS ${statement.text}`);
  });

  it.each(HOT)(
    '$name scans no table that grows, even where the planner is free to',
    async ({ name, text }) => {
      await client.query(`PREPARE ${name}_plan AS ${text}`);
      const { rows } = await client.query<{ count: number }>(
        `SELECT cardinality(parameter_types) AS count FROM pg_prepared_statements WHERE name = '${name}_plan'`,
      );
      const nulls = Array.from({ length: rows[0]!.count }, () => 'NULL').join(', ');
      const plan = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `EXPLAIN (FORMAT JSON) EXECUTE ${name}_plan(${nulls})`,
      );
      const nodes = nodesOf(plan.rows[0]!['QUERY PLAN'][0].Plan);
      const scanned = nodes
        .filter((node) => node['Node Type'] === 'Seq Scan' && GROWING.test(node['Relation Name'] ?? ''))
        .map((node) => node['Relation Name']);
      expect(scanned).toEqual([]);
      expect(nodes.length).toBeGreaterThan(1);
    },
  );

  it('would be caught scanning: the check sees a plan that does', async () => {
    const plan = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (FORMAT JSON) SELECT FROM jobs WHERE name = 'x'`,
    );
    const [node] = nodesOf(plan.rows[0]!['QUERY PLAN'][0].Plan);
    expect(node).toMatchObject({ 'Node Type': 'Seq Scan', 'Relation Name': 'jobs' });
  });
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Everything that the *.sql.ts files beside this one export. */
async function exportedStatements(): Promise<Statement[]> {
  const names = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.sql.ts')).sort();
  const modules = await Promise.all(
    names.map((name) => import(`${import.meta.dirname}/${name}`) as Promise<Record<string, unknown>>),
  );
  const exports = modules.flatMap((module) => Object.values(module));
  // Some are kept by the table they are about.
  const inRecords = exports.flatMap((value) =>
    typeof value === 'object' && value !== null && !isStatement(value) ? Object.values(value) : [],
  );
  return [...exports, ...inRecords].filter(isStatement);
}

function isStatement(value: unknown): value is Statement {
  return typeof value === 'object' && value !== null && 'name' in value && 'text' in value;
}
