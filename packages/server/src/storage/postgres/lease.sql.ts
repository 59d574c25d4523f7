/** Statements of the lease store: the hot path. */
import type { Statement } from '../../postgres/database.ts';
import { exists } from './exists.sql.ts';
import { FIRST_EPOCH } from './generation.sql.ts';
import { inlineJson } from './inline-payload.sql.ts';
import { ASKING, IS_OPEN, inLane, JOB_HANDLER_KEY, JOB_PART, JOB_TENANT, OPEN, WAITING } from './lane.sql.ts';
import { mayEnd } from './may-end.sql.ts';
import { pendingKeys } from './pending-run.sql.ts';

const LANE_COLUMNS = 'due.part, due.priority, due.handler_key, due.tenant, due.lane_at, due.run_id';
const LANE_ORDER = `ORDER BY ${LANE_COLUMNS} LIMIT 1`;
const ANY_LANE = `SELECT ${LANE_COLUMNS} FROM due WHERE ${IS_OPEN}`;

/** $1 limit, $2 part, $3 priority, $4 handler key, $5 tenant: the first run of each lane after this one. One look per lane. */
export const LANES: Statement = {
  name: 'lanes',
  text: `
    WITH RECURSIVE lane AS (
      (${ANY_LANE} AND (due.part, due.priority, due.handler_key, due.tenant) > ($2::smallint, $3::smallint, $4::int, $5::bigint) ${LANE_ORDER})
      UNION ALL
      SELECT next.* FROM lane CROSS JOIN LATERAL (
        ${ANY_LANE} AND (due.part, due.priority, due.handler_key, due.tenant) > (lane.part, lane.priority, lane.handler_key, lane.tenant)
        ${LANE_ORDER}
      ) next
    )
    SELECT * FROM lane LIMIT $1`,
};

/**
 * $1 lease, $2 worker, $3 now. Rows leave `due` and enter the lease in one statement. They are locked as they are found, and
 * those that another claim or an edit has locked are left to it; so the place where a row was found is where it is deleted,
 * which spares the search through an index. Payloads too large for `due` are read from the job.
 *
 * The rows are gone through once, for the lease and the answer alike, so a run has the same position in every array. They are
 * answered as one row (a row per run would cost both sides more than the claim itself); no JSON text and no name of a
 * handler holds a line break.
 */
const claim = (
  name: string,
  { picked, looks, from }: { picked: string; looks: string; from: string },
): Statement => ({
  name,
  text: `
    WITH worker AS MATERIALIZED (
      -- Locked, so that a worker is not given up for dead between this claim and its recovery.
      SELECT worker_id FROM workers WHERE worker_id = $2 AND NOT dead FOR KEY SHARE
    ), ${picked}, gone AS (
      DELETE FROM due d WHERE d.ctid = ANY(ARRAY(SELECT place FROM picked))
      RETURNING d.job_id, d.run_id, d.shard, d.kind, d.attempt, d.crashes, d.ends_job, d.epoch, d.job_version, d.nominal_at,
        d.handler, d.payload, d.timeout_ms, d.admitted, d.fire_at
    ), taken AS MATERIALIZED (
      SELECT array_agg(run_id) AS run_ids, array_agg(job_id) AS job_ids, array_agg(shard) AS shards, array_agg(kind) AS kinds,
        array_agg(attempt) AS attempts, array_agg(crashes) AS crashes, array_agg(ends_job) AS ends_job,
        array_agg(greatest(epoch, ${FIRST_EPOCH})) AS epochs, array_agg(job_version) AS job_versions, array_agg(nominal_at) AS nominal_ats,
        array_agg(CASE WHEN kind < 3 AND attempt = 1 THEN nominal_at ELSE fire_at END) AS due_ats,
        bool_or(ends_job AND kind <> 1) AS ends_schedule, bool_or(admitted) AS limited,
        CASE WHEN bool_or(admitted) THEN array_agg(admitted::int) END AS admitted, string_agg(handler, E'\\n') AS handlers,
        string_agg(coalesce(payload, (SELECT j.payload::text FROM jobs j WHERE j.job_id = t.job_id), '{}'), E'\\n') AS payloads,
        array_agg(coalesce(timeout_ms, (SELECT j.timeout_ms FROM jobs j WHERE j.job_id = t.job_id), 1)) AS timeouts
      FROM gone t
    ), lease AS (
      INSERT INTO leases (lease_id, worker_id, claimed_at, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job,
        epochs, job_versions, nominal_ats, ends_schedule, limited)
      SELECT $1::uuid, $2::text, $3::bigint, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job, epochs, job_versions,
        nominal_ats, ends_schedule, limited
      FROM taken WHERE run_ids IS NOT NULL
    )
    SELECT run_ids::text, job_ids::text, epochs::text, attempts::text, nominal_ats::text, timeouts::text, admitted::text, handlers,
      payloads, due_ats::text, ${looks} FROM taken ${from}`,
});

const IN_TIME = '(due.expires_at IS NULL OR due.expires_at >= $3::bigint)';

/**
 * $4 parts, $5 priorities, $6 handler keys, $7 tenants, $8 after instants, $9 after runs, $10 runs of each lane at most, $11 of all.
 * A lane that gave fewer than it might was read to its end: of that one the next instant is answered.
 */
export const CLAIM_LANES: Statement = claim('claim_lanes', {
  picked: `lane AS MATERIALIZED (
      SELECT * FROM unnest($4::smallint[], $5::smallint[], $6::int[], $7::bigint[], $8::bigint[], $9::uuid[], $10::int[])
        WITH ORDINALITY AS lane(part, priority, handler_key, tenant, after_at, after_id, runs_max, ord)
    ), picked AS MATERIALIZED (
      SELECT d.place, d.run_id, d.lane_at, lane.ord FROM lane CROSS JOIN LATERAL (
        SELECT due.ctid AS place, due.run_id, due.lane_at FROM due
        WHERE ${inLane('lane')} AND (due.lane_at, due.run_id) > (lane.after_at, lane.after_id) AND due.lane_at <= $3::bigint AND ${IN_TIME}
        ORDER BY due.lane_at, due.run_id LIMIT lane.runs_max FOR UPDATE SKIP LOCKED
      ) d WHERE EXISTS (SELECT FROM worker) LIMIT $11
    ), looked AS MATERIALIZED (
      SELECT array_agg(found ORDER BY ord) AS found, array_agg(last_at ORDER BY ord) AS last_ats,
        array_agg(last_id ORDER BY ord) AS last_ids, array_agg(next_at ORDER BY ord) AS next_ats
      FROM (
        SELECT lane.ord, coalesce(p.found, 0) AS found, p.last_at, p.last_id,
          CASE WHEN coalesce(p.found, 0) < lane.runs_max AND (SELECT count(*) FROM picked WHERE picked.ord <= lane.ord) < $11 THEN (
            SELECT due.lane_at FROM due
            WHERE ${inLane('lane')} AND due.lane_at > $3::bigint
            ORDER BY due.lane_at, due.run_id LIMIT 1) END AS next_at
        FROM lane LEFT JOIN (
          SELECT ord, count(*) AS found, max(lane_at) AS last_at, (array_agg(run_id ORDER BY lane_at DESC, run_id DESC))[1] AS last_id
          FROM picked GROUP BY ord
        ) p ON p.ord = lane.ord
        WHERE EXISTS (SELECT FROM worker)
      ) l
    )`,
  looks: 'found::text, last_ats::text, last_ids::text, next_ats::text',
  from: 'CROSS JOIN looked',
});

/** $4 run ids. */
export const CLAIM_RUNS: Statement = claim('claim_runs', {
  picked: `picked AS MATERIALIZED (
      SELECT due.ctid AS place FROM ${pendingKeys('$4::uuid[]')} k JOIN due ON due.job_id = k.job_id AND due.run_id = k.run_id
      WHERE due.blocked + 0 = ${OPEN} AND due.held IS NOT TRUE AND due.lane_at + 0 <= $3::bigint
        AND ${IN_TIME} AND EXISTS (SELECT FROM worker)
      FOR UPDATE OF due SKIP LOCKED
    )`,
  looks: 'NULL, NULL, NULL, NULL',
  from: '',
});

/** Whether runs of the job wait for a place. */
const isWaitedFor = (jobId: string) =>
  exists(`SELECT FROM due w WHERE w.job_id = ${jobId} AND w.blocked = ${WAITING} AND w.blocked > 0`);

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
      SELECT l.lease_id, l.worker_id, l.claimed_at, l.limited, (u.ord - 1)::smallint AS position, u.*,
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
    ), freed AS (
      DELETE FROM admissions a USING live x WHERE a.job_id = x.job_id AND a.run_id = x.run_id RETURNING a.job_id, a.run_id
    ), again AS (
      -- The only run of a one-off goes straight into its lane; others ask for a place again. Judged by the lease, which is locked
      -- and so as it is now: a place that was taken while this statement waited is not seen here.
      INSERT INTO due AS d (run_id, job_id, fire_at, lane_at, nominal_at, tenant, expires_at, timeout_ms, handler_key, epoch,
        job_version, shard, part, priority, kind, attempt, crashes, blocked, ends_job, held, handler, payload)
      SELECT x.run_id, x.job_id, x.next_at, x.next_at, x.nominal_at, ${JOB_TENANT}, x.next_at + j.start_timeout_ms, j.timeout_ms,
        ${JOB_HANDLER_KEY}, x.epoch + 1, j.version, x.shard, ${JOB_PART}, j.priority, x.kind, x.next_attempt, x.next_crashes,
        CASE WHEN x.kind = 1 AND NOT x.limited THEN ${OPEN} ELSE ${ASKING} END,
        x.ends_job, j.status = 'PAUSED' AND x.kind < 3, j.handler, ${inlineJson('j.payload')}
      FROM live x JOIN retried j ON j.job_id = x.job_id WHERE x.next_at IS NOT NULL AND NOT x.cancelled
      RETURNING d.shard, d.part, d.priority, d.handler_key, d.tenant, d.fire_at, d.blocked, d.held
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
        AND (j.version = x.job_version OR NOT (${exists('SELECT FROM due p WHERE p.job_id = x.job_id AND p.kind = 1')}
          OR ${exists('SELECT FROM cursors c WHERE c.job_id = x.job_id')}))
    ), told AS (
      INSERT INTO events (kind, ids, epochs, claimed_ats, next_ats, dead_reasons)
      SELECT 'run.ended', array_agg(run_id), array_agg(epoch), array_agg(claimed_at),
        CASE WHEN bool_or(next_at IS NOT NULL) THEN array_agg(CASE WHEN NOT cancelled THEN next_at END) END,
        CASE WHEN bool_or(dead IS NOT NULL) THEN array_agg(CASE WHEN NOT cancelled THEN dead END) END
      FROM live HAVING count(*) > 0
    )
    SELECT d.lease_id, d.cancelled, CASE WHEN d.count <> r.reported THEN d.positions END, NULL::uuid, NULL::smallint, NULL::smallint,
      NULL::smallint, NULL::int, NULL::bigint, NULL::bigint, NULL::smallint
    FROM done d JOIN r ON r.lease_id = d.lease_id
    UNION ALL
    SELECT DISTINCT NULL::uuid, NULL::smallint[], NULL::smallint[], f.job_id, NULL::smallint, NULL::smallint, NULL::smallint, NULL::int,
      NULL::bigint, NULL::bigint, NULL::smallint
    FROM freed f WHERE ${isWaitedFor('f.job_id')}
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, a.shard, a.part, a.priority, a.handler_key, a.tenant, a.fire_at, a.blocked FROM again a WHERE NOT a.held`,
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
    ), freed AS (
      DELETE FROM admissions a
      USING (SELECT unnest(g.job_ids) AS job_id, unnest(g.run_ids) AS run_id FROM gone g WHERE g.limited) x
      WHERE a.job_id = x.job_id AND a.run_id = x.run_id RETURNING a.job_id
    ), told AS (
      -- The lease's own arrays, as they are: a row per lease costs the runs in it nothing.
      INSERT INTO events (kind, ids, epochs, claimed_ats)
      SELECT 'run.ended', run_ids, epochs, ARRAY[claimed_at] FROM gone
    )
    SELECT lease_id, NULL::uuid FROM gone
    UNION ALL
    SELECT DISTINCT NULL::uuid, f.job_id FROM freed f
    WHERE ${isWaitedFor('f.job_id')}`,
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
