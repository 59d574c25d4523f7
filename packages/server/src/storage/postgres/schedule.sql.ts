/** Statements of the schedule store. */
import type { Statement } from '../../postgres/database.ts';
import { inlineJson } from './inline-payload.sql.ts';
import { isOwned, owned } from './owned.sql.ts';

/**
 * $1 shards, $2 priorities, $3 after fire_at, $4 after run_id, $5 until, $6 limit per lane. Starting after a known place
 * spares the scan everything that was claimed and deleted before it, however long vacuum is held up (hazard 29).
 */
export const READ_DUE: Statement = {
  name: 'read_due',
  text: `
    SELECT d.kind, d.job_id, d.run_id, d.shard, d.priority, d.fire_at, d.nominal_at, d.attempt, d.handler,
      d.max_concurrency, d.overlap, d.start_timeout_ms, d.job_version,
      CASE WHEN d.kind = 0 THEN (SELECT j.schedule::text FROM jobs j WHERE j.job_id = d.job_id) END,
      CASE WHEN d.kind = 0 THEN (SELECT j.misfire::text FROM jobs j WHERE j.job_id = d.job_id) END, d.place
    FROM unnest($1::smallint[], $2::smallint[], $3::bigint[], $4::uuid[]) AS lane(shard, priority, fire_at, run_id)
    CROSS JOIN LATERAL (
      SELECT due.*, due.ctid AS place FROM due
      WHERE due.shard = lane.shard AND due.priority = lane.priority AND NOT due.held
        AND (due.fire_at, due.run_id) > (lane.fire_at, lane.run_id) AND due.fire_at <= $5
      ORDER BY due.fire_at, due.run_id LIMIT $6
    ) d`,
};

/**
 * Fires cursors: compare-and-set on (nominal instant, job version), and everything that follows from it, in one statement.
 * $1 job_id, $2 shard, $3 nominal_at, $4 job_version, $5 next nominal_at, $6 next fire_at, $7 skip run_id, $8 skip from,
 * $9 skip count, $10 number of runs; per run: $11 job_id, $12 run_id, $13 nominal_at; guard: $14 node, $15 epochs;
 * $16 now; $17 last nominal fired.
 */
export const FIRE: Statement = {
  name: 'fire',
  text: `
    WITH ${owned('$14', '$15')}, f AS MATERIALIZED (
      SELECT f.* FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::int[], $5::bigint[], $6::bigint[], $7::uuid[],
        $8::bigint[], $9::int[], $10::int[], $17::bigint[])
        AS f(job_id, shard, nominal_at, job_version, next_nominal_at, next_fire_at, skip_id, skip_from, skip_count, run_count,
          last_nominal_at)
      WHERE ${isOwned('f.shard')}
    ), moved AS (
      UPDATE due d SET nominal_at = f.next_nominal_at, fire_at = f.next_fire_at, last_nominal_at = coalesce(f.last_nominal_at, d.last_nominal_at)
      FROM f
      WHERE d.run_id = f.job_id AND d.kind = 0 AND d.held IS NOT TRUE
        AND d.nominal_at = f.nominal_at AND d.job_version = f.job_version AND f.next_fire_at IS NOT NULL
      RETURNING d.job_id
    ), ended AS (
      DELETE FROM due d USING f
      WHERE d.run_id = f.job_id AND d.kind = 0 AND d.held IS NOT TRUE
        AND d.nominal_at = f.nominal_at AND d.job_version = f.job_version AND f.next_fire_at IS NULL
      RETURNING d.job_id
    ), won AS MATERIALIZED (
      SELECT job_id, false AS ended FROM moved UNION ALL SELECT job_id, true FROM ended
    ), queued AS (
      INSERT INTO due (job_id, run_id, shard, priority, kind, ends_job, job_version, max_concurrency, fire_at, nominal_at,
        start_timeout_ms, handler, overlap, payload, timeout_ms)
      SELECT j.job_id, q.run_id, j.shard, j.priority, 2, w.ended AND q.is_last, j.version, j.max_concurrency, $16, q.nominal_at,
        j.start_timeout_ms, j.handler, j.overlap, ${inlineJson('j.payload')}, j.timeout_ms
      FROM (
        SELECT q.*, q.ord = max(q.ord) OVER (PARTITION BY q.job_id) AS is_last
        FROM unnest($11::uuid[], $12::uuid[], $13::bigint[]) WITH ORDINALITY AS q(job_id, run_id, nominal_at, ord)
      ) q
      JOIN won w ON w.job_id = q.job_id
      JOIN jobs j ON j.job_id = q.job_id
    ), skipped AS (
      INSERT INTO job_runs (run_id, job_id, status, modified_time, attempt_number, created_at, epoch, trigger, scheduled_at,
        job_version, occurrences, reason)
      SELECT f.skip_id, f.job_id, 'SKIPPED', to_timestamp($16::float8 / 1000), 1, to_timestamp($16::float8 / 1000), 0, 2,
        to_timestamp(f.skip_from::float8 / 1000), f.job_version, f.skip_count, 'misfire'
      FROM f JOIN won w ON w.job_id = f.job_id WHERE f.skip_count > 0
      RETURNING run_id
    ), told AS (
      INSERT INTO events (kind, ids, epochs, claimed_ats)
      SELECT 'run.ended', array_agg(run_id), array_agg(0), ARRAY[$16::bigint] FROM skipped HAVING count(*) > 0
    ), finished AS (
      UPDATE jobs j SET status = 'COMPLETED', version = j.version + 1, updated_at = to_timestamp($16::float8 / 1000)
      FROM f JOIN won w ON w.job_id = f.job_id
      WHERE j.job_id = f.job_id AND w.ended AND f.run_count = 0 AND j.status IN ('SCHEDULED', 'PAUSED')
    )
    SELECT job_id FROM won`,
};
