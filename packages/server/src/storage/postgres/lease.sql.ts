/** Statements of the lease store: the hot path. */
import type { Statement } from '../../postgres/database.ts';
import { inlineJson } from './inline-payload.sql.ts';
import { mayEnd } from './may-end.sql.ts';
import { isOwned, owned } from './owned.sql.ts';

/**
 * Written so that the index of lanes does not fit (IS NOT TRUE, + 0): a plan made while the table was empty would choose it,
 * keep it, and read a whole herd for every claim (measured: seconds instead of milliseconds).
 */
const CLAIMABLE = `d.held IS NOT TRUE AND d.kind > 0 AND d.fire_at + 0 <= $3::bigint
        AND ${isOwned('d.shard')} AND EXISTS (SELECT FROM worker)`;

const CLAIMED = `d.job_id, d.run_id, d.shard, d.kind, d.attempt, d.crashes, d.ends_job, d.epoch, d.job_version, d.nominal_at,
        d.handler, d.payload, d.timeout_ms, want.ord`;

/**
 * $1 lease, $2 worker, $3 now, $4 run ids, guard: $5 node, $6 epochs. Rows leave `due` and enter the
 * lease in one statement; the shared lock on the shard rows lets no change of hands slip in between check and commit.
 * $7 where the rows were when they were read: found there, a row is spared the search through the index (a quarter of the
 * claim's cost); moved since, or never read, it is searched for. Payloads too large for `due` are read from the job.
 *
 * The rows are gone through once, for the lease and the answer alike, so a run has the same position in every array. They are
 * answered as one row (a row per run would cost both sides more than the claim itself); no JSON text and no name of a
 * handler holds a line break.
 */
export const CLAIM: Statement = {
  name: 'claim',
  text: `
    WITH ${owned('$5', '$6')}, worker AS MATERIALIZED (
      -- Locked, so that a worker is not given up for dead between this claim and its recovery.
      SELECT worker_id FROM workers WHERE worker_id = $2 AND NOT dead FOR KEY SHARE
    ), want AS MATERIALIZED (
      SELECT * FROM unnest($4::uuid[], $7::tid[]) WITH ORDINALITY AS want(run_id, place, ord)
    ), at_place AS (
      DELETE FROM due d USING want WHERE d.ctid = want.place AND d.run_id = want.run_id AND ${CLAIMABLE} RETURNING ${CLAIMED}
    ), elsewhere AS (
      DELETE FROM due d USING want
      WHERE (SELECT count(*) FROM at_place) < cardinality($4::uuid[]) AND want.ord NOT IN (SELECT ord FROM at_place)
        AND d.run_id = want.run_id AND ${CLAIMABLE}
      RETURNING ${CLAIMED}
    ), taken AS MATERIALIZED (
      SELECT array_agg(run_id) AS run_ids, array_agg(job_id) AS job_ids, array_agg(shard) AS shards, array_agg(kind) AS kinds,
        array_agg(attempt) AS attempts, array_agg(crashes) AS crashes, array_agg(ends_job) AS ends_job,
        array_agg(epoch) AS epochs, array_agg(job_version) AS job_versions, array_agg(nominal_at) AS nominal_ats,
        bool_or(ends_job AND kind <> 1) AS ends_schedule, array_agg(ord) AS ords, string_agg(handler, E'\\n') AS handlers,
        string_agg(coalesce(payload, (SELECT j.payload::text FROM jobs j WHERE j.job_id = t.job_id), '{}'), E'\\n') AS payloads,
        array_agg(coalesce(timeout_ms, (SELECT j.timeout_ms FROM jobs j WHERE j.job_id = t.job_id), 1)) AS timeouts
      FROM (SELECT * FROM at_place UNION ALL SELECT * FROM elsewhere) t
    ), lease AS (
      INSERT INTO leases (lease_id, worker_id, claimed_at, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job,
        epochs, job_versions, nominal_ats, ends_schedule)
      SELECT $1::uuid, $2::text, $3::bigint, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job, epochs, job_versions,
        nominal_ats, ends_schedule
      FROM taken WHERE run_ids IS NOT NULL
    )
    SELECT ords::text, epochs::text, attempts::text, timeouts::text, handlers, payloads FROM taken`,
};

/**
 * Takes reported runs out of their leases and writes what follows. One row of parameters per lease; in $3…$13 each element
 * is an array literal over all positions of that lease, NULL where the position is not reported: so nothing has to be
 * joined per run. $1 lease ids, $2 reported counts, $3 epochs, $4 statuses, $5 starts, $6 ends, $7 errors, $8 results,
 * $9 next attempt instants, $10 next attempts, $11 next crashes, $12 dead reasons, $13 now.
 */
export const SETTLE: Statement = {
  name: 'settle',
  text: `
    WITH r AS MATERIALIZED (
      SELECT * FROM unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::text[])
        AS r(lease_id, reported, epochs, statuses, starts, ends, errors, results, next_ats, next_attempts, next_crashes, deads)
    ), locked AS MATERIALIZED (
      SELECT l.* FROM leases l WHERE l.lease_id = ANY($1::uuid[]) ORDER BY l.lease_id FOR UPDATE
    ), reported AS MATERIALIZED (
      SELECT l.lease_id, l.worker_id, l.claimed_at, (u.ord - 1)::smallint AS position, u.*,
        (u.ord - 1)::smallint = ANY(l.cancelled) AS cancel_requested, (u.ord - 1)::smallint = ANY(l.shown) AS shown
      FROM r JOIN locked l ON l.lease_id = r.lease_id
      CROSS JOIN LATERAL unnest(l.run_ids, l.job_ids, l.kinds, l.attempts, l.ends_job, l.epochs, l.job_versions, l.nominal_ats,
        l.shards, r.epochs::int[], r.statuses::text[], r.starts::bigint[], r.ends::bigint[], r.errors::text[], r.results::text[],
        r.next_ats::bigint[], r.next_attempts::smallint[], r.next_crashes::smallint[], r.deads::text[])
        WITH ORDINALITY AS u(run_id, job_id, kind, attempt, ends_job, epoch, job_version, nominal_at, shard, said_epoch, status,
          started, ended, error, result, next_at, next_attempt, next_crashes, dead, ord)
      WHERE u.status IS NOT NULL AND u.said_epoch = u.epoch AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
    ), retried AS MATERIALIZED (
      -- Locked, so that a pause or cancel either is seen here or sees what is queued here.
      SELECT j.* FROM jobs j WHERE j.job_id IN (SELECT job_id FROM reported WHERE next_at IS NOT NULL) FOR SHARE OF j
    ), live AS MATERIALIZED (
      SELECT x.*,
        x.cancel_requested OR (x.next_at IS NOT NULL AND coalesce(j.status, 'CANCELLED') = 'CANCELLED') AS cancelled
      FROM reported x LEFT JOIN retried j ON x.next_at IS NOT NULL AND j.job_id = x.job_id
    ), done AS MATERIALIZED (
      SELECT lease_id, count(*) AS count, array_agg(position) AS positions,
        array_agg(position) FILTER (WHERE cancelled) AS cancelled
      FROM live GROUP BY lease_id
    ), shrunk AS (
      UPDATE leases l SET closed = k.closed || d.positions
      FROM done d JOIN locked k ON k.lease_id = d.lease_id
      WHERE l.lease_id = d.lease_id AND cardinality(k.closed) + d.count < cardinality(k.run_ids)
    ), emptied AS (
      DELETE FROM leases l USING done d, locked k
      WHERE l.lease_id = d.lease_id AND k.lease_id = d.lease_id AND cardinality(k.closed) + d.count >= cardinality(k.run_ids)
    ), history AS (
      INSERT INTO job_runs (run_id, job_id, status, start_time, end_time, modified_time, executor_id, attempt_number,
        error_message, created_at, epoch, trigger, scheduled_at, job_version, result)
      SELECT run_id, job_id, CASE WHEN cancelled THEN 'CANCELLED' ELSE status END,
        to_timestamp(started::float8 / 1000), to_timestamp(ended::float8 / 1000), to_timestamp($13::float8 / 1000), worker_id, attempt,
        error, to_timestamp(claimed_at::float8 / 1000), epoch, kind, to_timestamp(nominal_at::float8 / 1000), job_version, result::jsonb
      FROM live WHERE NOT shown
    ), shown_history AS (
      -- An upsert and not an update: the row may have been written after this statement began, while it waited for the lease.
      INSERT INTO job_runs AS h (run_id, job_id, status, start_time, end_time, modified_time, executor_id, attempt_number,
        error_message, created_at, epoch, trigger, scheduled_at, job_version, result)
      SELECT run_id, job_id, CASE WHEN cancelled THEN 'CANCELLED' ELSE status END,
        to_timestamp(started::float8 / 1000), to_timestamp(ended::float8 / 1000), to_timestamp($13::float8 / 1000), worker_id, attempt,
        error, to_timestamp(claimed_at::float8 / 1000), epoch, kind, to_timestamp(nominal_at::float8 / 1000), job_version, result::jsonb
      FROM live WHERE shown
      ON CONFLICT (run_id, epoch, created_at) DO UPDATE SET status = excluded.status,
        start_time = coalesce(excluded.start_time, h.start_time), end_time = excluded.end_time,
        modified_time = excluded.modified_time, error_message = excluded.error_message, result = excluded.result
    ), again AS (
      INSERT INTO due (job_id, run_id, shard, priority, kind, attempt, crashes, ends_job, held, epoch, job_version,
        max_concurrency, fire_at, nominal_at, start_timeout_ms, handler, overlap, payload, timeout_ms)
      SELECT x.job_id, x.run_id, x.shard, j.priority, x.kind, x.next_attempt, x.next_crashes, x.ends_job,
        j.status = 'PAUSED' AND x.kind < 3,
        x.epoch + 1, j.version, j.max_concurrency, x.next_at, x.nominal_at, j.start_timeout_ms, j.handler, j.overlap,
        ${inlineJson('j.payload')}, j.timeout_ms
      FROM live x JOIN retried j ON j.job_id = x.job_id WHERE x.next_at IS NOT NULL AND NOT x.cancelled
    ), letters AS (
      INSERT INTO dead_letters (run_id, job_id, reason, error_message, attempts, scheduled_at, died_at)
      SELECT run_id, job_id, dead, error, attempt, to_timestamp(nominal_at::float8 / 1000), to_timestamp($13::bigint::float8 / 1000)
      FROM live WHERE dead IS NOT NULL AND NOT cancelled
      ON CONFLICT (run_id) DO NOTHING
    ), ended AS (
      UPDATE jobs j SET updated_at = to_timestamp($13::bigint::float8 / 1000), version = j.version + 1, status = CASE
        WHEN x.kind <> 1 THEN 'COMPLETED' WHEN x.cancelled OR x.status = 'CANCELLED' THEN 'CANCELLED'
        WHEN x.status = 'SUCCESS' THEN 'COMPLETED' ELSE 'FAILED' END
      FROM live x
      WHERE j.job_id = x.job_id AND x.ends_job AND (x.kind <> 1 OR x.cancelled OR x.status <> 'SUCCESS')
        AND (x.next_at IS NULL OR x.cancelled) AND ${mayEnd()}
        -- Nor while the pause is about to hold back a retry that is queued right here.
        AND NOT (j.status = 'PAUSED' AND EXISTS (SELECT FROM live y
          WHERE y.job_id = j.job_id AND y.next_at IS NOT NULL AND NOT y.cancelled AND y.kind < 3))
        AND (j.version = x.job_version OR NOT EXISTS (SELECT FROM due p WHERE p.job_id = x.job_id AND p.kind < 2))
    ), told AS (
      INSERT INTO events (kind, ids, epochs, claimed_ats, next_ats, dead_reasons)
      SELECT 'run.ended', array_agg(run_id), array_agg(epoch), array_agg(claimed_at),
        CASE WHEN bool_or(next_at IS NOT NULL) THEN array_agg(CASE WHEN NOT cancelled THEN next_at END) END,
        CASE WHEN bool_or(dead IS NOT NULL) THEN array_agg(CASE WHEN NOT cancelled THEN dead END) END
      FROM live HAVING count(*) > 0
    )
    SELECT d.lease_id, d.cancelled, CASE WHEN d.count <> r.reported THEN d.positions END
    FROM done d JOIN r ON r.lease_id = d.lease_id`,
};

/**
 * The common case of SETTLE, at half its cost: leases of which every run succeeded, with nothing else to say. A lease that is
 * anything but whole and untouched is left alone and not answered; it goes through SETTLE. $1 lease ids, $2 epochs, $3 starts,
 * $4 ends (an array literal per lease), $5 now.
 */
export const SETTLE_WHOLE: Statement = {
  name: 'settle_whole',
  text: `
    WITH gone AS (
      DELETE FROM leases l
      USING unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) AS r(lease_id, epochs, starts, ends)
      WHERE l.lease_id = r.lease_id AND l.epochs = r.epochs::int[] AND l.closed = '{}' AND l.cancelled = '{}' AND l.shown = '{}'
        AND NOT l.ends_schedule
      RETURNING l.*, r.starts, r.ends
    ), history AS (
      INSERT INTO job_runs (run_id, job_id, status, start_time, end_time, modified_time, executor_id, attempt_number,
        created_at, epoch, trigger, scheduled_at, job_version)
      SELECT u.run_id, u.job_id, 'SUCCESS', to_timestamp(u.started::float8 / 1000), to_timestamp(u.ended::float8 / 1000),
        to_timestamp($5::float8 / 1000), g.worker_id, u.attempt, to_timestamp(g.claimed_at::float8 / 1000), u.epoch, u.kind,
        to_timestamp(u.nominal_at::float8 / 1000), u.job_version
      FROM gone g CROSS JOIN LATERAL unnest(g.run_ids, g.job_ids, g.kinds, g.attempts, g.epochs, g.job_versions, g.nominal_ats,
        g.starts::bigint[], g.ends::bigint[]) AS u(run_id, job_id, kind, attempt, epoch, job_version, nominal_at, started, ended)
    ), told AS (
      -- The lease's own arrays, as they are: a row per lease costs the runs in it nothing.
      INSERT INTO events (kind, ids, epochs, claimed_ats)
      SELECT 'run.ended', run_ids, epochs, ARRAY[claimed_at] FROM gone
    )
    SELECT lease_id FROM gone`,
};

/**
 * $1 lease ids, $2 positions, $3 whether it did not succeed. Locks the jobs that these runs may end, before SETTLE and in the same
 * transaction: a pause or an edit that is under way either comes first, and SETTLE sees what it holds back or plans, or waits.
 */
export const LOCK_ENDING_JOBS: Statement = {
  name: 'lock_ending_jobs',
  text: `
    SELECT FROM jobs WHERE job_id IN (
      SELECT l.job_ids[q.position + 1] FROM unnest($1::uuid[], $2::smallint[], $3::boolean[]) AS q(lease_id, position, failed)
      JOIN leases l ON l.lease_id = q.lease_id
      WHERE l.ends_job[q.position + 1] AND (l.kinds[q.position + 1] <> 1 OR q.failed))
    ORDER BY job_id FOR UPDATE`,
};

/** $1 lease ids, $2 positions: what is still held there. One row per reference, in order. */
export const HELD: Statement = {
  name: 'held',
  text: `
    SELECT q.ord, l.lease_id, q.position, l.epochs[q.position + 1], l.job_ids[q.position + 1], l.run_ids[q.position + 1],
      l.worker_id, l.attempts[q.position + 1], l.crashes[q.position + 1], l.nominal_ats[q.position + 1], l.claimed_at,
      j.retry::text, coalesce(j.max_retries, 0), q.position = ANY(l.cancelled), coalesce(j.namespace, ''), j.user_id
    FROM unnest($1::uuid[], $2::smallint[]) WITH ORDINALITY AS q(lease_id, position, ord)
    JOIN leases l ON l.lease_id = q.lease_id
    LEFT JOIN jobs j ON j.job_id = l.job_ids[q.position + 1]
    WHERE NOT (q.position = ANY(l.closed)) AND l.run_ids[q.position + 1] IS NOT NULL`,
};

/** $1 worker ids. */
export const HELD_BY: Statement = {
  name: 'held_by',
  text: `
    SELECT 0, l.lease_id, (u.ord - 1)::smallint, u.epoch, u.job_id, u.run_id, l.worker_id, u.attempt, u.crashes, u.nominal_at,
      l.claimed_at, j.retry::text, coalesce(j.max_retries, 0), (u.ord - 1)::smallint = ANY(l.cancelled),
      coalesce(j.namespace, ''), j.user_id
    FROM leases l
    CROSS JOIN LATERAL unnest(l.epochs, l.job_ids, l.run_ids, l.attempts, l.crashes, l.nominal_ats)
      WITH ORDINALITY AS u(epoch, job_id, run_id, attempt, crashes, nominal_at, ord)
    LEFT JOIN jobs j ON j.job_id = u.job_id
    WHERE l.worker_id = ANY($1::text[]) AND NOT ((u.ord - 1)::smallint = ANY(l.closed))`,
};

/** $1 shards. */
export const LIVE: Statement = {
  name: 'live',
  text: `
    SELECT u.job_id, u.run_id, u.shard, l.claimed_at, l.worker_id FROM leases l
    CROSS JOIN LATERAL unnest(l.job_ids, l.run_ids, l.shards) WITH ORDINALITY AS u(job_id, run_id, shard, ord)
    WHERE u.shard = ANY($1::smallint[]) AND NOT ((u.ord - 1)::smallint = ANY(l.closed))`,
};

/**
 * $1 job ids, $2 run ids, $3 what (0 skip, 1 expire, 2 defer), $4 reason or error, $5 defer until, guard: $6 node, $7 epochs;
 * $8 now.
 */
export const RESOLVE_PENDING: Statement = {
  name: 'resolve_pending',
  text: `
    WITH ${owned('$6', '$7')}, v AS MATERIALIZED (
      SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::text[], $5::bigint[]) AS v(job_id, run_id, what, reason, until)
    ), deferred AS (
      UPDATE due d SET fire_at = v.until, blocked_reason = v.reason FROM v
      WHERE v.what = 2 AND d.run_id = v.run_id AND d.held IS NOT TRUE AND ${isOwned('d.shard')}
      RETURNING d.run_id
    ), removed AS (
      DELETE FROM due d USING v
      WHERE v.what < 2 AND d.run_id = v.run_id AND d.held IS NOT TRUE AND ${isOwned('d.shard')}
      RETURNING d.*, v.what, v.reason
    ), history AS (
      INSERT INTO job_runs (run_id, job_id, status, end_time, modified_time, attempt_number, error_message, created_at, epoch,
        trigger, scheduled_at, job_version, reason)
      SELECT run_id, job_id, CASE WHEN what = 0 THEN 'SKIPPED' ELSE 'FAILED' END, to_timestamp($8::bigint::float8 / 1000),
        to_timestamp($8::bigint::float8 / 1000), attempt, CASE WHEN what = 1 THEN reason END, to_timestamp($8::bigint::float8 / 1000), epoch, kind,
        to_timestamp(nominal_at::float8 / 1000), job_version, CASE WHEN what = 0 THEN reason END
      FROM removed
    ), letters AS (
      INSERT INTO dead_letters (run_id, job_id, reason, error_message, attempts, scheduled_at, died_at)
      SELECT run_id, job_id, 'never_started', reason, attempt - 1, to_timestamp(nominal_at::float8 / 1000), to_timestamp($8::bigint::float8 / 1000)
      FROM removed WHERE what = 1 ON CONFLICT (run_id) DO NOTHING
    ), ended AS (
      UPDATE jobs j SET status = CASE WHEN x.kind = 1 THEN 'FAILED' ELSE 'COMPLETED' END, version = j.version + 1,
        updated_at = to_timestamp($8::bigint::float8 / 1000)
      FROM removed x WHERE x.ends_job AND j.job_id = x.job_id AND ${mayEnd()}
    ), told AS (
      INSERT INTO events (kind, ids, epochs, claimed_ats, dead_reasons)
      SELECT 'run.ended', array_agg(run_id), array_agg(epoch), ARRAY[$8::bigint],
        array_agg(CASE WHEN what = 1 THEN 'never_started' END)
      FROM removed HAVING count(*) > 0
    )
    SELECT run_id FROM deferred UNION ALL SELECT run_id FROM removed`,
};

/** $1 lease ids, $2 positions, $3 epochs, $4 starts, $5 now. */
export const SHOW_RUNNING: Statement = {
  name: 'show_running',
  text: `
    WITH held AS MATERIALIZED (
      SELECT q.lease_id, q.position, q.epoch, q.started, l.worker_id, l.claimed_at, l.run_ids[q.position + 1] AS run_id,
        l.job_ids[q.position + 1] AS job_id, l.attempts[q.position + 1] AS attempt, l.kinds[q.position + 1] AS kind,
        l.nominal_ats[q.position + 1] AS nominal_at, l.job_versions[q.position + 1] AS job_version,
        q.position = ANY(l.shown) AS shown
      FROM unnest($1::uuid[], $2::smallint[], $3::int[], $4::bigint[]) AS q(lease_id, position, epoch, started)
      JOIN leases l ON l.lease_id = q.lease_id
      WHERE NOT (q.position = ANY(l.closed)) AND l.epochs[q.position + 1] = q.epoch
      FOR UPDATE OF l
    ), marked AS (
      UPDATE leases l SET shown = l.shown || m.positions
      FROM (SELECT lease_id, array_agg(position) AS positions FROM held GROUP BY lease_id) m
      WHERE l.lease_id = m.lease_id
    ), told AS (
      INSERT INTO events (kind, ids, epochs, claimed_ats)
      SELECT 'run.started', array_agg(run_id), array_agg(epoch), array_agg(claimed_at) FROM held WHERE NOT shown HAVING count(*) > 0
    )
    INSERT INTO job_runs (run_id, job_id, status, start_time, modified_time, executor_id, attempt_number, created_at, epoch,
      trigger, scheduled_at, job_version)
    SELECT run_id, job_id, 'RUNNING', to_timestamp(started::float8 / 1000), to_timestamp($5::float8 / 1000), worker_id, attempt,
      to_timestamp(claimed_at::float8 / 1000), epoch, kind, to_timestamp(nominal_at::float8 / 1000), job_version
    FROM held
    ON CONFLICT (run_id, epoch, created_at) DO UPDATE SET modified_time = excluded.modified_time`,
};

/** $1 run ids, $2 epochs, $3 claimed at, $4 reports. What repeats the record is no news. */
export const RECORD_LATE: Statement = {
  name: 'record_late',
  text: `
    UPDATE job_runs x SET late_report = q.report
    FROM unnest($1::uuid[], $2::int[], $3::bigint[], $4::text[]) AS q(run_id, epoch, claimed_at, report)
    WHERE x.run_id = q.run_id AND x.epoch = q.epoch AND x.created_at = to_timestamp(q.claimed_at::float8 / 1000)
      AND x.status <> q.report`,
};

/** $1 run ids. */
export const REQUEST_CANCEL: Statement = {
  name: 'request_cancel',
  text: `
    UPDATE leases l SET cancelled = array(
      SELECT DISTINCT p FROM unnest(l.cancelled || array(
        SELECT (u.ord - 1)::smallint FROM unnest(l.run_ids) WITH ORDINALITY AS u(run_id, ord)
        WHERE u.run_id = ANY($1::uuid[]) AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
      )) AS p)
    WHERE EXISTS (SELECT FROM unnest(l.run_ids) WITH ORDINALITY AS u(run_id, ord)
      WHERE u.run_id = ANY($1::uuid[]) AND NOT ((u.ord - 1)::smallint = ANY(l.closed)))
    RETURNING l.lease_id`,
};
