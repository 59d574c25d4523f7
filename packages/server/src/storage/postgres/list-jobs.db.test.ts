/** Lists over many jobs: each filter goes through the index made for it, and none looks through more than it may. */
import { JOB_SORT_KEYS, type JobId } from '@carillon/domain';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../../tests/support/test-storage.ts';
import { SESSION_OPTIONS } from '../../postgres/database.ts';
import type { JobQuery } from '../job-store.ts';
import {
  ALLOW_BITMAP_SCANS,
  COUNT_LABELLED,
  type Drive,
  type FilterName,
  listStatement,
} from './list-jobs.sql.ts';
import { sortedStatement } from './list-sorted-jobs.sql.ts';
import type { PostgresStorage } from './postgres-storage.ts';

/** Three times what one list looks through; ids grow with n. Only the oldest is called needle. */
const JOBS = 30_000;
const idOf = (n: string) => `('00000000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
const FILL = `
  INSERT INTO jobs (job_id, name, schedule_type, status, handler, payload, priority, timeout_ms, shard, user_id, namespace, labels)
    SELECT ${idOf('n')}, CASE WHEN n = 1 THEN 'needle' ELSE 'hay ' || n END, 'IMMEDIATE',
      CASE WHEN n = 2 THEN 'PAUSED' WHEN n = 3 THEN 'FAILED' WHEN n = 4 THEN 'CANCELLED' ELSE 'SCHEDULED' END, 'http', '{}', 1, 60000, n % 64,
      CASE WHEN n <= 100 THEN 'ann' ELSE 'crowd' END, CASE WHEN n % 1000 = 0 THEN 'team-a' ELSE 'default' END,
      CASE WHEN n = 5 THEN '{"team": "rare"}'::jsonb WHEN n % 2 = 0 THEN '{"team": "common"}'::jsonb END
    FROM generate_series(1, ${JOBS}) AS n;
  INSERT INTO due (job_id, run_id, shard, part, priority, handler_key, tenant, kind, job_version, fire_at, lane_at, nominal_at, handler, held)
    SELECT ${idOf('n')}, md5('run' || n)::uuid, n % 64, n % 8, 1, 1, 1, 1, 1, n, n, n, 'http', n = 2
    FROM generate_series(1, 50) AS n WHERE n NOT IN (3, 4);
  ANALYZE`;

describeEachPostgres('lists over many jobs', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let client: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    storage = openTestStorage(database.url, { connectionsMax: 2 });
    client = new pg.Client({ connectionString: database.url, options: SESSION_OPTIONS });
    await client.connect();
    await client.query(FILL);
  });

  afterAll(async () => {
    await client.end();
    await storage.close();
    await database.drop();
  });

  /** As the store runs it: where labels are asked for, with what their index needs. */
  async function planOf(call: string, drive: Drive): Promise<string> {
    await client.query('BEGIN');
    if (drive === 'labels') await client.query(ALLOW_BITMAP_SCANS.text);
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN EXECUTE ${call}`);
    await client.query('ROLLBACK');
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  }

  const list = (query: Partial<JobQuery>) => storage.jobs.list({ limit: 10, ...query });
  const names = async (query: Partial<JobQuery>) => (await list(query)).jobs.map(({ name }) => name);

  it('every filter at once is answered, and no shape of a list stays prepared in a connection (hazard 30)', async () => {
    const all: Partial<JobQuery> = {
      ...{ status: 'PAUSED', scheduleTypes: ['CRON'], priority: 'low', userId: 'ann', namespace: 'team-a' },
      ...{ handler: 'http', labels: { team: 'rare' }, text: 'x', createdFromMs: 1, createdToMs: 2 },
    };
    expect(await names({ ...all, afterJobId: '00000000-0000-7000-8000-000000000001' as JobId })).toEqual([]);
    const [prepared] = await storage.database.query<readonly [number]>(
      {
        name: '',
        text: `SELECT count(*)::int FROM pg_prepared_statements WHERE statement LIKE '%page AS MATERIALIZED%'`,
      },
      [],
    );
    expect(prepared).toEqual([0]);
  });

  it('a filter that no index serves looks through a bounded number, says where it stopped, and goes on there', async () => {
    let afterJobId: JobId | undefined;
    const found: string[] = [];
    let lists = 0;
    for (; lists < 10; lists += 1) {
      const { jobs, stoppedAt } = await list({ text: 'needle', ...(afterJobId && { afterJobId }) });
      found.push(...jobs.map(({ name }) => name));
      if (stoppedAt === undefined) break;
      expect(afterJobId === undefined || stoppedAt < afterJobId).toBe(true);
      afterJobId = stoppedAt;
    }
    expect(found).toEqual(['needle']);
    expect(lists).toBe(3);
  });

  it('what is rare is found at once, however many jobs lie in front of it', async () => {
    expect(await names({ status: 'PAUSED' })).toEqual(['hay 2']);
    expect(await names({ status: 'FAILED' })).toEqual(['hay 3']);
    expect(await names({ status: 'CANCELLED' })).toEqual(['hay 4']);
    expect(await names({ status: 'SCHEDULED', limit: 2 })).toEqual(['hay 50', 'hay 49']);
    expect((await list({ status: 'SCHEDULED', limit: 100 })).jobs).toHaveLength(47);
    expect(await names({ labels: { team: 'rare' } })).toEqual(['hay 5']);
    expect(await names({ userId: 'ann', text: 'needle' })).toEqual(['needle']);
    expect(await names({ namespace: 'team-a', limit: 1, order: 'oldest' })).toEqual(['hay 1000']);
    expect(await names({ labels: { team: 'common' }, limit: 1 })).toEqual(['hay 30000']);
    expect(await names({ status: 'COMPLETED', limit: 1 })).toEqual(['hay 30000']);
  });

  it('the few jobs of one owner are found beside the many of another, and a page of many is all that is read', async () => {
    const walked = async (filters: FilterName[], values: string) => {
      const { text } = listStatement({
        drive: 'userId',
        filters,
        order: 'newest',
        continued: false,
        payloads: true,
      });
      await client.query(`PREPARE owned AS ${text}`);
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN (ANALYZE, TIMING OFF) EXECUTE owned(${values}, 10, 0)`,
      );
      await client.query('DEALLOCATE owned');
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).not.toContain('using jobs_pkey');
      return [...plan.matchAll(/using jobs_user_id .*?actual .*?rows=(\d+)/g)].map(([, count]) =>
        Number(count),
      );
    };
    expect(Math.max(...(await walked(['userId', 'text'], `'ann', 'needle'`)))).toBe(100);
    expect(Math.max(...(await walked(['userId'], `'crowd'`)))).toBe(10);
  });

  const INDEXES: [Drive, readonly FilterName[], string][] = [
    ['key', ['text'], 'jobs_pkey'],
    ['userId', ['userId', 'handler'], 'jobs_user_id'],
    ['namespace', ['namespace', 'text'], 'jobs_namespace'],
    ['status', ['status'], 'jobs_status'],
    ['labels', ['labels'], 'jobs_labels'],
    ['due', ['status'], 'due_pkey'],
  ];
  it('lists in other orders are given where few enough are asked for, and refused where not', async () => {
    const sorted = async (query: Partial<JobQuery>) => {
      const found = await storage.jobs.listSorted({ by: 'name', descending: false, limit: 2, ...query });
      return found === 'too_many' ? found : found.map(({ job }) => job.name);
    };
    expect(await sorted({})).toBe('too_many');
    expect(await sorted({ text: 'needle' })).toBe('too_many');
    expect(await sorted({ labels: { team: 'common' } })).toBe('too_many');
    expect(await sorted({ namespace: 'default' })).toBe('too_many');
    expect(await sorted({ userId: 'ann' })).toEqual(['hay 10', 'hay 100']);
    expect(await sorted({ userId: 'ann', text: 'needle' })).toEqual(['needle']);
    expect(await sorted({ namespace: 'team-a' })).toEqual(['hay 1000', 'hay 10000']);
    expect(await sorted({ labels: { team: 'common' }, userId: 'ann' })).toEqual(['hay 10', 'hay 100']);
    expect(await sorted({ labels: { team: 'rare' } })).toEqual(['hay 5']);
    expect(await sorted({ status: 'PAUSED' })).toEqual(['hay 2']);
    expect(await sorted({ labels: { team: 'common' }, status: 'PAUSED' })).toEqual(['hay 2']);
    expect(await sorted({ userId: 'crowd' })).toBe('too_many');
    expect(await sorted({ userId: 'crowd', namespace: 'team-a' })).toEqual(['hay 1000', 'hay 10000']);
    expect(await sorted({ status: 'SCHEDULED' })).toEqual(['hay 10', 'hay 11']);
  });

  it('labels are looked up in their index, though sessions have the scans turned off that it needs', async () => {
    await client.query(`PREPARE count_labelled AS ${COUNT_LABELLED.text}`);
    const lines = await planOf(`count_labelled(NULL)`, 'labels');
    expect(lines).toContain('jobs_labels');
    const used = async () => {
      const found = await client.query(
        `SELECT idx_scan::int AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'jobs_labels'`,
      );
      return found.rows[0].scans as number;
    };
    const before = await used();
    await list({ labels: { team: 'rare' } });
    await storage.jobs.listSorted({ by: 'name', descending: false, limit: 2, labels: { team: 'rare' } });
    await eventually(
      async () => {
        // What a connection has counted is told at the end of a later transaction.
        await list({});
        expect(await used()).toBeGreaterThanOrEqual(before + 4);
      },
      { withinMs: 60_000 },
    );
  });

  it.each(INDEXES)(
    'in another order, lists driven by %s with the filters %j go through %s too',
    async (drive, filters, index) => {
      for (const by of JOB_SORT_KEYS) {
        const { text } = sortedStatement({
          drive,
          filters,
          by,
          descending: true,
          continued: true,
          payloads: true,
        });
        await client.query(`PREPARE sorted_${by} AS ${text}`);
        const nulls = Array.from({ length: filters.length + 4 }, () => 'NULL').join(', ');
        const lines = await planOf(`sorted_${by}(${nulls})`, drive);
        await client.query(`DEALLOCATE sorted_${by}`);
        expect(lines).toContain(index);
        expect(lines).not.toMatch(/Seq Scan on (jobs|due)/);
      }
    },
  );

  it('a list that is too wide to be sorted is refused before anything of it is sorted', async () => {
    const { text } = sortedStatement({
      ...{ drive: 'key', filters: [], by: 'name', descending: false, continued: false, payloads: true },
    });
    await client.query(`PREPARE wide AS ${text}`);
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      'EXPLAIN (ANALYZE, TIMING OFF) EXECUTE wide(50, 0)',
    );
    const walks = rows.map((row) => row['QUERY PLAN']).filter((line) => /Scan using jobs_pkey/.test(line));
    // Counted one further than it looks, and then left alone.
    expect(walks.map((line) => /rows=(\d+)(\.00)? loops|never executed/.exec(line)?.[1])).toEqual(
      expect.arrayContaining(['10001', undefined]),
    );
    expect(walks).toHaveLength(2);
  });

  it.each(INDEXES)('lists driven by %s with the filters %j go through %s', async (drive, filters, index) => {
    for (const order of ['newest', 'oldest'] as const) {
      const { text } = listStatement({ drive, filters, order, continued: true, payloads: true });
      await client.query(`PREPARE listed_${order} AS ${text}`);
      const nulls = Array.from({ length: filters.length + 3 }, () => 'NULL').join(', ');
      const lines = await planOf(`listed_${order}(${nulls})`, drive);
      await client.query(`DEALLOCATE listed_${order}`);
      expect(lines).toContain(index);
      expect(lines).not.toMatch(/Seq Scan on (jobs|due)/);
    }
  });
});
