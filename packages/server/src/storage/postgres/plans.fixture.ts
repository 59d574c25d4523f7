/** For tests of plans: tables as full as they get, and what PostgreSQL makes of a statement without knowing its values. */
import type pg from 'pg';
import type { Statement } from '../../postgres/database.ts';

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Parent Relationship'?: string;
  readonly 'Relation Name'?: string;
  readonly 'CTE Name'?: string;
  readonly Alias?: string;
  readonly Filter?: string;
  readonly 'Index Name'?: string;
  /** What an index is entered with. */
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/**
 * So many jobs: one in three recurs: it has a cursor, one run that is open and holds a slot, and one that asks or waits. The others have
 * one open run each. Some have expired, some are held back.
 */
export const fill = (jobs: number) => `
  CREATE TABLE job_runs_first PARTITION OF job_runs FOR VALUES FROM ('2030-01-01Z') TO ('2030-01-02Z');
  CREATE TABLE job_runs_second PARTITION OF job_runs FOR VALUES FROM ('2030-01-02Z') TO ('2030-01-03Z');
  INSERT INTO jobs (job_id, name, schedule_type, status, handler, payload, priority, timeout_ms, shard)
    SELECT md5(n::text)::uuid, 'job ' || n, CASE WHEN n % 3 = 0 THEN 'CRON' ELSE 'IMMEDIATE' END, 'SCHEDULED', 'http', '{}', n % 3,
      60000, n % 64
    FROM generate_series(1, ${jobs}) AS n;
  INSERT INTO cursors (job_id, shard, job_version, fire_at, nominal_at, held)
    SELECT job_id, shard, 1, row_number() OVER (), row_number() OVER (), shard = 1 FROM jobs WHERE schedule_type = 'CRON';
  INSERT INTO due (job_id, run_id, shard, part, priority, handler_key, tenant, kind, job_version, fire_at, lane_at, nominal_at, handler,
      admitted, expires_at, held)
    SELECT job_id, md5('run' || job_id)::uuid, shard, shard % 8, priority, shard % 3, shard % 20, 1, 1, row_number() OVER (),
      row_number() OVER (), 0, handler, schedule_type = 'CRON', CASE WHEN shard % 10 = 0 THEN 5 END, shard = 1
    FROM jobs;
  INSERT INTO due (job_id, run_id, shard, part, priority, handler_key, tenant, kind, job_version, fire_at, lane_at, nominal_at, handler,
      blocked)
    SELECT job_id, md5('next' || job_id)::uuid, shard, shard % 8, priority, shard % 3, shard % 20, 2, 1, row_number() OVER (),
      row_number() OVER (), 0, handler, 1 + shard % 2
    FROM jobs WHERE schedule_type = 'CRON';
  INSERT INTO admissions (job_id, slot, run_id, shard)
    SELECT job_id, 1, md5('run' || job_id)::uuid, shard FROM jobs WHERE schedule_type = 'CRON';
  INSERT INTO job_runs (run_id, job_id, status, created_at, epoch, trigger, scheduled_at, job_version)
    SELECT md5('run' || job_id)::uuid, job_id, 'SUCCESS', '2030-01-01Z'::timestamptz + shard * interval '40 min', 1, 1, '2030-01-01Z', 1
    FROM jobs;
  INSERT INTO leases (lease_id, worker_id, claimed_at, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job, epochs,
      job_versions, nominal_ats)
    SELECT md5('lease' || n)::uuid, 'worker', 1, ARRAY[md5('r' || n)::uuid], ARRAY[md5(n::text)::uuid], '{1}', '{1}', '{1}', '{0}',
      '{t}', '{1}', '{1}', '{1}'
    FROM generate_series(1, ${Math.ceil(jobs / 75)}) AS n;
  ANALYZE`;

/** All nodes of the plan that is kept for the statement, whatever values it is called with. */
export async function planOf(client: pg.Client, { name, text }: Statement): Promise<PlanNode[]> {
  await client.query(`PREPARE ${name}_plan AS ${text}`);
  const { rows } = await client.query<{ count: number }>(
    `SELECT cardinality(parameter_types) AS count FROM pg_prepared_statements WHERE name = '${name}_plan'`,
  );
  const nulls = Array.from({ length: rows[0]!.count }, () => 'NULL').join(', ');
  const call = rows[0]!.count === 0 ? `${name}_plan` : `${name}_plan(${nulls})`;
  const nodes = await nodesOf(client, `EXECUTE ${call}`);
  await client.query(`DEALLOCATE ${name}_plan`);
  return nodes;
}

export async function nodesOf(client: pg.Client, query: string): Promise<PlanNode[]> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `EXPLAIN (FORMAT JSON) ${query}`,
  );
  return flat(rows[0]!['QUERY PLAN'][0].Plan);
}

function flat(plan: PlanNode): PlanNode[] {
  return [plan, ...below(plan)];
}

/** Everything that a node reads from. */
export function below(plan: PlanNode): PlanNode[] {
  return (plan.Plans ?? []).flatMap(flat);
}
