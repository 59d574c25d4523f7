/**
 * Fills a migrated database with one-off jobs scheduled evenly at random over the coming year, and with as much history of
 * the past month, as the engine would have left them: real ids, real shards, rows in the order of their creation. Set-based
 * inserts on a connection of the bench's own, with all indexes in place, so that they have the shape they grow in use.
 */
import pg from 'pg';
import type { JobId } from '../../packages/domain/src/ids.ts';
import { DEFAULT_NAMESPACE } from '../../packages/domain/src/index.ts';
import { shardOf } from '../../packages/domain/src/job/job.ts';
import { systemRandom } from '../../packages/foundation/src/index.ts';
import { plainArray } from '../../packages/server/src/postgres/array-literal.ts';
import { migrate } from '../../packages/server/src/postgres/migrate.ts';
import { handlerKey, partOf, tenantOf } from '../../packages/server/src/storage/lane.ts';
import { openPostgresStorage } from '../../packages/server/src/storage/postgres/postgres-storage.ts';
import { handlerName } from '../engine/open-engine.ts';
import { inBatches } from '../in-batches.ts';

const dayMs = 24 * 3_600_000;
const yearMs = 365 * dayMs;
/** Within the retention of 30 days, or the engine would rightly drop it when it starts. */
const historyDays = 28;
const rowsPerBatch = 20_000;

/** $1 job_id, $2 run_id, $3 shard, $4 instant, $5 handler, $6 its key, $7 part, $8 tenant. */
const insertJobs = `
  WITH data AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::bigint[], $7::smallint[]) AS d(job_id, run_id, shard, at, part)
  ), saved AS (
    INSERT INTO jobs (job_id, name, schedule_type, status, schedule_time, handler, payload, priority, timeout_ms, shard)
    SELECT job_id, 'backlog', 'FUTURE', 'SCHEDULED', to_timestamp(at::float8 / 1000), $5, '{}', 1, 300000, shard FROM data
  )
  INSERT INTO due (job_id, run_id, shard, part, priority, handler_key, tenant, kind, ends_job, job_version, fire_at, lane_at, nominal_at,
    timeout_ms, handler, payload)
  SELECT job_id, run_id, shard, part, 1, $6::int, $8::bigint, 1, true, 1, at, at, at, 300000, $5, '{}' FROM data`;

/** $1 run_id, $2 job_id, $3 instant. */
const insertHistory = `
  INSERT INTO job_runs (run_id, job_id, status, start_time, end_time, modified_time, executor_id, created_at, epoch, trigger,
    scheduled_at, job_version)
  SELECT run_id, job_id, 'SUCCESS', at, at, at, 'bench.1.1', at, 1, 1, at, 1
  FROM (SELECT run_id, job_id, to_timestamp(ms::float8 / 1000) AS at
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS d(run_id, job_id, ms)) AS h`;

export async function fillDatabase(options: {
  databaseUrl: string;
  jobs: number;
  history: number;
  abort: AbortSignal;
}): Promise<void> {
  const { databaseUrl, jobs, history, abort } = options;
  await migrate(databaseUrl);
  await makePastPartitions(databaseUrl);
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
  const nowMs = Date.now();
  try {
    await inBatches({
      items: rangesOf(Math.max(jobs, history)),
      size: 1,
      lanes: 4,
      send: async ([from]) => {
        abort.throwIfAborted();
        const jobIds = Array.from({ length: rowsPerBatch }, () => systemRandom.id());
        await insertJobsOf(pool, { jobIds: jobIds.slice(0, Math.max(0, jobs - from!)), nowMs });
        await insertHistoryOf(pool, {
          jobIds: jobIds.slice(0, Math.max(0, history - from!)),
          from: from!,
          history,
          nowMs,
        });
      },
    });
  } finally {
    await pool.end();
  }
}

async function insertJobsOf(pool: pg.Pool, { jobIds, nowMs }: { jobIds: string[]; nowMs: number }) {
  if (jobIds.length === 0) return;
  const shards = jobIds.map((jobId) => shardOf(jobId as JobId));
  await pool.query(insertJobs, [
    plainArray(jobIds),
    plainArray(jobIds.map(() => systemRandom.id())),
    plainArray(shards),
    plainArray(jobIds.map(() => Math.floor(nowMs + systemRandom.next() * yearMs))),
    handlerName,
    handlerKey(handlerName),
    plainArray(shards.map(partOf)),
    tenantOf({ namespace: DEFAULT_NAMESPACE, userId: undefined }),
  ]);
}

async function insertHistoryOf(
  pool: pg.Pool,
  { jobIds, from, history, nowMs }: { jobIds: string[]; from: number; history: number; nowMs: number },
): Promise<void> {
  if (jobIds.length === 0) return;
  const beginMs = nowMs - historyDays * dayMs;
  const stepMs = (historyDays * dayMs) / history;
  await pool.query(insertHistory, [
    plainArray(jobIds.map(() => systemRandom.id())),
    plainArray(jobIds),
    plainArray(jobIds.map((_, i) => Math.floor(beginMs + (from + i) * stepMs))),
  ]);
}

export async function makePastPartitions(databaseUrl: string): Promise<void> {
  const storage = openPostgresStorage({
    url: databaseUrl,
    connectionsMax: 1,
    statementTimeoutMs: 30_000,
    connectTimeoutMs: 5_000,
  });
  try {
    const nowMs = Date.now() - historyDays * dayMs;
    await storage.housekeeping.makePartitions({ nowMs, aheadDays: historyDays + 3 });
  } finally {
    await storage.close();
  }
}

function rangesOf(rows: number): number[] {
  return Array.from({ length: Math.ceil(rows / rowsPerBatch) }, (_, i) => i * rowsPerBatch);
}
