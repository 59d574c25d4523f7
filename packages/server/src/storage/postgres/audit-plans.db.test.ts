/** The audit log grows with every change: what people look for in it is found by an index, not by reading all of it. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { Database } from '../../postgres/database.ts';
import { ROWS_SCANNED_MAX } from '../job-store.ts';
import {
  LIST_AUDIT,
  LIST_AUDIT_OF_ACTION,
  LIST_AUDIT_OF_ACTION_IN_NAMESPACES,
  LIST_AUDIT_OF_NAMESPACES,
  LIST_AUDIT_OF_SUBJECT,
} from './audit.sql.ts';
import { spanPosition } from './codes.ts';
import { PostgresAuditStore } from './postgres-audit-store.ts';

/** Mostly new jobs, as in life; the other actions are rare. */
const FILL = `INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id)
  SELECT '2030-01-01Z', 'key', 'k', 'deploy', CASE WHEN n % 100 = 0 THEN 'keys.create' ELSE 'jobs.create' END, 'default', 'job',
    md5(n::text)
  FROM generate_series(1, 50000) AS n;
  INSERT INTO namespaces (name) VALUES ('quiet');
  INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id)
  SELECT '2030-01-01Z', 'key', 'k', 'deploy', 'jobs.update', 'quiet', 'job', md5('quiet' || n) FROM generate_series(1, 3) AS n;
  INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_count, subject_ids, subject_span)
  SELECT '2030-01-01Z', 'key', 'k', 'deploy', 'jobs.create', 'default', 'job', 2,
    ARRAY[lpad(n::text, 12, '0') || '7000a000000000000000', lpad(n::text, 12, '0') || '7000a000000000000001']::uuid[],
    int8range(('x' || '0' || lpad(n::text, 12, '0') || '700')::bit(64)::bigint, ('x' || '0' || lpad(n::text, 12, '0') || '700')::bit(64)::bigint, '[]')
  FROM generate_series(1, 2000) AS n;
  INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id)
  SELECT '2030-01-01Z', 'key', 'k', 'deploy', 'jobs.update', 'default', 'job', 'other' || n FROM generate_series(1, 2) AS n;
  ANALYZE`;

/** One of two that were made together. */
const TOGETHER = '00000000-1234-7000-a000-000000000001';

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Entries that a plan touched, whether it showed them or not. */
function lookedAt(node: PlanNode): number {
  const own =
    node['Relation Name'] === 'audit_log' ? node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) : 0;
  return (node.Plans ?? []).reduce((sum, below) => sum + lookedAt(below), own);
}

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
    [LIST_AUDIT_OF_ACTION, 'audit_log_action'],
    [LIST_AUDIT, 'audit_log_pkey'],
  ])('$name is read in order, by its index', async ({ name, text }, index) => {
    await client.query(`PREPARE ${name}_plan AS ${text}`);
    const plan = await planOf(name);
    expect(plan).toContain(`Index Scan Backward using ${index}`);
    expect(plan).not.toContain('Sort');
  });

  it('what is about a subject is found by its index, and among jobs made together by that of spans', async () => {
    await client.query(`PREPARE list_audit_of_subject_plan AS ${LIST_AUDIT_OF_SUBJECT.text}`);
    await client.query('SET enable_bitmapscan = off');
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE list_audit_of_subject_plan(NULL, NULL, NULL, '${TOGETHER}', NULL, NULL, NULL, 50, false, ${spanPosition(TOGETHER)})`,
    );
    const plan = rows[0]!['QUERY PLAN'][0].Plan;
    expect(JSON.stringify(plan)).toContain('"Index Name":"audit_log_subject"');
    expect(JSON.stringify(plan)).toContain('"Index Name":"audit_log_subject_span"');
    expect(plan['Actual Rows']).toBe(1);
    expect(lookedAt(plan)).toBeLessThan(5);
  });

  it('a page of jobs made together looks at no more rows than it shows', async () => {
    await client.query(`PREPARE together AS ${LIST_AUDIT.text}`);
    const { rows } = await client.query(
      `EXECUTE together(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 7, false)`,
    );
    expect(rows).toHaveLength(5);
    expect(rows[4].subject_ids).toHaveLength(1);
  });

  it.each([
    [LIST_AUDIT_OF_NAMESPACES, 'audit_log_namespace'],
    [LIST_AUDIT_OF_ACTION_IN_NAMESPACES, 'audit_log_namespace_action'],
  ])('$name reads each namespace in order, by its index', async ({ name, text }, index) => {
    await client.query(`PREPARE ${name}_plan AS ${text}`);
    const plan = await planOf(name);
    // Below the page of one namespace nothing is sorted; above it, at most a page of each.
    const below = plan.slice(plan.lastIndexOf('Limit'));
    expect(below).toContain(`Index Scan Backward using ${index} on audit_log a`);
    expect(below).not.toMatch(/Sort|Seq Scan on audit_log/);
  });

  it('a quiet namespace is read without looking at what its neighbours did', async () => {
    await client.query(`PREPARE quiet AS ${LIST_AUDIT_OF_NAMESPACES.text}`);
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE quiet('{quiet}', NULL, NULL, NULL, NULL, NULL, NULL, 50, true)`,
    );
    expect(lookedAt(rows[0]!['QUERY PLAN'][0].Plan)).toBeLessThan(50);
  });

  it('what somebody did is looked for in a bounded part, which says where to go on', async () => {
    await client.query(`INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id)
      SELECT '2030-01-01Z', 'user', 'u', 'ada', 'jobs.create', 'default', 'job', 'ada' || n FROM generate_series(1, 3) AS n`);
    await client.query(`INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id)
      SELECT '2030-01-02Z', 'key', 'k', 'deploy', 'jobs.create', 'default', 'job', 'later' || n FROM generate_series(1, 25000) AS n`);
    const pool = new Database({
      ...{ url: database.url, connectionsMax: 1, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 },
    });
    const store = new PostgresAuditStore(pool);
    for (const namespaces of [undefined, ['default', 'quiet']]) {
      const found: string[] = [];
      let [beforeId, pages] = [undefined as number | undefined, 0];
      do {
        const page = await store.page({ actor: 'ada', namespaces, limit: 50, beforeId });
        found.push(...page.records.map(({ subject }) => subject.id));
        beforeId = page.stoppedAt;
        pages += 1;
      } while (beforeId !== undefined && pages < 100);
      expect(found).toEqual(['ada3', 'ada2', 'ada1']);
      expect(pages).toBeGreaterThan(5);
    }
    await pool.close();
    await client.query(`PREPARE somebody AS ${LIST_AUDIT.text}`);
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE somebody(NULL, 'ada', NULL, NULL, NULL, NULL, NULL, 50, false)`,
    );
    expect(lookedAt(rows[0]!['QUERY PLAN'][0].Plan)).toBeLessThanOrEqual(ROWS_SCANNED_MAX);
  });

  async function planOf(name: string): Promise<string> {
    const nulls = Array.from({ length: 7 }, () => 'NULL').join(', ');
    const { rows } = await client.query(`EXPLAIN EXECUTE ${name}_plan(${nulls}, 50, true)`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  }
});
