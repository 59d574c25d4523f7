/** The audit log grows with every change: what people look for in it is found by an index, not by reading all of it. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { LIST_AUDIT, LIST_AUDIT_OF_ACTION, LIST_AUDIT_OF_SUBJECT } from './audit.sql.ts';

/** Mostly new jobs, as in life; the other actions are rare. */
const FILL = `INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id)
  SELECT '2030-01-01Z', 'key', 'k', 'deploy', CASE WHEN n % 100 = 0 THEN 'keys.create' ELSE 'jobs.create' END, 'default', 'job',
    md5(n::text)
  FROM generate_series(1, 50000) AS n;
  ANALYZE audit_log`;

describeEachPostgres('the audit log', (server) => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(FILL);
    await client.query('SET plan_cache_mode = force_generic_plan; SET jit = off');
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each([
    [LIST_AUDIT_OF_SUBJECT, 'audit_log_subject'],
    [LIST_AUDIT_OF_ACTION, 'audit_log_action'],
    [LIST_AUDIT, 'audit_log_pkey'],
  ])('$name is read in order, by its index', async ({ name, text }, index) => {
    await client.query(`PREPARE ${name}_plan AS ${text}`);
    const nulls = Array.from({ length: 7 }, () => 'NULL').join(', ');
    const { rows } = await client.query(`EXPLAIN EXECUTE ${name}_plan(${nulls}, 50)`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain(`Index Scan Backward using ${index}`);
    expect(plan).not.toContain('Sort');
  });
});
