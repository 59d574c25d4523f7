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
import {
  INSERT_ALIKE_JOBS,
  INSERT_ALIKE_KEYED_JOBS,
  INSERT_JOBS,
  INSERT_KEYED_JOBS,
} from './insert-jobs.sql.ts';
import { CLAIM_LANES, LANES, LEASED } from './lease.sql.ts';
import { fill, nodesOf, planOf } from './plans.fixture.ts';
import { ADMIT, EXPIRE, FIRE, FIRE_PLAIN, READ_CURSORS, READ_PLANNED } from './schedule.sql.ts';
import { SETTLE, SETTLE_ALL_SUCCEEDED, SETTLE_MIXED } from './settle.sql.ts';
import { UPCOMING, UPCOMING_IS_PARTIAL } from './upcoming.sql.ts';

const STATEMENTS = await exportedStatements();
const HOT = [
  ...[READ_CURSORS, READ_PLANNED, FIRE_PLAIN, FIRE, ADMIT, EXPIRE],
  ...[LANES, CLAIM_LANES, SETTLE, SETTLE_ALL_SUCCEEDED, SETTLE_MIXED, LEASED],
  ...[INSERT_JOBS, INSERT_KEYED_JOBS, INSERT_ALIKE_JOBS, INSERT_ALIKE_KEYED_JOBS],
  ...[UPCOMING, UPCOMING_IS_PARTIAL],
];

/** Tables that grow with use; scanning one of them would make every call as slow as the table is long. */
const GROWING = /^(jobs|cursors|due|admissions|job_runs\w*)$/;

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
    await client.query(fill(15_000));
    await client.query('SET plan_cache_mode = force_generic_plan; SET enable_seqscan = on; SET jit = off');
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each(STATEMENTS)('$name can be prepared on the migrated schema', async (statement) => {
    await client.query(`PREPARE ${statement.name}_check AS ${statement.text}`);
  });

  it.each(HOT)('$name scans no table that grows, even where the planner is free to', async (statement) => {
    const nodes = await planOf(client, statement);
    const scanned = nodes
      .filter((node) => node['Node Type'] === 'Seq Scan' && GROWING.test(node['Relation Name'] ?? ''))
      .map((node) => node['Relation Name']);
    expect(scanned).toEqual([]);
    expect(nodes.length).toBeGreaterThan(1);
  });

  it('would be caught scanning: the check sees a plan that does', async () => {
    const [node] = await nodesOf(client, `SELECT FROM jobs WHERE name = 'x'`);
    expect(node).toMatchObject({ 'Node Type': 'Seq Scan', 'Relation Name': 'jobs' });
  });
});

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
