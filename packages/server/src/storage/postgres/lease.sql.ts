/** Statements of the lease store: the hot path. */
import { statement } from '../../postgres/database.ts';
import { CLAIM_BYTES_MAX, SMALL_PAYLOAD_BYTES_MAX } from '../lease-store.ts';
import { isRepeat, timestampOf } from './fragments.sql.ts';
import { FIRST_EPOCH } from './generation.sql.ts';
import { inLane, lanes, NAMESPACE_KEY } from './lane.sql.ts';

/** $1 limit, $2 part, $3 priority, $4 handler key, $5 tenant: the first run of each lane after this one. */
export const LANES = statement('lanes')`
  WITH RECURSIVE ${lanes({
    first: ['due.lane_at', 'due.run_id'],
    after: '$2::smallint, $3::smallint, $4::int, $5::bigint',
  })}
  SELECT * FROM lane LIMIT $1`;

/** Only a run that was handed out before, or that a dead letter is redriven as, can have a checkpoint: for others none is looked up. */
const MAY_HAVE_CHECKPOINT = '(epoch > 1 OR kind = 4)';

/**
 * It was due at its nominal instant, and whatever came between that and now is a delay. Not so of one that waited for a slot of its job,
 * which ADMIT opened later than it had been fired or asked for, nor of one that was handed out before or repeats another.
 */
const HELD_UP_BY_NOTHING = `attempt = 1 AND epoch = 1 AND lane_at <= fire_at AND NOT ${isRepeat('kind', 't.run_id')}`;

/** Of the payload that such a run (p) carries. */
const PAYLOAD_BYTES = `coalesce(CASE WHEN p.kind >= 3 THEN (SELECT octet_length(q.payload) FROM run_requests q WHERE q.run_id = p.run_id) END,
        (SELECT octet_length(j.payload::text) FROM jobs j WHERE j.job_id = p.job_id), 0)`;

/** Nearly always nothing is cut: then no row is compared with it. */
const BEFORE_CUT =
  'coalesce((picked.ord, picked.lane_at, picked.run_id) < (SELECT cut.ord, cut.lane_at, cut.run_id FROM cut), true)';

const IN_TIME = '(due.expires_at IS NULL OR due.expires_at >= $3::bigint)';

/**
 * $1 lease, $2 worker, $3 now, $4 parts, $5 priorities, $6 handler keys, $7 tenants, $8 after instants, $9 after runs, $10 runs of
 * each lane at most, $11 of all. Rows leave `due` and enter the lease in one statement (DISP-1). They are locked as they are found, and
 * those that another claim or an edit has locked are left to it; so a row is deleted by the tid it was found at,
 * which spares the search through an index. Payloads too large for `due` are read from the job; what a person asked for, which may
 * have a payload of its own, carries none in `due`.
 *
 * The rows are gone through once, for the lease and the answer alike, so a run has the same position in every array. They are
 * answered as one row (a row per run would cost both sides more than the claim itself); no JSON text and no name of a
 * handler holds a line break. What follows from another column, or is the same for all, is not answered for each. Where their
 * checkpoints and payloads are too large together, the runs from that one on stay where they are: the runs of a claim are the first of its
 * lanes, in the order of the lanes, so that those that were scanned were scanned without a gap. Payloads are measured one by one, in that
 * order and only up to there, since one has to be unpacked for it; those in `due` are small and not measured. A lane that gave fewer than it might was read to
 * its end: of that one the next instant is answered.
 */
export const CLAIM_LANES = statement('claim_lanes')`
  WITH worker AS MATERIALIZED (
    -- DISP-7. Locked, so that the worker is not marked dead before this claim is visible to recovery.
    SELECT worker_id FROM workers WHERE worker_id = $2 AND NOT dead FOR KEY SHARE
  ), lane AS MATERIALIZED (
    SELECT * FROM unnest($4::smallint[], $5::smallint[], $6::int[], $7::bigint[], $8::bigint[], $9::uuid[], $10::int[])
      WITH ORDINALITY AS lane(part, priority, handler_key, tenant, after_at, after_id, runs_max, ord)
  ), picked AS MATERIALIZED (
    SELECT d.tid, d.run_id, d.lane_at, d.job_id, d.kind, d.again, d.is_large, lane.ord FROM lane CROSS JOIN LATERAL (
      SELECT due.ctid AS tid, due.run_id, due.lane_at, due.job_id, due.kind, ${MAY_HAVE_CHECKPOINT} AS again, due.payload IS NULL AS is_large FROM due
      WHERE ${inLane('lane')} AND (due.lane_at, due.run_id) > (lane.after_at, lane.after_id) AND due.lane_at <= $3::bigint AND ${IN_TIME}
      ORDER BY due.lane_at, due.run_id LIMIT lane.runs_max FOR UPDATE SKIP LOCKED
    ) d WHERE EXISTS (SELECT FROM worker) LIMIT $11
  ), cut AS MATERIALIZED (
    SELECT s.ord, s.lane_at, s.run_id FROM (
      SELECT p.ord, p.lane_at, p.run_id, sum(c.bytes) OVER from_first AS bytes, row_number() OVER from_first AS n
      FROM (SELECT * FROM picked WHERE again OR is_large ORDER BY ord, lane_at, run_id) p
      CROSS JOIN LATERAL (
        SELECT CASE WHEN p.again THEN coalesce((SELECT c.bytes FROM checkpoints c WHERE c.run_id = p.run_id LIMIT 1), 0) ELSE 0 END
          + CASE WHEN payload.bytes > ${SMALL_PAYLOAD_BYTES_MAX} THEN payload.bytes ELSE 0 END AS bytes
        FROM (SELECT CASE WHEN p.is_large THEN ${PAYLOAD_BYTES} END AS bytes OFFSET 0) payload OFFSET 0
      ) c
      WHERE c.bytes > 0 WINDOW from_first AS (ORDER BY p.ord, p.lane_at, p.run_id ROWS UNBOUNDED PRECEDING)
    ) s WHERE s.bytes > ${CLAIM_BYTES_MAX} AND s.n > 1 ORDER BY s.ord, s.lane_at, s.run_id LIMIT 1
  ), scanned AS MATERIALIZED (
    SELECT array_agg(found ORDER BY ord) AS found, array_agg(last_at ORDER BY ord) AS last_ats,
      array_agg(last_id ORDER BY ord) AS last_ids, array_agg(next_at ORDER BY ord) AS next_ats
    FROM (
      SELECT lane.*, CASE WHEN lane.found < lane.runs_max AND coalesce(lane.found_so_far, 0) < $11 THEN (
        SELECT due.lane_at FROM due
        WHERE ${inLane('lane')} AND due.lane_at > $3::bigint
        ORDER BY due.lane_at, due.run_id LIMIT 1) END AS next_at
      FROM (
        SELECT lane.*, coalesce(p.found, 0) AS found, p.last_at, p.last_id, sum(p.found) OVER (ORDER BY lane.ord) AS found_so_far
        FROM lane LEFT JOIN (
          -- In the order in which they were picked: there is nothing left to sort.
          SELECT ord, count(*) AS found, max(lane_at) AS last_at, (array_agg(run_id ORDER BY lane_at, run_id))[count(*)] AS last_id
          FROM picked WHERE ${BEFORE_CUT} GROUP BY ord
        ) p ON p.ord = lane.ord
        WHERE EXISTS (SELECT FROM worker)
      ) lane
    ) l
  ), gone AS (
    DELETE FROM due d WHERE d.ctid = ANY(ARRAY(SELECT tid FROM picked WHERE ${BEFORE_CUT}))
    RETURNING d.job_id, d.run_id, d.shard, d.kind, d.attempt, d.crashes, d.ends_job, d.epoch, d.job_version, d.nominal_at,
      d.handler, d.payload, d.timeout_ms, d.admitted, d.fire_at, d.lane_at, d.tenant
  ), taken AS MATERIALIZED (
    SELECT array_agg(run_id) AS run_ids, array_agg(job_id) AS job_ids, array_agg(shard) AS shards, array_agg(kind) AS kinds,
      array_agg(attempt) AS attempts, array_agg(crashes) AS crashes, array_agg(ends_job) AS ends_job,
      array_agg(greatest(epoch, ${FIRST_EPOCH})) AS epochs, array_agg(job_version) AS job_versions, array_agg(nominal_at) AS nominal_ats,
      array_agg(CASE WHEN ${HELD_UP_BY_NOTHING} THEN nominal_at ELSE greatest(fire_at, lane_at) END) AS due_ats,
      -- Or may complete a job that had failed: one that a person asked for.
      bool_or((ends_job AND kind <> 1) OR kind >= 3) AS ends_schedule, bool_or(admitted) AS limited,
      CASE WHEN bool_or(admitted) THEN array_agg(admitted::int) END AS admitted, string_agg(handler, E'\\n') AS handlers,
      string_agg(coalesce(payload, CASE WHEN kind >= 3 THEN (SELECT q.payload FROM run_requests q WHERE q.run_id = t.run_id) END,
        (SELECT j.payload::text FROM jobs j WHERE j.job_id = t.job_id), '{}'), E'\\n') AS payloads,
      array_agg(limit_ms) AS timeouts, min(limit_ms) AS timeout_min, max(limit_ms) AS timeout_max,
      -- Only where requests are signed, or payloads may name secrets: otherwise no job is read for it.
      string_agg(CASE WHEN (handler = 'http' AND (SELECT EXISTS (SELECT FROM signing_keys)))
          OR ((SELECT EXISTS (SELECT FROM secrets)) AND (payload IS NULL OR strpos(payload, '{{secrets.') > 0))
        THEN coalesce((SELECT j.namespace FROM jobs j WHERE j.job_id = t.job_id), '') ELSE '' END, E'\\n') AS namespaces,
      array_agg(run_id) FILTER (WHERE ${MAY_HAVE_CHECKPOINT}) AS again,
      -- NULL where the lanes are of one namespace: whoever asks knows which.
      array_agg(${NAMESPACE_KEY('tenant')}) FILTER (WHERE (SELECT min(${NAMESPACE_KEY('tenant')}) < max(${NAMESPACE_KEY('tenant')}) FROM lane)) AS namespace_keys
    FROM (SELECT *, coalesce(timeout_ms, (SELECT j.timeout_ms FROM jobs j WHERE j.job_id = gone.job_id), 1) AS limit_ms FROM gone) t
  ), resumed AS MATERIALIZED (
    SELECT json_object_agg(c.run_id, c.data) AS checkpoints FROM unnest((SELECT again FROM taken)) AS t(run_id)
    CROSS JOIN LATERAL (SELECT * FROM checkpoints c WHERE c.run_id = t.run_id LIMIT 1) c
  ), lease AS (
    INSERT INTO leases (lease_id, worker_id, claimed_at, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job,
      epochs, job_versions, nominal_ats, ends_schedule, limited, checkpointed, times_out_at, timeouts)
    SELECT $1::uuid, $2::text, $3::bigint, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job, epochs, job_versions,
      nominal_ats, ends_schedule, limited, (SELECT checkpoints FROM resumed) IS NOT NULL, $3::bigint + timeout_min,
      CASE WHEN timeout_min < timeout_max THEN timeouts END
    FROM taken WHERE run_ids IS NOT NULL
  )
  SELECT run_ids::text, CASE WHEN job_ids <> run_ids THEN job_ids::text END, epochs::text, attempts::text, nominal_ats::text,
    CASE WHEN timeout_min < timeout_max THEN timeouts ELSE ARRAY[timeout_min] END::text, admitted::text, handlers, payloads,
    CASE WHEN due_ats <> nominal_ats THEN due_ats::text END, found::text, last_ats::text, last_ids::text, next_ats::text, namespaces,
    (SELECT checkpoints::text FROM resumed), namespace_keys::text, (SELECT true FROM cut)
  FROM taken CROSS JOIN scanned`;

/**
 * The arrays of a lease lie outside its row, and each read of one element would fetch the entire array again: a statement that
 * reads many of them puts these into a materialized expression, where each array is fetched once.
 */
export function unpacked(lease: string, columns: readonly string[]): string {
  return columns.map((column) => `${lease}.${column} || '{}' AS ${column}`).join(', ');
}

/** $1 lease ids, $2 positions: the runs that are still leased there. One row per reference, in order. */
export const LEASED = statement('leased')`
  WITH l AS MATERIALIZED (
    SELECT l.lease_id, l.worker_id, l.claimed_at, l.cancelled, l.closed, ${unpacked('l', ['run_ids', 'job_ids', 'epochs', 'attempts', 'crashes', 'nominal_ats'])}
    FROM leases l WHERE l.lease_id = ANY($1::uuid[])
  )
  SELECT q.ord, l.lease_id, q.position, l.epochs[q.position + 1], l.job_ids[q.position + 1], l.run_ids[q.position + 1],
    l.worker_id, l.attempts[q.position + 1], l.crashes[q.position + 1], l.nominal_ats[q.position + 1], l.claimed_at,
    j.retry::text, coalesce(j.max_retries, 0), q.position = ANY(l.cancelled), coalesce(j.namespace, ''), j.user_id
  FROM unnest($1::uuid[], $2::smallint[]) WITH ORDINALITY AS q(lease_id, position, ord)
  JOIN l ON l.lease_id = q.lease_id
  LEFT JOIN jobs j ON j.job_id = l.job_ids[q.position + 1]
  WHERE NOT (q.position = ANY(l.closed)) AND l.run_ids[q.position + 1] IS NOT NULL`;

/** $1 worker ids. */
export const LEASED_BY = statement('leased_by')`
  SELECT 0, l.lease_id, (u.ord - 1)::smallint, u.epoch, u.job_id, u.run_id, l.worker_id, u.attempt, u.crashes, u.nominal_at,
    l.claimed_at, j.retry::text, coalesce(j.max_retries, 0), (u.ord - 1)::smallint = ANY(l.cancelled),
    coalesce(j.namespace, ''), j.user_id
  FROM leases l
  CROSS JOIN LATERAL unnest(l.epochs, l.job_ids, l.run_ids, l.attempts, l.crashes, l.nominal_ats)
    WITH ORDINALITY AS u(epoch, job_id, run_id, attempt, crashes, nominal_at, ord)
  LEFT JOIN jobs j ON j.job_id = u.job_id
  WHERE l.worker_id = ANY($1::text[]) AND NOT ((u.ord - 1)::smallint = ANY(l.closed))`;

/** $1 latest end of the time limit, $2 limit. Limits are stored one by one only where they differ. */
export const OVERDUE_RUNS = statement('overdue_runs')`
  SELECT 0, l.lease_id, (u.ord - 1)::smallint, u.epoch, u.job_id, u.run_id, l.worker_id, u.attempt, u.crashes, u.nominal_at,
    l.claimed_at, j.retry::text, coalesce(j.max_retries, 0), (u.ord - 1)::smallint = ANY(l.cancelled),
    coalesce(j.namespace, ''), j.user_id, coalesce(u.timeout, l.times_out_at - l.claimed_at)
  FROM leases l
  CROSS JOIN LATERAL unnest(l.epochs, l.job_ids, l.run_ids, l.attempts, l.crashes, l.nominal_ats, l.timeouts)
    WITH ORDINALITY AS u(epoch, job_id, run_id, attempt, crashes, nominal_at, timeout, ord)
  LEFT JOIN jobs j ON j.job_id = u.job_id
  WHERE l.times_out_at < $1::bigint AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
    AND l.claimed_at + coalesce(u.timeout, l.times_out_at - l.claimed_at) < $1::bigint
  ORDER BY l.times_out_at, l.lease_id, u.ord LIMIT $2`;

/** $1 lease ids, $2 positions, $3 epochs, $4 starts, $5 now. */
export const SHOW_RUNNING = statement('show_running')`
  WITH leased AS MATERIALIZED (
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
    FROM (SELECT lease_id, array_agg(position) AS positions FROM leased GROUP BY lease_id) m
    WHERE l.lease_id = m.lease_id
  ), event AS (
    INSERT INTO events (kind, ids, epochs, claimed_ats)
    SELECT 'run.started', array_agg(run_id), array_agg(epoch), array_agg(claimed_at) FROM leased WHERE NOT shown HAVING count(*) > 0
  )
  INSERT INTO job_runs (run_id, job_id, status, start_time, modified_time, executor_id, attempt_number, created_at, epoch,
    trigger, scheduled_at, job_version)
  SELECT run_id, job_id, 'RUNNING', ${timestampOf('started')}, ${timestampOf('$5')}, worker_id, attempt,
    ${timestampOf('claimed_at')}, epoch, kind, ${timestampOf('nominal_at')}, job_version
  FROM leased
  ON CONFLICT (run_id, epoch, created_at) DO UPDATE SET modified_time = excluded.modified_time`;

/** $1 run ids, $2 epochs, $3 claimed at, $4 reports. What repeats the record is no news. */
export const RECORD_LATE = statement('record_late')`
  UPDATE job_runs x SET late_report = q.report
  FROM unnest($1::uuid[], $2::int[], $3::bigint[], $4::text[]) AS q(run_id, epoch, claimed_at, report)
  WHERE x.run_id = q.run_id AND x.epoch = q.epoch AND x.created_at = ${timestampOf('q.claimed_at')}
    AND x.status <> q.report`;

/** $1 run ids, $2 epochs, $3 claimed at, $4 peak memory, $5 CPU seconds: of runs that were settled in the same transaction. */
export const RECORD_USAGE = statement('record_usage')`
  UPDATE job_runs x SET peak_memory_bytes = q.peak_memory_bytes, cpu_seconds = q.cpu_seconds
  FROM unnest($1::uuid[], $2::int[], $3::bigint[], $4::bigint[], $5::float8[])
    AS q(run_id, epoch, claimed_at, peak_memory_bytes, cpu_seconds)
  WHERE x.run_id = q.run_id AND x.epoch = q.epoch AND x.created_at = ${timestampOf('q.claimed_at')}`;

/** $1 run ids. */
/** Of a run that lives; the row stays as it is until the request is made. */
export const IS_CANCEL_REQUESTED = statement('is_cancel_requested')`
  SELECT (u.ord - 1)::smallint = ANY(l.cancelled) FROM leases l CROSS JOIN LATERAL unnest(l.run_ids) WITH ORDINALITY AS u(run_id, ord)
  WHERE u.run_id = $1::uuid AND NOT ((u.ord - 1)::smallint = ANY(l.closed)) FOR UPDATE OF l`;

export const REQUEST_CANCEL = statement('request_cancel')`
  UPDATE leases l SET cancelled = array(
    SELECT DISTINCT p FROM unnest(l.cancelled || array(
      SELECT (u.ord - 1)::smallint FROM unnest(l.run_ids) WITH ORDINALITY AS u(run_id, ord)
      WHERE u.run_id = ANY($1::uuid[]) AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
    )) AS p)
  WHERE EXISTS (SELECT FROM unnest(l.run_ids) WITH ORDINALITY AS u(run_id, ord)
    WHERE u.run_id = ANY($1::uuid[]) AND NOT ((u.ord - 1)::smallint = ANY(l.closed)))
  RETURNING l.lease_id`;
