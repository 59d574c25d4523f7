/** Statements of the schedule store: firing, and who may start as far as the limits of jobs go. */
import { QUEUED_PER_JOB_MAX, RUN_ERRORS } from '@carillon/domain';
import { type Statement, statement } from '../../postgres/database.ts';
import { exists, inlineJson, isOwned, mayEnd, owned } from './fragments.sql.ts';
import {
  inLane,
  isOfNamespace,
  JOB_HANDLER_KEY,
  JOB_PART,
  JOB_TENANT,
  lanes,
  OPEN,
  PLANNED,
  servesTenant,
  WAITING,
} from './lane.sql.ts';

/** $1 shards, $2 after instant, $3 after id, $4 until, $5 limit per shard: from a known position, so no deleted row is walked over. */
const fromPositions = (rows: string) => `
  FROM unnest($1::smallint[], $2::bigint[], $3::uuid[]) AS s(shard, after_at, after_id) CROSS JOIN LATERAL (${rows}) d`;

export const READ_CURSORS = statement('read_cursors')`
  SELECT d.job_id, d.shard, d.fire_at, d.nominal_at, d.job_version, j.schedule::text, j.misfire::text, d.resumed_at, j.skips::text
  ${fromPositions(`SELECT * FROM cursors c
    WHERE c.shard = s.shard AND NOT c.held AND (c.fire_at, c.job_id) > (s.after_at, s.after_id) AND c.fire_at <= $4
    ORDER BY c.fire_at, c.job_id LIMIT $5`)}
  CROSS JOIN LATERAL (SELECT j.schedule, j.misfire, j.skips FROM jobs j WHERE j.job_id = d.job_id LIMIT 1) j
  ORDER BY d.fire_at, d.job_id`;

export const READ_PLANNED = statement('read_planned')`
  SELECT d.job_id, d.run_id, d.shard, d.fire_at
  ${fromPositions(`SELECT * FROM due
    WHERE due.shard = s.shard AND due.blocked = ${PLANNED} AND NOT due.held
      AND (due.fire_at, due.run_id) > (s.after_at, s.after_id) AND due.fire_at <= $4
    ORDER BY due.fire_at, due.run_id LIMIT $5`)}
  ORDER BY d.fire_at, d.run_id`;

/** How many more runs of the job j may be open or leased; slots above a lowered limit count too. */
const ROOM = `greatest(0, j.max_concurrency - (SELECT count(*) FROM admissions a WHERE a.job_id = j.job_id))`;

/** The lowest free slots of the job j. */
const freeSlots = (limit: string) => `SELECT p.slot FROM generate_series(1, j.max_concurrency) AS p(slot)
      WHERE p.slot NOT IN (SELECT a.slot FROM admissions a WHERE a.job_id = j.job_id) LIMIT ${limit}`;

const NOW = (now: string) => `to_timestamp(${now}::bigint::float8 / 1000)`;

/** Runs of the job j that wait for a slot, counted up to the bound. */
const QUEUED = `(SELECT count(*) FROM (SELECT FROM due d WHERE d.job_id = j.job_id AND d.blocked > 0
          AND (d.blocked = ${WAITING} OR d.fire_at <= $12::bigint) LIMIT ${QUEUED_PER_JOB_MAX}) d)`;

/**
 * Fires cursors: compare-and-set on (nominal instant, job version), and everything that follows, in one statement (SCHED-1). Cursors
 * are found by key: `held` is spelled so that no plan walks the index of instants. A run gets a slot of its job, waits, or is
 * skipped; of two that insert the same slot into admissions the second gets none (SCHED-2). No two parts are joined: the planner
 * estimates one row for each, and would compare every cursor with every other. The runs of a cursor are a slice of an array, and
 * membership is tested by IN within an expression, which is a hash lookup.
 * $1 job_id, $2 shard, $3 nominal_at, $4 job_version, $5 next nominal_at, $6 next fire_at, $7 number of runs, $8 runs of the
 * cursors before, $9 last nominal fired; per run: $10 run_id, $11 nominal_at; $12 now; guard: $13 node, $14 epochs.
 */
const fire = (
  name: string,
  parts: { only: string; ended: string; otherwise: string; verdicts: string },
): Statement => ({
  name,
  text: `
    WITH ${owned('$13', '$14')}, mine AS MATERIALIZED (
      -- A cursor that another transaction changes delays no other cursor.
      SELECT f.*, j.overlap, ${QUEUED} AS queued, ${ROOM} AS room
      FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::int[], $5::bigint[], $6::bigint[], $7::int[], $8::int[], $9::bigint[])
        AS f(job_id, shard, nominal_at, job_version, next_nominal_at, next_fire_at, run_count, runs_before, last_nominal_at)
      JOIN cursors c ON c.job_id = f.job_id JOIN jobs j ON j.job_id = f.job_id
      WHERE ${isOwned('f.shard')} FOR UPDATE OF c SKIP LOCKED
    ), moved AS (
      UPDATE cursors c SET nominal_at = f.next_nominal_at, fire_at = f.next_fire_at, resumed_at = NULL,
        last_nominal_at = coalesce(f.last_nominal_at, c.last_nominal_at)
      FROM mine f
      WHERE c.job_id = f.job_id AND c.held IS NOT TRUE AND c.nominal_at = f.nominal_at AND c.job_version = f.job_version
        AND f.next_fire_at IS NOT NULL ${parts.only}
      RETURNING c.job_id, NULL::bigint AS fired_at, false AS ended, f.run_count, f.runs_before, f.queued, f.room
    )${parts.ended}, job AS MATERIALIZED (
      SELECT j.*, w.ended, w.fired_at, w.run_count, w.runs_before, w.queued, w.room, ${JOB_HANDLER_KEY} AS handler_key,
        ${JOB_TENANT} AS tenant
      FROM won w JOIN jobs j ON j.job_id = w.job_id
    ), admitted AS (
      -- SCHED-3: while others wait, none is taken here; ADMIT opens them in order.
      INSERT INTO admissions (job_id, slot, run_id, shard)
      SELECT j.job_id, p.slot, ($10::uuid[])[j.runs_before + p.nth], j.shard
      FROM job j CROSS JOIN LATERAL (
        SELECT p.slot, row_number() OVER (ORDER BY p.slot) AS nth FROM (${freeSlots('least(j.run_count, j.room)')}) p
      ) p WHERE j.queued = 0
      ON CONFLICT DO NOTHING RETURNING run_id
    ), run AS MATERIALIZED (
      -- One row without a run for a job that has none.
      SELECT j.*, n.nth, ($10::uuid[])[j.runs_before + n.nth] AS run_id, ($11::bigint[])[j.runs_before + n.nth] AS nominal_at,
        n.nth = j.run_count AND j.ended AS ends_job
      FROM job j LEFT JOIN LATERAL generate_series(1, j.run_count) AS n(nth) ON true
    ), judged AS MATERIALIZED (
      SELECT j.*, CASE WHEN j.run_id IS NULL THEN NULL WHEN j.run_id IN (SELECT run_id FROM admitted) THEN ${OPEN}
        ${parts.otherwise} ELSE ${WAITING} END AS blocked
      FROM run j
    ), queued AS (
      INSERT INTO due (run_id, job_id, fire_at, lane_at, nominal_at, tenant, expires_at, timeout_ms, handler_key, job_version, shard,
        part, priority, kind, blocked, admitted, ends_job, handler, payload)
      SELECT j.run_id, j.job_id, $12, $12, j.nominal_at, j.tenant, $12::bigint + j.start_timeout_ms, j.timeout_ms, j.handler_key,
        j.version, j.shard, ${JOB_PART}, j.priority, 2, j.blocked, j.blocked = ${OPEN}, j.ends_job, j.handler, ${inlineJson('j.payload')}
      FROM judged j WHERE j.blocked >= 0
      -- The same occurrence again, after the clock was set back: it is pending already.
      ON CONFLICT DO NOTHING
    )${parts.verdicts}
    SELECT j.job_id, ${JOB_PART}, j.priority, j.handler_key, j.tenant, bool_or(j.blocked = ${OPEN}), bool_or(j.blocked = ${WAITING}),
      j.overlap = 'replace', count(*) FILTER (WHERE j.blocked < 0)::int
    FROM judged j GROUP BY j.job_id, j.shard, j.priority, j.handler_key, j.tenant, j.overlap`,
});

/**
 * Schedules that go on, with nothing to skip: nearly all. It writes nothing into the history, so it never waits for a lock on that;
 * cursors it cannot decide are left to FIRE.
 */
export const FIRE_PLAIN: Statement = fire('fire_plain', {
  only: `AND f.queued + f.run_count <= ${QUEUED_PER_JOB_MAX} AND (f.overlap <> 'skip' OR (f.room >= f.run_count AND f.queued = 0))`,
  ended: `, won AS MATERIALIZED (SELECT * FROM moved)`,
  otherwise: '',
  verdicts: '',
});

/** All of them. Per skipped range: $15 job_id, $16 run_id, $17 job version, $18 from, $19 count, $20 reason. */
export const FIRE: Statement = fire('fire', {
  only: '',
  ended: `, ended AS (
      DELETE FROM cursors c USING mine f
      WHERE c.job_id = f.job_id AND c.held IS NOT TRUE AND c.nominal_at = f.nominal_at AND c.job_version = f.job_version
        AND f.next_fire_at IS NULL
      RETURNING c.job_id, coalesce(f.last_nominal_at, c.last_nominal_at) AS fired_at, true AS ended, f.run_count, f.runs_before,
        f.queued, f.room
    ), won AS MATERIALIZED (
      SELECT * FROM moved UNION ALL SELECT * FROM ended
    )`,
  otherwise: `WHEN j.overlap = 'skip' AND (j.room = 0 OR (j.queued = 0 AND j.nth > j.room)) THEN -1 WHEN j.queued + j.nth > ${QUEUED_PER_JOB_MAX} THEN -2`,
  verdicts: `, skipped AS (
      INSERT INTO job_runs (run_id, job_id, status, end_time, modified_time, attempt_number, created_at, epoch, trigger, scheduled_at,
        job_version, occurrences, reason)
      SELECT j.run_id, j.job_id, 'SKIPPED', ${NOW('$12')}, ${NOW('$12')}, 1, ${NOW('$12')}, 1, 2, ${NOW('j.nominal_at')}, j.version, 1,
        CASE j.blocked WHEN -1 THEN 'overlap' ELSE 'queue_full' END
      FROM judged j WHERE j.blocked < 0
      UNION ALL
      -- Epoch 0: nothing of it could ever be handed out.
      SELECT s.run_id, s.job_id, 'SKIPPED', NULL, ${NOW('$12')}, 1, ${NOW('$12')}, 0, 2, ${NOW('s.from_at')}, s.job_version, s.count, s.reason
      FROM unnest($15::uuid[], $16::uuid[], $17::int[], $18::bigint[], $19::int[], $20::text[])
        AS s(job_id, run_id, job_version, from_at, count, reason)
      WHERE (s.job_id IN (SELECT job_id FROM won)) IS TRUE
      RETURNING run_id, epoch
    ), event AS (
      INSERT INTO events (kind, ids, epochs, claimed_ats)
      SELECT 'run.ended', array_agg(run_id), array_agg(epoch), ARRAY[$12::bigint] FROM skipped HAVING count(*) > 0
    ), finished AS (
      -- The job keeps what its cursor knew of the past; and it ends with its schedule, if nothing of that is left to run.
      UPDATE jobs j SET (last_nominal_at, status, version, updated_at) = (
        SELECT coalesce(w.fired_at, j.last_nominal_at), CASE WHEN x.ends THEN 'COMPLETED' ELSE j.status END, j.version + x.ends::int,
          CASE WHEN x.ends THEN ${NOW('$12')} ELSE j.updated_at END
        FROM (SELECT ${mayEnd()} AND (w.run_count = 0
          OR w.job_id IN (SELECT g.job_id FROM judged g WHERE g.ends_job AND g.blocked < 0)) AS ends) x)
      FROM job w WHERE j.job_id = w.job_id AND w.ended
    )`,
});

/** The planned or the waiting runs of the job j, in the order of their index. */
const blockedOf = (blocked: number) =>
  `SELECT w.run_id, w.fire_at, w.nominal_at FROM due w
          WHERE w.job_id = j.job_id AND w.blocked = ${blocked} AND w.blocked > 0 AND NOT w.held`;
const OLDEST_FIRST = 'ORDER BY w.fire_at, w.nominal_at, w.run_id';
const PLANNED_NOW = `${blockedOf(PLANNED)} AND w.fire_at <= $4::bigint`;

/**
 * $1 jobs; guard: $2 node, $3 epochs; $4 now, $5 runs of each job at most. Opens planned and waiting runs, the oldest first, as far as
 * there are free slots (SCHED-2); planned runs that find none are waiting from now on. A run that another transaction changes is left
 * for the next call. As in FIRE, no two parts are joined: a run gets the slot that has its number.
 */
export const ADMIT = statement('admit')`
  WITH ${owned('$2', '$3')}, job AS MATERIALIZED (
    SELECT j.job_id, j.shard, j.overlap, ARRAY(${freeSlots(`least(${ROOM}, $5::int)`)}) AS slots
    FROM unnest($1::uuid[]) AS u(job_id) CROSS JOIN LATERAL (SELECT j.* FROM jobs j WHERE j.job_id = u.job_id LIMIT 1) j
    WHERE ${isOwned('j.shard')}
  ), wanting AS MATERIALIZED (
    SELECT j.job_id, j.shard, d.run_id, j.slots[d.nth] AS slot FROM job j CROSS JOIN LATERAL (
      SELECT d.run_id, row_number() OVER (ORDER BY d.fire_at, d.nominal_at, d.run_id) AS nth FROM (
        SELECT d.run_id, d.fire_at, d.nominal_at FROM due d
        WHERE d.job_id = j.job_id AND d.run_id = ANY(ARRAY(
          SELECT w.run_id FROM (
            (${blockedOf(WAITING)} ${OLDEST_FIRST} LIMIT cardinality(j.slots)) UNION ALL (${PLANNED_NOW} ${OLDEST_FIRST} LIMIT cardinality(j.slots))
          ) w ${OLDEST_FIRST} LIMIT cardinality(j.slots))) AND d.blocked + 0 > 0 AND d.held IS NOT TRUE
        FOR UPDATE SKIP LOCKED
      ) d
    ) d
  ), admitted AS (
    INSERT INTO admissions (job_id, slot, run_id, shard) SELECT w.job_id, w.slot, w.run_id, w.shard FROM wanting w
    ON CONFLICT DO NOTHING RETURNING job_id, run_id
  ), opened AS (
    -- What a person asked for and nothing held up begins its wait for a worker here: fire_at stays behind only where a slot was waited for.
    UPDATE due d SET blocked = ${OPEN}, admitted = true, lane_at = greatest(d.fire_at, $4::bigint),
      fire_at = CASE WHEN d.blocked = ${PLANNED} AND d.kind = 3 AND d.epoch = 1 THEN greatest(d.fire_at, $4::bigint) ELSE d.fire_at END
    FROM admitted a WHERE d.job_id = a.job_id AND d.run_id = a.run_id
    RETURNING d.job_id, d.part, d.priority, d.handler_key, d.tenant
  ), unadmitted AS MATERIALIZED (
    SELECT d.job_id, d.run_id FROM job j CROSS JOIN LATERAL (
      SELECT d.job_id, d.run_id FROM due d
      WHERE d.job_id = j.job_id AND d.run_id = ANY(ARRAY(SELECT w.run_id FROM (${PLANNED_NOW} AND (w.run_id IN (SELECT run_id FROM admitted)) IS NOT TRUE ${OLDEST_FIRST} LIMIT $5::int) w))
        AND d.blocked + 0 = ${PLANNED} AND d.held IS NOT TRUE
      FOR UPDATE SKIP LOCKED
    ) d
  ), asked AS (
    UPDATE due d SET blocked = ${WAITING} FROM unadmitted u WHERE d.job_id = u.job_id AND d.run_id = u.run_id RETURNING d.job_id
  ), counted AS MATERIALIZED (
    SELECT job_id, max(count) >= $5::int AS more, bool_or(is_asked) AS is_asked FROM (
      SELECT job_id, count(*) AS count, false AS is_asked FROM admitted GROUP BY job_id
      UNION ALL SELECT job_id, count(*), true FROM asked GROUP BY job_id
    ) c GROUP BY job_id
  )
  SELECT DISTINCT o.job_id, o.part, o.priority, o.handler_key, o.tenant, true, false, false, 0, false FROM opened o
  UNION ALL
  SELECT c.job_id, NULL, NULL, NULL, NULL, false, false, false, 0, true FROM counted c WHERE c.more
  UNION ALL
  SELECT j.job_id, NULL, NULL, NULL, NULL, false, true, j.overlap = 'replace', 0, false FROM job j
  WHERE j.job_id IN (SELECT job_id FROM counted WHERE is_asked)
    OR EXISTS (SELECT FROM (${blockedOf(WAITING)} ${OLDEST_FIRST} LIMIT cardinality(j.slots) + 1) w
      WHERE w.run_id NOT IN (SELECT run_id FROM admitted))`;

/** An occurrence of the schedule that was never handed out: only those replace others, and are replaced (SCHED-4). */
const FRESH = 'd.kind = 2 AND d.attempt = 1 AND d.epoch = 1';

const NEWEST = `SELECT n.nominal_at FROM due n WHERE n.job_id = j.job_id AND n.kind = 2 AND n.attempt = 1 AND n.epoch = 1
        AND NOT n.held ORDER BY n.nominal_at DESC LIMIT 1`;

/**
 * $1 jobs; guard: $2 node, $3 epochs; $4 now. Occurrences that wait before the newest end as skipped. What a person requested, and
 * what was begun and is tried again, stays.
 */
export const SKIP_REPLACED = statement('skip_replaced')`
  WITH ${owned('$2', '$3')}, gone AS (
    DELETE FROM due d USING jobs j
    WHERE j.job_id = ANY($1::uuid[]) AND j.overlap = 'replace' AND ${isOwned('j.shard')} AND d.job_id = j.job_id AND d.kind = 2
      AND d.attempt = 1 AND d.epoch = 1 AND NOT d.held AND NOT d.ends_job AND d.nominal_at < (${NEWEST})
    RETURNING d.*
  ), freed AS (
    DELETE FROM admissions a USING gone g WHERE a.job_id = g.job_id AND a.run_id = g.run_id
  ), history AS (
    INSERT INTO job_runs (run_id, job_id, status, end_time, modified_time, attempt_number, created_at, epoch, trigger, scheduled_at,
      job_version, reason)
    SELECT run_id, job_id, 'SKIPPED', ${NOW('$4')}, ${NOW('$4')}, attempt, ${NOW('$4')}, epoch, kind, ${NOW('nominal_at')}, job_version,
      'replaced'
    FROM gone
  )
  INSERT INTO events (kind, ids, epochs, claimed_ats)
  SELECT 'run.ended', array_agg(run_id), array_agg(epoch), ARRAY[$4::bigint] FROM gone HAVING count(*) > 0`;

/**
 * $1 jobs; guard: $2 node, $3 epochs. Of those of which a fresh run waits and no slot is free, the run that has lived longest is
 * asked to stop.
 */
export const STOP_OLDEST = statement('stop_oldest')`
  WITH ${owned('$2', '$3')}, j AS MATERIALIZED (
    SELECT j.job_id FROM jobs j WHERE j.job_id = ANY($1::uuid[]) AND j.overlap = 'replace' AND ${isOwned('j.shard')} AND ${ROOM} = 0
      AND ${exists(`SELECT FROM due d WHERE d.job_id = j.job_id AND d.blocked > 0 AND ${FRESH} AND NOT d.held`)}
  ), oldest AS MATERIALIZED (
    SELECT DISTINCT ON (u.job_id) u.job_id, u.run_id, l.lease_id, (u.ord - 1)::smallint AS position
    FROM leases l CROSS JOIN LATERAL unnest(l.job_ids, l.run_ids, l.kinds) WITH ORDINALITY AS u(job_id, run_id, kind, ord)
    WHERE l.limited AND u.kind < 3 AND (u.job_id IN (SELECT job_id FROM j)) IS TRUE AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
    ORDER BY u.job_id, l.claimed_at, u.run_id
  ), asked AS (
    UPDATE leases l SET cancelled = l.cancelled || array(SELECT p FROM unnest(o.positions) AS p WHERE NOT (p = ANY(l.cancelled)))
    FROM (SELECT lease_id, array_agg(position) AS positions FROM oldest GROUP BY lease_id) o
    WHERE l.lease_id = o.lease_id
    RETURNING l.lease_id
  )
  SELECT o.run_id FROM oldest o WHERE (o.lease_id IN (SELECT lease_id FROM asked)) IS TRUE`;

/** Those that are left are found by the next pass. */
const LOST_SLOTS_MAX = 2_000;

/**
 * Guard: $1 node, $2 epochs. Frees slots whose run is neither open nor leased, by one snapshot of all tables (SCHED-8). Runs are found by
 * their key: what is open is spelled so that no plan walks the lanes for it.
 */
export const FREE_LOST_SLOTS = statement('free_lost_slots')`
  WITH ${owned('$1', '$2')}, leased AS MATERIALIZED (
    SELECT u.run_id FROM leases l CROSS JOIN LATERAL unnest(l.run_ids) WITH ORDINALITY AS u(run_id, ord)
    WHERE l.limited AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
  ), lost AS MATERIALIZED (
    SELECT a.ctid AS at FROM admissions a
    WHERE ${isOwned('a.shard')} AND a.run_id NOT IN (SELECT run_id FROM leased)
      AND NOT ${exists(`SELECT FROM due d WHERE d.job_id = a.job_id AND d.run_id = a.run_id AND d.admitted AND d.blocked + 0 = ${OPEN} AND d.held IS NOT TRUE`)}
    LIMIT ${LOST_SLOTS_MAX}
  )
  DELETE FROM admissions a WHERE a.ctid = ANY(ARRAY(SELECT at FROM lost))`;

/** Guard: $1 node, $2 epochs; $3 limit, $4 now, $5 after. Jobs of which runs wait though there is room, or of which the newest replaces. */
export const ADMISSIBLE = statement('admissible')`
  WITH RECURSIVE ${owned('$1', '$2')}, waiting AS (
    (SELECT d.job_id FROM due d WHERE d.blocked > 0 AND d.job_id > $5::uuid ORDER BY d.job_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.job_id FROM due d WHERE d.blocked > 0 AND d.job_id > w.job_id ORDER BY d.job_id LIMIT 1)
    FROM waiting w WHERE w.job_id IS NOT NULL
  )
  SELECT j.job_id, j.overlap = 'replace' FROM waiting w JOIN jobs j ON j.job_id = w.job_id
  WHERE ${isOwned('j.shard')} AND (${ROOM} > 0 OR (j.overlap = 'replace'
      AND ${exists(`SELECT FROM due d WHERE d.job_id = j.job_id AND d.blocked > 0 AND ${FRESH} AND NOT d.held`)}))
    AND ${exists(`SELECT FROM due d WHERE d.job_id = j.job_id AND d.blocked > 0 AND NOT d.held
      AND (d.blocked = ${WAITING} OR d.fire_at <= $4::bigint)`)}
  ORDER BY j.job_id LIMIT $3`;

/** Guard: $1 node, $2 epochs; $3 now, $4 limit. picked: the keys of runs to give up. error: as an expression over the row. */
const giveUp = (name: string, { picked, error }: { picked: string; error: string }): Statement => ({
  name,
  text: `
    WITH RECURSIVE ${owned('$1', '$2')}, ${picked}, gone AS (
      DELETE FROM due d USING picked WHERE d.job_id = picked.job_id AND d.run_id = picked.run_id AND NOT d.held RETURNING d.*
    ), freed AS (
      DELETE FROM admissions a USING gone g WHERE g.admitted AND a.job_id = g.job_id AND a.run_id = g.run_id
    ), history AS (
      INSERT INTO job_runs (run_id, job_id, status, end_time, modified_time, attempt_number, error_message, created_at, epoch,
        trigger, scheduled_at, job_version)
      SELECT run_id, job_id, 'FAILED', ${NOW('$3')}, ${NOW('$3')}, attempt, ${error}, ${NOW('$3')}, epoch, kind, ${NOW('nominal_at')},
        job_version
      FROM gone
    ), letters AS (
      INSERT INTO dead_letters (run_id, job_id, reason, error_message, attempts, scheduled_at, died_at)
      SELECT run_id, job_id, 'never_started', ${error}, attempt - 1, ${NOW('nominal_at')}, ${NOW('$3')} FROM gone
      ON CONFLICT (run_id) DO NOTHING
    ), ended AS (
      UPDATE jobs j SET status = CASE WHEN x.kind = 1 THEN 'FAILED' ELSE 'COMPLETED' END, version = j.version + 1, updated_at = ${NOW('$3')}
      FROM gone x WHERE x.ends_job AND j.job_id = x.job_id AND ${mayEnd()}
    ), event AS (
      INSERT INTO events (kind, ids, epochs, claimed_ats, dead_reasons)
      SELECT 'run.ended', array_agg(run_id), array_agg(epoch), ARRAY[$3::bigint], array_agg('never_started'::text)
      FROM gone HAVING count(*) > 0
    )
    SELECT job_id, run_id FROM gone`,
});

export const EXPIRE: Statement = giveUp('expire', {
  picked: `picked AS MATERIALIZED (
      SELECT d.job_id, d.run_id FROM owned_shards s CROSS JOIN LATERAL (
        SELECT due.job_id, due.run_id FROM due WHERE due.shard = s.shard AND due.expires_at IS NOT NULL AND due.expires_at < $3::bigint AND NOT due.held
        ORDER BY due.expires_at LIMIT $4 FOR UPDATE SKIP LOCKED) d LIMIT $4)`,
  error: `'${RUN_ERRORS.startTimeout()}'::text`,
});

/** $5 claimable, and last offered, before. Of a worker that is dead and not forgotten its own row tells that. */
export const EXPIRE_UNOFFERED: Statement = giveUp('expire_unoffered', {
  picked: `${lanes({ first: ['due.lane_at', 'due.run_id'], also: ['due.handler'] })}, picked AS MATERIALIZED (
      SELECT d.job_id, d.run_id FROM lane CROSS JOIN LATERAL (
        SELECT due.job_id, due.run_id FROM due
        WHERE ${inLane('lane')} AND due.lane_at < $5::bigint AND ${isOwned('due.shard')}
        ORDER BY due.lane_at, due.run_id LIMIT $4 FOR UPDATE SKIP LOCKED) d
      WHERE lane.lane_at < $5::bigint
        AND NOT EXISTS (SELECT FROM workers w
          WHERE lane.handler = ANY(w.handlers) AND (NOT w.dead OR w.last_seen_at >= $5::bigint) AND ${servesTenant('lane.tenant')})
        AND NOT EXISTS (SELECT FROM handler_offers o WHERE o.handler = lane.handler AND o.offered_at >= $5::bigint)
        AND NOT EXISTS (SELECT FROM namespace_offers o WHERE o.handler = lane.handler AND o.offered_at >= $5::bigint
          AND ${isOfNamespace('o.namespace', 'lane.tenant')}) LIMIT $4)`,
  error: `'${RUN_ERRORS.nobodyOffers("' || handler || '")}'`,
});

/** $1 the instant: what was last offered before it keeps no run any more. $2 limit. */
export const FORGET_OFFERS = statement('forget_offers')`
  DELETE FROM handler_offers WHERE handler IN (
    SELECT handler FROM handler_offers WHERE offered_at < $1::bigint LIMIT $2 FOR UPDATE SKIP LOCKED)`;

/** As above. */
export const FORGET_NAMESPACE_OFFERS = statement('forget_namespace_offers')`
  DELETE FROM namespace_offers WHERE (namespace, handler) IN (
    SELECT namespace, handler FROM namespace_offers WHERE offered_at < $1::bigint LIMIT $2 FOR UPDATE SKIP LOCKED)`;
