import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { SESSION_OPTIONS } from '../../postgres/database.ts';
import {
  INSERT_ALIKE_JOBS,
  INSERT_ALIKE_KEYED_JOBS,
  INSERT_JOBS,
  INSERT_KEYED_JOBS,
} from './insert-jobs.sql.ts';
import { UPDATE_JOB } from './job.sql.ts';
import { CLAIM_LANES, LANES, LEASED, SHOW_RUNNING } from './lease.sql.ts';
import { below, fill, type PlanNode, planOf } from './plans.fixture.ts';
import {
  ADMISSIBLE,
  ADMIT,
  EXPIRE,
  FIRE,
  FIRE_PLAIN,
  FREE_LOST_SLOTS,
  READ_CURSORS,
  READ_PLANNED,
  SKIP_REPLACED,
  STOP_OLDEST,
} from './schedule.sql.ts';
import { LOCK_ENDING_JOBS, SETTLE, SETTLE_ALL_SUCCEEDED, SETTLE_MIXED } from './settle.sql.ts';

/** What an index is ordered by first: entered without it, all of the index is walked through. */
const FIRST_COLUMN: Record<string, string> = {
  cursors_pkey: 'job_id',
  cursors_fire_at: 'shard',
  due_pkey: 'job_id',
  due_run_id: 'run_id',
  due_blocked: 'job_id',
  due_asking: 'shard',
  due_expires_at: 'shard',
  due_lane: 'part',
  admissions_pkey: 'job_id',
  jobs_pkey: 'job_id',
  job_runs_pkey: 'run_id',
};
/** Of a few rows each, or one per shard. */
const KEYED = ['cursors_pkey', 'due_pkey', 'due_run_id', 'due_blocked', 'due_expires_at', 'admissions_pkey'];
const PENDING = /^(cursors|due|admissions)$/;
/** Leases are few: one for each claim whose runs are alive. */
const LARGE = /^(cursors|due|admissions|jobs|job_runs\w*)$/;

const isPending = (node: PlanNode) => PENDING.test(node['Relation Name'] ?? '');
const scansOf = (nodes: readonly PlanNode[]) =>
  nodes.filter((node) => isPending(node) && /Scan$/.test(node['Node Type']));

/** Scans that walk through more than what is looked for: all of a table, or an index from anywhere but its beginning. */
function unaimed(nodes: readonly PlanNode[]): string[] {
  return nodes
    .filter((node) => LARGE.test(node['Relation Name'] ?? '') && /Scan$/.test(node['Node Type']))
    .filter((node) => node['Node Type'] !== 'Tid Scan')
    .filter((node) => {
      const first = FIRST_COLUMN[node['Index Name'] ?? ''];
      return first === undefined || !new RegExp(`^\\(+(ROW\\()?${first}\\b`).test(node['Index Cond'] ?? '');
    })
    .map(
      (node) =>
        `${node['Node Type']} ${node['Index Name']} on ${node['Relation Name']}: ${node['Index Cond']}`,
    );
}

/** Sorts of pending rows that no limit has bounded before. */
function unboundedSorts(nodes: readonly PlanNode[]): PlanNode[] {
  const reads = (node: PlanNode): boolean =>
    node['Node Type'] !== 'Limit' && (isPending(node) || (node.Plans ?? []).some(reads));
  return nodes.filter((node) => /Sort$/.test(node['Node Type']) && reads(node));
}

/**
 * What reads a part of the statement once for each row of another: parts are taken for one row each, and may have a thousand.
 * Written as IN within an expression, the same is a look into a hash.
 */
function crossings(nodes: readonly PlanNode[]): string[] {
  const scanOf = (node: PlanNode): PlanNode | undefined => {
    const inputs = (node.Plans ?? []).filter((plan) => !/Plan$/.test(plan['Parent Relationship']!));
    if (node['CTE Name']) return node;
    return inputs.length === 1 ? scanOf(inputs[0]!) : undefined;
  };
  /** A condition on something beside the part itself: it is read again for each. What has none is hashed, or read once. */
  const asksOutside = (scan: PlanNode) =>
    [...(scan.Filter ?? '').matchAll(/\b(\w+)\.\w/g)].some(([, name]) => name !== scan.Alias);
  return nodes
    .flatMap((node) => (node.Plans ?? []).map((plan) => ({ node, plan, scan: scanOf(plan) })))
    .filter(({ node, plan, scan }) =>
      plan['Parent Relationship'] === 'Inner'
        ? node['Node Type'] === 'Nested Loop'
        : plan['Parent Relationship'] === 'SubPlan' && scan && asksOutside(scan),
    )
    .flatMap(({ scan }) => scan?.['CTE Name'] ?? []);
}

/** Parts that have one row, or hardly ever any. */
const SMALL_PARTS = ['scanned', 'cancelled', 'worker'];

/**
 * Generic plans are kept: one that a server makes on its first day, while nothing waits, serves its first herd too. And they are
 * made without values, so a plan for full tables has to be right for lanes of every length.
 */
describeEachPostgres('the plans of sessions as the pool opens them', (server) => {
  describe.each([0, 15_000])('made while there are %d jobs', (jobs) => {
    let database: TestDatabase;
    let client: pg.Client;

    beforeAll(async () => {
      database = await createTestDatabase(server.url);
      client = new pg.Client({ connectionString: database.url, options: SESSION_OPTIONS });
      await client.connect();
      if (jobs > 0) await client.query(fill(jobs));
    });

    afterAll(async () => {
      await client.end();
      await database.drop();
    });

    it.each([
      [READ_CURSORS, 'cursors_fire_at'],
      [READ_PLANNED, 'due_asking'],
      [LANES, 'due_lane'],
      [CLAIM_LANES, 'due_lane'],
    ])('$name walks its index in order, from where it is told to', async (statement, index) => {
      const nodes = await planOf(client, statement);
      const used = scansOf(nodes).filter((node) => node['Node Type'] !== 'Tid Scan');
      expect(used.length).toBeGreaterThan(0);
      expect(new Set(used.map((node) => node['Index Name']))).toEqual(new Set([index]));
      expect(unaimed(nodes)).toEqual([]);
      expect(unboundedSorts(nodes)).toEqual([]);
    });

    it.each([
      FIRE_PLAIN,
      FIRE,
      ADMIT,
      SETTLE,
      SETTLE_MIXED,
      SETTLE_ALL_SUCCEEDED,
      EXPIRE,
      SKIP_REPLACED,
      STOP_OLDEST,
      UPDATE_JOB,
    ])(
      'hazard 24: $name finds pending rows by key or place, never by walking through a lane',
      async (statement) => {
        const nodes = await planOf(client, statement);
        const indexes = scansOf(nodes).flatMap((node) => node['Index Name'] ?? []);
        expect(KEYED).toEqual(expect.arrayContaining(indexes));
        expect(unaimed(nodes)).toEqual([]);
      },
    );

    it.each([
      FIRE_PLAIN,
      FIRE,
      ADMIT,
      SKIP_REPLACED,
      STOP_OLDEST,
      EXPIRE,
      SETTLE,
      SETTLE_MIXED,
      SETTLE_ALL_SUCCEEDED,
      LOCK_ENDING_JOBS,
      CLAIM_LANES,
      LEASED,
      SHOW_RUNNING,
      INSERT_JOBS,
      INSERT_ALIKE_JOBS,
      INSERT_KEYED_JOBS,
      INSERT_ALIKE_KEYED_JOBS,
    ])('$name compares no two of its parts row by row', async (statement) => {
      const crossed = crossings(await planOf(client, statement));
      expect(crossed.filter((part) => !SMALL_PARTS.includes(part))).toEqual([]);
    });

    it('what is looked through by the reconciler costs a look per job or slot that waits, not per run', async () => {
      expect(unaimed(await planOf(client, ADMISSIBLE))).toEqual([]);
      const lost = scansOf(await planOf(client, FREE_LOST_SLOTS)).filter(
        (node) => node['Relation Name'] === 'due',
      );
      expect(lost).toMatchObject([{ 'Index Name': 'due_pkey' }]);
      expect(unaimed(lost)).toEqual([]);
    });
  });

  it('would be caught: the checks see a sort of a lane, a scan, parts that are compared, and an index that is entered in the middle', async () => {
    const database = await createTestDatabase(server.url);
    const client = new pg.Client({ connectionString: database.url, options: SESSION_OPTIONS });
    await client.connect();
    const planned = (text: string) => planOf(client, { name: 'caught', text });
    const [sort, ...rest] = await planned('SELECT * FROM due WHERE run_id = $1 ORDER BY payload');
    expect(unboundedSorts([sort!, ...rest])).toEqual([sort]);
    expect(below(sort!)).toEqual(rest);
    expect(unaimed(await planned(`SELECT FROM due WHERE payload = $1`))).toHaveLength(1);
    const parts =
      'WITH a AS MATERIALIZED (SELECT unnest($1::int[]) AS n), b AS MATERIALIZED (SELECT unnest($2::int[]) AS n)';
    expect(crossings(await planned(`${parts} SELECT FROM a JOIN b ON a.n < b.n`))).toHaveLength(1);
    expect(
      crossings(await planned(`${parts} SELECT (SELECT count(*) FROM b WHERE b.n < a.n) FROM a`)),
    ).toEqual(['b']);
    expect(crossings(await planned(`${parts} SELECT a.n IN (SELECT n FROM b) FROM a`))).toEqual([]);
    await client.query('ALTER TABLE cursors DROP CONSTRAINT cursors_pkey');
    expect(unaimed(await planned('SELECT FROM cursors WHERE job_id = $1 AND NOT held'))).toHaveLength(1);
    await client.end();
    await database.drop();
  });
});
