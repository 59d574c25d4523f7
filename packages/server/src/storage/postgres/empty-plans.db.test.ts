import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { CLAIM, RESOLVE_PENDING, SETTLE, SETTLE_WHOLE } from './lease.sql.ts';
import { FIRE } from './schedule.sql.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Generic plans are kept: one that a server makes on its first day, while nothing waits, serves its first herd too. */
describeEachPostgres('plans made while the tables are empty', (server) => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    client = new pg.Client({
      connectionString: database.url,
      options: '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off',
    });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each([CLAIM, FIRE, RESOLVE_PENDING, SETTLE, SETTLE_WHOLE])(
    'hazard 24: $name finds pending rows by key or place, never by walking through a lane',
    async ({ name, text }) => {
      await client.query(`PREPARE ${name}_empty AS ${text}`);
      const { rows } = await client.query<{ count: number }>(
        `SELECT cardinality(parameter_types) AS count FROM pg_prepared_statements WHERE name = '${name}_empty'`,
      );
      const nulls = Array.from({ length: rows[0]!.count }, () => 'NULL').join(', ');
      const plan = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `EXPLAIN (FORMAT JSON) EXECUTE ${name}_empty(${nulls})`,
      );
      const indexes = nodesOf(plan.rows[0]!['QUERY PLAN'][0].Plan).map((node) => node['Index Name']);
      expect(indexes).not.toContain('due_lane');
    },
  );
});

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}
