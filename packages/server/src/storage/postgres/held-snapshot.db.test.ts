/**
 * Hazard 29: while something holds an old snapshot open, nothing that is deleted or changed can be cleaned up. What keeps servers
 * and workers alive must not become dearer for it: counted in pages that the statements touch.
 */
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import type { Statement } from '../../postgres/database.ts';
import { owned } from './fragments.sql.ts';
import {
  ACQUIRE_SHARDS,
  BEAT_NODE,
  BEAT_WORKER,
  CANCELLED_RUNS,
  KEEP_SHARDS,
  REGISTER_WORKER,
  UNRECEIVED_RUNS,
} from './member.sql.ts';

const NODE = '00000000-0000-4000-8000-000000000001';
const WORKER = 'worker';
const SETTLED = 20_000;
const LEASED = 10;
const BEATS = 2_000;
/** Of a worker and of a node, every 3 s. */
const BEATS_PER_HOUR = 1_200;
const SHARDS = Array.from({ length: 64 }, (_, shard) => shard);
/** Look-ups of keys that lie side by side share pages of the index as long as it is small. */
const SLACK_PAGES = LEASED;

const OWNED: Statement = {
  name: 'owned_check',
  text: `WITH ${owned('$1', '$2')} SELECT shards FROM owned`,
};
const CLAIMING_WORKER: Statement = {
  name: 'claiming_worker',
  text: 'SELECT worker_id FROM workers WHERE worker_id = $1 AND NOT dead FOR KEY SHARE',
};

describeEachPostgres('while an old snapshot is held open', (server) => {
  let database: TestDatabase;
  let client: pg.Client;
  let holder: pg.Client;

  beforeEach(async () => {
    database = await createTestDatabase(server.url);
    const options = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off';
    [client, holder] = [1, 2].map(() => new pg.Client({ connectionString: database.url, options })) as [
      pg.Client,
      pg.Client,
    ];
    await Promise.all([client.connect(), holder.connect()]);
    await call(REGISTER_WORKER, [
      WORKER,
      NODE,
      1,
      10,
      '{http}',
      0,
      NODE,
      0,
      null,
      null,
      null,
      '{}',
      false,
      null,
    ]);
    await beatNode(0);
    await call(ACQUIRE_SHARDS, [NODE, literal(SHARDS), 0, 1, NODE]);
    // Now, so that no automatic one changes a plan between two counts.
    await client.query('VACUUM ANALYZE shards, nodes, workers');
    for (const table of ['shards', 'nodes', 'workers', 'leases']) {
      await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
    }
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM jobs');
  });

  afterEach(async () => {
    await Promise.all([client.end(), holder.end()]);
    await database.drop();
  });

  const call = ({ name, text }: Statement, values: readonly unknown[]) =>
    client.query({ name, text, values: [...values] });

  const beatNode = (nowMs: number) =>
    call(BEAT_NODE, [NODE, 1, 'here', nowMs, nowMs - 10_000, nowMs + 10_000, NODE, null]);

  /** Pages that the statement touches, the second time: the first fills caches. */
  async function pagesOf({ name, text }: Statement, values: readonly unknown[]): Promise<number> {
    let pages = 0;
    await client.query(`PREPARE ${name}_pages AS ${text}`);
    const given = values.map((value) => (value === null ? 'NULL' : `'${String(value)}'`)).join(', ');
    for (let i = 0; i < 2; i += 1) {
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        `EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, FORMAT JSON) EXECUTE ${name}_pages(${given})`,
      );
      const plan = rows[0]!['QUERY PLAN'][0].Plan;
      pages = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!;
    }
    await client.query(`DEALLOCATE ${name}_pages`);
    return pages;
  }

  const insertLeases = (count: number, { tag, fromMs }: { tag: string; fromMs: number }) =>
    client.query(
      `INSERT INTO leases (lease_id, worker_id, claimed_at, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job,
          epochs, job_versions, nominal_ats)
        SELECT md5($2 || n)::uuid, $3, $4::bigint + n, ARRAY[md5('r' || $2 || n)::uuid], ARRAY[md5('j' || n)::uuid],
          '{1}', '{1}', '{1}', '{0}', '{t}', '{1}', '{1}', '{1}'
        FROM generate_series(1, $1::int) AS n RETURNING lease_id`,
      [count, tag, WORKER, fromMs],
    );

  async function settle(count: number, tag: string): Promise<void> {
    await insertLeases(count, { tag, fromMs: 0 });
    await client.query('DELETE FROM leases WHERE claimed_at <= $1', [SETTLED]);
    await client.query('VACUUM leases');
  }

  it('a worker’s beat and look-ups cost the same however much it has run meanwhile', async () => {
    const { rows } = await insertLeases(LEASED, { tag: 'held', fromMs: SETTLED });
    const held = literal(rows.map((row: { lease_id: string }) => row.lease_id));
    const costs = async () => ({
      beat: await pagesOf(BEAT_WORKER, [WORKER, 1, 0, 0]),
      cancelled: await pagesOf(CANCELLED_RUNS, [held]),
      unreceived: await pagesOf(UNRECEIVED_RUNS, [WORKER, held, SETTLED, 2 * SETTLED, 0]),
    });
    // The indexes have their height already: a level more is a page more for each look-up, once.
    await settle(SETTLED / 10, 'first');
    const before = await costs();
    await settle(SETTLED, 'then');
    const after = await costs();
    for (const [name, pages] of Object.entries(after)) {
      expect.soft(pages, name).toBeLessThanOrEqual(before[name as keyof typeof before] + SLACK_PAGES);
    }
    // The check would see it: a look from the beginning does walk through what was settled.
    expect(await pagesOf(UNRECEIVED_RUNS, [WORKER, held, 0, 2 * SETTLED, 0])).toBeGreaterThan(SETTLED / 100);
  });

  it('the guard of every claim, and keeping shards, cost the same however often the node has beaten', async () => {
    const epochs = literal(SHARDS.map(() => 1));
    const costs = async () => ({
      owned: await pagesOf(OWNED, [NODE, epochs]),
      kept: await pagesOf(KEEP_SHARDS, [NODE, literal(SHARDS), epochs, NODE]),
    });
    const before = await costs();
    for (let beat = 1; beat <= BEATS; beat += 1) {
      await beatNode(beat);
      await call(KEEP_SHARDS, [NODE, literal(SHARDS), epochs, NODE]);
    }
    const after = await costs();
    expect(after.owned).toBeLessThanOrEqual(before.owned + SLACK_PAGES);
    expect(after.kept).toBeLessThanOrEqual(before.kept + SLACK_PAGES);
  });

  it('a beat leaves a version of one row behind: an hour of them costs its next readers tens of pages, not thousands', async () => {
    for (let beat = 1; beat <= BEATS_PER_HOUR; beat += 1) {
      await call(BEAT_WORKER, [WORKER, beat, 0, 0]);
      await beatNode(beat);
    }
    expect(await pagesOf(BEAT_WORKER, [WORKER, 1, 0, 0])).toBeLessThan(100);
    expect(await pagesOf(CLAIMING_WORKER, [WORKER])).toBeLessThan(100);
    expect(await pagesOf(BEAT_NODE, [NODE, 1, 'here', 1, 0, 2, NODE, null])).toBeLessThan(300);
  });
});

function literal(values: readonly unknown[]): string {
  return `{${values.join(',')}}`;
}
