/** Statements that settle: they record what workers reported, and plan what follows. */
import { statement } from '../../postgres/database.ts';
import { exists, inlineJson, mayEnd } from './fragments.sql.ts';
import { JOB_HANDLER_KEY, JOB_PART, JOB_TENANT, OPEN, PLANNED, WAITING } from './lane.sql.ts';
import { unpacked } from './lease.sql.ts';

/** Whether runs of the job wait for a slot. */
const isWaitedFor = (jobId: string) =>
  exists(`SELECT FROM due w WHERE w.job_id = ${jobId} AND w.blocked = ${WAITING} AND w.blocked > 0`);

const at = (ms: string) => `to_timestamp(${ms}::bigint::float8 / 1000)`;

const INTO_HISTORY = `INSERT INTO job_runs AS h (run_id, job_id, status, start_time, end_time, modified_time, executor_id, attempt_number,
        error_message, created_at, epoch, trigger, scheduled_at, job_version, result_text)`;
/** Of a run in `live`. */
const ENDED_RUN = (
  now: string,
) => `SELECT run_id, job_id, CASE WHEN cancelled THEN 'CANCELLED' ELSE status END, ${at('started')}, ${at('ended')},
        ${at(now)}, worker_id, attempt, error, ${at('claimed_at')}, epoch, kind, ${at('nominal_at')}, job_version, result
      FROM live`;

/**
 * `live`: the runs of `reported` that are settled. cancelled (LEASE-7): by request, or because the job was cancelled before the retry was
 * planned. `retried` reads from the job what the next attempt needs: once, by key, however many there are.
 */
const LIVE = `retried AS MATERIALIZED (
      -- Locked, so that a pause or cancel either is seen here or sees what is queued here.
      SELECT x.*, j.status AS job_status, j.version, j.priority, j.timeout_ms, j.start_timeout_ms, j.handler, ${JOB_TENANT} AS tenant,
        ${JOB_HANDLER_KEY} AS handler_key, ${JOB_PART} AS part, CASE WHEN x.kind < 3 THEN ${inlineJson('j.payload')} END AS payload
      FROM reported x JOIN jobs j ON j.job_id = x.job_id WHERE x.next_at IS NOT NULL FOR SHARE OF j
    ), live AS MATERIALIZED (
      SELECT *, cancel_requested OR job_status = 'CANCELLED' AS cancelled FROM retried
      UNION ALL
      SELECT x.*, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, cancel_requested OR next_at IS NOT NULL FROM reported x
      WHERE x.next_at IS NULL OR x.job_id NOT IN (SELECT job_id FROM retried)
    )`;

/** An interruption that is not the run's fault costs neither an attempt nor the position in the lane. */
const TURN_AT = (now: string) =>
  `CASE WHEN x.next_attempt = x.attempt AND x.next_at <= ${now}::bigint THEN least(x.nominal_at, x.next_at) ELSE x.next_at END`;

/** The next attempt has the next epoch (LEASE-2). What follows from the runs in `live`, given the slots that were `freed`: next attempts, dead letters, ends of jobs. */
const FOLLOWS = (now: string) => `again AS (
      -- The only run of a one-off goes straight into its lane; others are planned and admitted again. Decided by the lease, which is
      -- locked and so up to date: an admission that was made while this statement waited is not visible here.
      INSERT INTO due AS d (run_id, job_id, fire_at, lane_at, nominal_at, tenant, expires_at, timeout_ms, handler_key, epoch,
        job_version, shard, part, priority, kind, attempt, crashes, blocked, ends_job, held, handler, payload)
      SELECT x.run_id, x.job_id, x.next_at, ${TURN_AT(now)}, x.nominal_at, x.tenant, x.next_at + x.start_timeout_ms, x.timeout_ms,
        x.handler_key, x.epoch + 1, x.version, x.shard, x.part, x.priority, x.kind, x.next_attempt, x.next_crashes,
        CASE WHEN x.kind = 1 AND NOT x.limited THEN ${OPEN} ELSE ${PLANNED} END,
        x.ends_job, x.job_status = 'PAUSED' AND x.kind < 3, x.handler, x.payload
      FROM live x WHERE x.next_at IS NOT NULL AND NOT x.cancelled
      RETURNING d.shard, d.part, d.priority, d.handler_key, d.tenant,
        CASE WHEN d.blocked = ${OPEN} THEN d.lane_at ELSE d.fire_at END AS at, d.blocked, d.held
    ), letters AS (
      INSERT INTO dead_letters (run_id, job_id, reason, error_message, attempts, scheduled_at, died_at)
      SELECT run_id, job_id, dead, error, attempt, ${at('nominal_at')}, ${at(now)}
      FROM live WHERE dead IS NOT NULL AND NOT cancelled
      ON CONFLICT (run_id) DO NOTHING
    ), ended AS (
      UPDATE jobs j SET updated_at = ${at(now)}, version = j.version + 1, status = CASE
        WHEN x.kind <> 1 THEN 'COMPLETED' WHEN x.cancelled OR x.status = 'CANCELLED' THEN 'CANCELLED'
        WHEN x.status = 'SUCCESS' THEN 'COMPLETED' ELSE 'FAILED' END
      FROM live x
      WHERE j.job_id = x.job_id AND x.ends_job AND (x.kind <> 1 OR x.cancelled OR x.status <> 'SUCCESS')
        AND (x.next_at IS NULL OR x.cancelled) AND ${mayEnd()}
        -- Nor while the pause holds a retry that this statement queues.
        AND NOT (j.status = 'PAUSED' AND EXISTS (SELECT FROM live y
          WHERE y.job_id = j.job_id AND y.next_at IS NOT NULL AND NOT y.cancelled AND y.kind < 3))
        AND (j.version = x.job_version OR NOT (${exists('SELECT FROM due p WHERE p.job_id = x.job_id AND p.kind = 1')}
          OR ${exists('SELECT FROM cursors c WHERE c.job_id = x.job_id')}))
    )`;

/** In the last column of a row of SETTLE: a run that a person asked for, and that succeeded. No state of a pending run has this number. */
export const ASKED_FOR = 9;

/** One row of events for all settled runs, as arrays. What was to be counted counts only if all of it happened as it was told. */
const INTO_EVENTS = `INSERT INTO events (kind, ids, epochs, claimed_ats, next_ats, dead_reasons, counted)
      SELECT 'run.ended', array_agg(run_id), array_agg(epoch), array_agg(claimed_at),
        CASE WHEN bool_or(next_at IS NOT NULL) THEN array_agg(CASE WHEN NOT cancelled THEN next_at END) END,
        CASE WHEN bool_or(dead IS NOT NULL) THEN array_agg(CASE WHEN NOT cancelled THEN dead END) END,
        CASE WHEN count(*) = (SELECT sum(r.reported) FROM r) AND NOT bool_or(cancelled) THEN $14::text END
      FROM live HAVING count(*) > 0`;

/** Rows after those of the leases: jobs with a free slot that runs wait for, and runs that are tried again. */
const BECAME_POSSIBLE = `
    UNION ALL
    SELECT DISTINCT NULL::uuid, NULL::smallint[], NULL::smallint[], f.job_id, NULL::smallint, NULL::smallint, NULL::smallint, NULL::int,
      NULL::bigint, NULL::bigint, NULL::smallint
    FROM freed f WHERE ${isWaitedFor('f.job_id')}
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, a.shard, a.part, a.priority, a.handler_key, a.tenant, a.at, a.blocked FROM again a WHERE NOT a.held`;
const NO_NEWS = `NULL::uuid, NULL::smallint, NULL::smallint, NULL::smallint, NULL::int, NULL::bigint, NULL::bigint, NULL::smallint`;

/**
 * Takes reported runs out of their leases (LEASE-1) and writes what follows. One row of parameters per lease; in $3…$12 each element
 * is an array literal over all positions of that lease, NULL where the position is not reported: so nothing has to be
 * joined per run. $1 lease ids, $2 reported counts, $3 epochs, $4 statuses, $5 starts, $6 ends, $7 errors, $8 results,
 * $9 next attempt instants, $10 next attempts, $11 next crashes, $12 dead reasons, $13 now, $14 what is counted of them, or NULL.
 */
export const SETTLE = statement('settle')`
  WITH r AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
      $9::text[], $10::text[], $11::text[], $12::text[])
      AS r(lease_id, reported, epochs, statuses, starts, ends, errors, results, next_ats, next_attempts, next_crashes, deads)
  ), locked AS MATERIALIZED (
    SELECT l.* FROM leases l WHERE l.lease_id = ANY($1::uuid[]) ORDER BY l.lease_id FOR UPDATE
  ), reported AS MATERIALIZED (
    SELECT l.lease_id, l.worker_id, l.claimed_at, l.limited, l.checkpointed, (u.ord - 1)::smallint AS position, u.*,
      (u.ord - 1)::smallint = ANY(l.cancelled) AS cancel_requested, (u.ord - 1)::smallint = ANY(l.shown) AS shown
    FROM r JOIN locked l ON l.lease_id = r.lease_id
    CROSS JOIN LATERAL unnest(l.run_ids, l.job_ids, l.kinds, l.attempts, l.ends_job, l.epochs, l.job_versions, l.nominal_ats,
      l.shards, r.epochs::int[], r.statuses::text[], r.starts::bigint[], r.ends::bigint[], r.errors::text[], r.results::text[],
      r.next_ats::bigint[], r.next_attempts::smallint[], r.next_crashes::smallint[], r.deads::text[])
      WITH ORDINALITY AS u(run_id, job_id, kind, attempt, ends_job, epoch, job_version, nominal_at, shard, said_epoch, status,
        started, ended, error, result, next_at, next_attempt, next_crashes, dead, ord)
    WHERE u.status IS NOT NULL AND u.said_epoch = u.epoch AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
  ), ${LIVE}, done AS MATERIALIZED (
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
    ${INTO_HISTORY}
    ${ENDED_RUN('$13')} WHERE NOT shown
  ), shown_history AS (
    -- An upsert and not an update: the row may have been written after this statement began, while it waited for the lease.
    ${INTO_HISTORY}
    ${ENDED_RUN('$13')} WHERE shown
    ON CONFLICT (run_id, epoch, created_at) DO UPDATE SET status = excluded.status,
      start_time = coalesce(excluded.start_time, h.start_time), end_time = excluded.end_time,
      modified_time = excluded.modified_time, error_message = excluded.error_message, result_text = excluded.result_text
  ), freed AS (
    DELETE FROM admissions a USING live x WHERE a.job_id = x.job_id AND a.run_id = x.run_id RETURNING a.job_id, a.run_id
  ), forgotten AS (
    -- What a save that waited for the lease adds after this statement began is left to housekeeping.
    DELETE FROM checkpoints c WHERE c.run_id = ANY(ARRAY(
      SELECT x.run_id FROM live x WHERE x.checkpointed AND (x.cancelled OR x.status IN ('SUCCESS', 'CANCELLED'))))
  ), ${FOLLOWS('$13')}, event AS (
    ${INTO_EVENTS}
  )
  SELECT d.lease_id, d.cancelled, CASE WHEN d.count <> r.reported THEN d.positions END, ${NO_NEWS}
  FROM done d JOIN r ON r.lease_id = d.lease_id ${BECAME_POSSIBLE}
  UNION ALL
  SELECT x.run_id, NULL, NULL, x.job_id, NULL, NULL, NULL, NULL, NULL, NULL, ${ASKED_FOR}
  FROM live x WHERE x.kind >= 3 AND x.status = 'SUCCESS' AND NOT x.cancelled`;

/**
 * $1 jobs, each once, $2 the run of each that a person asked for and that succeeded, $3 now. A one-off that had failed is thereby
 * completed, and what lies of it among the dead letters is done with. A statement of its own after SETTLE: it also sees a failure that
 * was settled in the same call.
 */
export const RECOVER_JOBS = statement('recover_jobs')`
  WITH recovered AS (
    UPDATE jobs j SET status = 'COMPLETED', version = j.version + 1, updated_at = ${at('$3')}
    FROM unnest($1::uuid[], $2::uuid[]) AS s(job_id, run_id)
    WHERE j.job_id = s.job_id AND j.status = 'FAILED'
    RETURNING j.job_id, s.run_id
  )
  UPDATE dead_letters x SET resolved_by = r.run_id FROM recovered r
  WHERE x.job_id = r.job_id AND x.redriven_as IS NULL AND x.resolved_by IS NULL`;

/** No JSON text holds a control character: between the runs of a lease stands a line feed, between leases this one. */
export const LEASE_SEPARATOR = '\u001e';
const LEASE_BREAK = `E'\\x1e'`;

/**
 * A lease that has changed since it was handed out, or with a run whose success may change its job, is left alone and not returned;
 * SETTLE takes it.
 */
const IS_UNTOUCHED = `l.epochs = r.epochs::int[] AND l.closed = '{}' AND l.cancelled = '{}' AND l.shown = '{}' AND NOT l.ends_schedule
      AND NOT l.checkpointed`;

const FREED = `DELETE FROM admissions a
      USING (SELECT unnest(g.job_ids) AS job_id, unnest(g.run_ids) AS run_id FROM gone g WHERE g.limited) x
      WHERE a.job_id = x.job_id AND a.run_id = x.run_id RETURNING a.job_id, a.run_id`;

/**
 * The common case of SETTLE, at half its cost: leases of which every run succeeded, without results. $1 lease ids,
 * $2 epochs, $3 starts, $4 ends (an array literal per lease), $5 now, $6 what is counted of each lease.
 */
export const SETTLE_ALL_SUCCEEDED = statement('settle_all_succeeded')`
  WITH gone AS (
    DELETE FROM leases l
    USING unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $6::text[]) AS r(lease_id, epochs, starts, ends, counted)
    WHERE l.lease_id = r.lease_id AND ${IS_UNTOUCHED}
    RETURNING l.*, r.starts, r.ends, r.counted
  ), history AS (
    INSERT INTO job_runs (run_id, job_id, status, start_time, end_time, modified_time, executor_id, attempt_number,
      created_at, epoch, trigger, scheduled_at, job_version)
    SELECT u.run_id, u.job_id, 'SUCCESS', ${at('u.started')}, ${at('u.ended')}, ${at('$5')}, g.worker_id, u.attempt,
      ${at('g.claimed_at')}, u.epoch, u.kind, ${at('u.nominal_at')}, u.job_version
    FROM gone g CROSS JOIN LATERAL unnest(g.run_ids, g.job_ids, g.kinds, g.attempts, g.epochs, g.job_versions, g.nominal_ats,
      g.starts::bigint[], g.ends::bigint[]) AS u(run_id, job_id, kind, attempt, epoch, job_version, nominal_at, started, ended)
  ), freed AS (
    ${FREED}
  ), event AS (
    -- The lease's own arrays, as they are: a row per lease costs the runs in it nothing.
    INSERT INTO events (kind, ids, epochs, claimed_ats, counted)
    SELECT 'run.ended', run_ids, epochs, ARRAY[claimed_at], counted FROM gone
  )
  SELECT lease_id, NULL::smallint[], NULL::smallint[], ${NO_NEWS} FROM gone
  UNION ALL
  SELECT DISTINCT NULL::uuid, NULL::smallint[], NULL::smallint[], f.job_id, NULL::smallint, NULL::smallint, NULL::smallint, NULL::int,
    NULL::bigint, NULL::bigint, NULL::smallint
  FROM freed f WHERE ${isWaitedFor('f.job_id')}`;

/** An array over the positions of a lease, NULL where the run was cancelled. */
const spared = (array: string) => `(
          SELECT array_agg(CASE WHEN NOT ((u.ord - 1)::smallint = ANY(c.positions)) THEN u.value END ORDER BY u.ord)
          FROM unnest(${array}) WITH ORDINALITY AS u(value, ord))`;

/**
 * The same for leases of which some runs failed or have results. Successes travel as arrays and one line of result each; all other
 * runs travel one by one, and their positions in $3 and $4 are NULL. $1 lease ids, $2 epochs, $3 starts, $4 ends, $5 results (a line
 * for each run, empty where there is none; a break between leases); per run that is not a success: $6 lease id, $7 position, $8 status,
 * $9 start, $10 end, $11 error, $12 result, $13 next attempt instant, $14 next attempt, $15 next crashes, $16 dead reason; $17 now. Again per
 * lease, as arrays over all its positions, and NULL where it has none: $18 next attempt instants, $19 dead reasons, $20 what is counted.
 */
export const SETTLE_MIXED = statement('settle_mixed')`
  WITH taken AS (
    DELETE FROM leases l
    USING unnest($1::uuid[], $2::text[], $3::text[], $4::text[], string_to_array($5::text, ${LEASE_BREAK}),
      $18::text[], $19::text[], $20::text[]) AS r(lease_id, epochs, starts, ends, results, next_ats, deads, counted)
    WHERE l.lease_id = r.lease_id AND ${IS_UNTOUCHED}
    RETURNING l.*, r.starts, r.ends, r.results, r.next_ats, r.deads, r.counted
  ), gone AS MATERIALIZED (
    SELECT g.lease_id, g.worker_id, g.claimed_at, g.limited, g.starts::bigint[] AS starts, g.ends::bigint[] AS ends, g.results,
      g.next_ats::bigint[] AS next_ats, g.deads::text[] AS deads, g.counted,
      ${unpacked('g', ['run_ids', 'job_ids', 'kinds', 'attempts', 'ends_job', 'epochs', 'job_versions', 'nominal_ats', 'shards'])}
    FROM taken g
  ), reported AS MATERIALIZED (
    SELECT g.lease_id, g.worker_id, g.claimed_at, g.limited, f.position, g.run_ids[f.position + 1] AS run_id, g.job_ids[f.position + 1] AS job_id,
      g.kinds[f.position + 1] AS kind, g.attempts[f.position + 1] AS attempt, g.ends_job[f.position + 1] AS ends_job,
      g.epochs[f.position + 1] AS epoch, g.job_versions[f.position + 1] AS job_version,
      g.nominal_ats[f.position + 1] AS nominal_at, g.shards[f.position + 1] AS shard, f.status, f.started, f.ended, f.error,
      f.result, f.next_at, f.next_attempt, f.next_crashes, f.dead, false AS cancel_requested
    FROM unnest($6::uuid[], $7::smallint[], $8::text[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::bigint[],
      $14::smallint[], $15::smallint[], $16::text[])
      AS f(lease_id, position, status, started, ended, error, result, next_at, next_attempt, next_crashes, dead)
    JOIN gone g ON g.lease_id = f.lease_id
  ), ${LIVE}, cancelled AS MATERIALIZED (
    SELECT lease_id, array_agg(position) AS positions FROM live WHERE cancelled GROUP BY lease_id
  ), history AS (
    ${INTO_HISTORY}
    SELECT u.run_id, u.job_id, 'SUCCESS', ${at('u.started')}, ${at('u.ended')}, ${at('$17')}, g.worker_id, u.attempt, NULL,
      ${at('g.claimed_at')}, u.epoch, u.kind, ${at('u.nominal_at')}, u.job_version, nullif(u.result, '')
    FROM gone g CROSS JOIN LATERAL ROWS FROM (unnest(g.run_ids), unnest(g.job_ids), unnest(g.kinds), unnest(g.attempts),
        unnest(g.epochs), unnest(g.job_versions), unnest(g.nominal_ats), unnest(g.starts), unnest(g.ends),
        string_to_table(g.results, E'\\n'))
      AS u(run_id, job_id, kind, attempt, epoch, job_version, nominal_at, started, ended, result)
    WHERE u.ended IS NOT NULL
  ), other_history AS (
    ${INTO_HISTORY}
    ${ENDED_RUN('$17')}
  ), freed AS (
    ${FREED}
  ), ${FOLLOWS('$17')}, event AS (
    -- The lease's own arrays, as they are, unless something was cancelled after it was reported.
    INSERT INTO events (kind, ids, epochs, claimed_ats, next_ats, dead_reasons, counted)
    SELECT 'run.ended', g.run_ids, g.epochs, ARRAY[g.claimed_at],
      CASE WHEN c.positions IS NULL THEN g.next_ats ELSE ${spared('g.next_ats')} END,
      CASE WHEN c.positions IS NULL THEN g.deads ELSE ${spared('g.deads')} END,
      CASE WHEN c.positions IS NULL THEN g.counted END
    FROM gone g LEFT JOIN cancelled c ON c.lease_id = g.lease_id
  )
  SELECT g.lease_id, c.positions, NULL::smallint[], ${NO_NEWS}
  FROM gone g LEFT JOIN cancelled c ON c.lease_id = g.lease_id ${BECAME_POSSIBLE}`;

/**
 * $1 lease ids, $2 positions, $3 whether it did not succeed. Locks the jobs that these runs may end, or complete after all, before they are settled and in
 * the same transaction: a pause or an edit that is under way either comes first, and what it holds back or plans is seen, or waits.
 */
export const LOCK_ENDING_JOBS = statement('lock_ending_jobs')`
  WITH l AS MATERIALIZED (
    SELECT l.lease_id, ${unpacked('l', ['job_ids', 'ends_job', 'kinds'])} FROM leases l WHERE l.lease_id = ANY($1::uuid[])
  ), ending AS MATERIALIZED (
    SELECT l.job_ids[q.position + 1] AS job_id, bool_or(l.ends_job[q.position + 1]) AS ends
    FROM unnest($1::uuid[], $2::smallint[], $3::boolean[]) AS q(lease_id, position, failed)
    JOIN l ON l.lease_id = q.lease_id
    WHERE (l.ends_job[q.position + 1] AND (l.kinds[q.position + 1] <> 1 OR q.failed)) OR (l.kinds[q.position + 1] >= 3 AND NOT q.failed)
    GROUP BY 1
  )
  SELECT FROM ending e JOIN jobs j ON j.job_id = e.job_id WHERE e.ends OR j.status = 'FAILED'
  ORDER BY j.job_id FOR UPDATE OF j`;

/** $1 job ids. Asked after a settlement waited too long. A job that can be locked as SETTLE and LOCK_ENDING_JOBS do is not locked. */
export const LOCKED_JOBS = statement('locked_jobs')`
  WITH free AS MATERIALIZED (
    SELECT job_id FROM jobs WHERE job_id = ANY($1::uuid[]) FOR UPDATE SKIP LOCKED
  )
  SELECT job_id FROM jobs WHERE job_id = ANY($1::uuid[]) AND job_id NOT IN (SELECT job_id FROM free)`;
