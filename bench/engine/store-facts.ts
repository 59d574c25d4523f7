/**
 * What Carillon's store holds, read past the engine on a connection of the bench's own: correctness is the store's word, not
 * the engine's. Besides scale/fill-database.ts the only file of the bench that names Carillon's tables.
 */
import type pg from 'pg';
import { plainArray } from '../../packages/server/src/postgres/array-literal.ts';

type Queryable = Pick<pg.Pool, 'query'>;

type RecordedRuns = {
  /** Runs that still wait. */
  readonly pending: number;
  /** Jobs with a run that succeeded. */
  readonly jobs: number;
  readonly succeeded: number;
  readonly failed: number;
};

/** Runs that wait or are handed out. */
export async function countUnfinished(store: Queryable): Promise<number> {
  return countOf(
    store,
    'SELECT (SELECT count(*) FROM due)::int + (SELECT coalesce(sum(cardinality(run_ids)), 0) FROM leases)::int AS count',
  );
}

/** Whether nothing that was handed out is without a recorded outcome. */
export async function isAllRecorded(store: Queryable): Promise<boolean> {
  return (await store.query('SELECT FROM leases LIMIT 1')).rows.length === 0;
}

export async function countJobs(store: Queryable): Promise<number> {
  return countOf(store, 'SELECT count(*)::int AS count FROM jobs');
}

/** Each run once, however many attempts it took. */
export async function countSucceeded(store: Queryable): Promise<number> {
  return countOf(store, `SELECT count(DISTINCT run_id)::int AS count FROM job_runs WHERE status = 'SUCCESS'`);
}

/** Every run there is has succeeded; to be asked when nothing more is recorded. */
export async function assertRecorded(store: Queryable, runs: number): Promise<void> {
  const recorded = await countSucceeded(store);
  const unfinished = await countUnfinished(store);
  if (recorded !== runs || unfinished > 0)
    throw new Error(`not correct: ${recorded} of ${runs} runs are recorded, ${unfinished} are unfinished`);
}

/** Attempts at runs, whatever became of them, and how long it took from the start of the first to the end of the last. */
export async function attemptsOf(
  store: Queryable,
  sinceMs: number,
): Promise<{ readonly attempts: number; readonly seconds: number }> {
  const { rows } = await store.query<{ attempts: number; seconds: number }>(
    `SELECT count(*)::int AS attempts, extract(epoch FROM max(end_time) - min(start_time))::float8 AS seconds
     FROM job_runs WHERE start_time >= to_timestamp($1::float8 / 1000)`,
    [sinceMs],
  );
  return rows[0]!;
}

export async function recordedRunsOf(
  store: Queryable,
  { jobIds, sinceMs }: { jobIds: readonly string[]; sinceMs: number },
): Promise<RecordedRuns> {
  const { rows } = await store.query<RecordedRuns>(
    `SELECT (SELECT count(*)::int FROM due WHERE job_id = ANY($1::uuid[])) AS pending,
       (count(DISTINCT job_id) FILTER (WHERE status = 'SUCCESS'))::int AS jobs,
       (count(*) FILTER (WHERE status = 'SUCCESS'))::int AS succeeded,
       (count(*) FILTER (WHERE status = 'FAILED'))::int AS failed
     FROM job_runs WHERE job_id = ANY($1::uuid[]) AND created_at >= to_timestamp($2::float8 / 1000)`,
    [plainArray(jobIds), sinceMs],
  );
  return rows[0]!;
}

async function countOf(store: Queryable, text: string): Promise<number> {
  return (await store.query<{ count: number }>(text)).rows[0]!.count;
}
