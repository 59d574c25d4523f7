/** Statements of the job store. */
import type { Job } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import type { JobChange } from '../job-store.ts';
import { inlineJson, inlinePayload, mayEnd, pendingRun } from './fragments.sql.ts';
import { JOB_COLUMNS, sentType, stored } from './job-columns.ts';
import { JOB, JOB_STATUS } from './job-row.ts';
import { JOB_HANDLER_KEY, JOB_PART, JOB_TENANT, OPEN, PLANNED } from './lane.sql.ts';
import { columns, read } from './selection.ts';

export const FIND_KEYS = statement('find_keys')`
  SELECT j.namespace, j.idempotency_key, j.job_id, j.request_hash
  FROM unnest($1::text[], $2::text[]) AS k(namespace, idempotency_key) JOIN jobs j USING (namespace, idempotency_key)`;

export const FIND_JOB_KEYS = statement('find_job_keys')`
  SELECT j.namespace, j.key, j.job_id
  FROM unnest($1::text[], $2::text[]) AS k(namespace, key) JOIN jobs j ON j.key = k.key COLLATE "C" AND j.namespace = k.namespace`;

export const FIND_JOB_KEY = statement('find_job_key')`
  SELECT j.job_id FROM jobs j WHERE j.namespace = $1 AND j.key = $2`;

const OWNER = columns<Pick<Job, 'jobId' | 'namespace' | 'userId'>>({
  jobId: 'j.job_id',
  namespace: 'j.namespace',
  userId: 'j.user_id',
});

export const OWNERS_OF_JOBS = read('owners_of_jobs', OWNER)`
  SELECT ${OWNER.sql} FROM jobs j WHERE j.job_id = ANY($1::uuid[])`;

export const GET_JOB = read('get_job', JOB)`SELECT ${JOB.sql} FROM jobs j WHERE j.job_id = $1::uuid`;

const UNSTARTED = 'kind = 1 AND attempt = 1 AND epoch = 1';

/** The plan: the cursor, or the run of a one-off that was not handed out yet. */
export const READ_PLAN = statement('read_plan')`
  SELECT p.nominal_at, coalesce(p.last_nominal_at, j.last_nominal_at) FROM jobs j LEFT JOIN LATERAL (
    SELECT c.nominal_at, c.last_nominal_at FROM cursors c WHERE c.job_id = j.job_id
    UNION ALL SELECT d.nominal_at, NULL FROM due d WHERE d.job_id = j.job_id AND d.kind = 1 AND d.attempt = 1 AND d.epoch = 1
  ) p ON true WHERE j.job_id = $1::uuid`;

export const LOCK_CURSOR = statement('lock_cursor')`
  SELECT nominal_at FROM cursors WHERE job_id = $1::uuid FOR UPDATE`;

export const LOCK_UNSTARTED = statement('lock_unstarted')`
  SELECT nominal_at FROM due WHERE job_id = $1::uuid AND ${UNSTARTED} FOR UPDATE`;

const EDITED = JOB_COLUMNS.filter(({ fixed }) => !fixed);

/** Everything a person may edit. $1 job, $2 expected version, $3 expected status. */
export const UPDATE_JOB = statement('update_job')`
  UPDATE jobs j SET ${EDITED.map((column, i) => `${column.name} = ${stored(column, `$${i + 4}::${sentType(column)}`)}`).join(', ')}
  WHERE j.job_id = $1::uuid AND j.version = $2 AND ${JOB_STATUS} = $3 RETURNING j.job_id`;

export function updateParameters({ job, expectedVersion, expectedStatus }: JobChange): unknown[] {
  return [job.jobId, expectedVersion, expectedStatus, ...EDITED.map(({ of }) => of({ job }) ?? null)];
}

/**
 * $1 job, $2 now, $3 payload. What waits follows the job's new definition. A run that comes into another lane by it stands there
 * as from now on: nobody reads a lane before the position that was reached.
 */
export const REFRESH_DUE = statement('refresh_due')`
  UPDATE due d SET priority = j.priority, handler = j.handler, handler_key = ${JOB_HANDLER_KEY}, tenant = ${JOB_TENANT},
    expires_at = d.fire_at + j.start_timeout_ms, job_version = j.version, payload = CASE WHEN d.kind < 3 THEN ${inlinePayload('$3::text')} END, timeout_ms = j.timeout_ms,
    lane_at = CASE WHEN (d.priority, d.handler_key, d.tenant) = (j.priority, ${JOB_HANDLER_KEY}, ${JOB_TENANT}) THEN d.lane_at
      ELSE greatest(d.lane_at, $2::bigint) END
  FROM jobs j WHERE j.job_id = $1::uuid AND d.job_id = j.job_id`;

/** Only the newest version of a schedule fires. */
export const REFRESH_CURSOR = statement('refresh_cursor')`
  UPDATE cursors SET job_version = $2 WHERE job_id = $1::uuid`;

/** The job keeps what the cursor knew of the past. */
export const DELETE_CURSOR = statement('delete_cursor')`
  WITH gone AS (DELETE FROM cursors WHERE job_id = $1::uuid RETURNING job_id, last_nominal_at)
  UPDATE jobs j SET last_nominal_at = g.last_nominal_at FROM gone g WHERE j.job_id = g.job_id AND g.last_nominal_at IS NOT NULL`;

/** Of a one-off; it holds no slot unless others of its job wait or run beside it. */
export const DROP_UNSTARTED = statement('drop_unstarted')`
  WITH gone AS (DELETE FROM due WHERE job_id = $1::uuid AND ${UNSTARTED} RETURNING job_id, run_id)
  DELETE FROM admissions a USING gone g WHERE a.job_id = g.job_id AND a.run_id = g.run_id`;

/** With a new plan, the end of a run made under the old one is no longer the end of the job. */
export const UNLINK_END = statement('unlink_end')`
  UPDATE due SET ends_job = false WHERE job_id = $1::uuid AND ends_job`;

/** The same for what is alive; after the other, so that what is claimed in between is found here. */
export const UNLINK_LIVING_END = statement('unlink_living_end')`
  UPDATE leases l SET ends_job = array(
    SELECT u.ends_job AND u.job_id <> $1::uuid FROM unnest(l.ends_job, l.job_ids) WITH ORDINALITY AS u(ends_job, job_id, ord)
    ORDER BY u.ord)
  WHERE l.job_ids @> ARRAY[$1::uuid]`;

/** $1 job, $2 fire_at, $3 nominal_at. */
export const ADD_CURSOR = statement('add_cursor')`
  INSERT INTO cursors (job_id, fire_at, nominal_at, last_nominal_at, job_version, shard, held)
  SELECT j.job_id, $2::bigint, $3::bigint, j.last_nominal_at, j.version, j.shard, j.status = 'PAUSED'
  FROM jobs j WHERE j.job_id = $1::uuid AND j.status <> 'CANCELLED' FOR SHARE`;

/**
 * $1 job, $2 run, $3 kind, $4 fire_at, $5 nominal_at, $6 ends_job. Inherits the rest from the job as it is now. A pause holds what
 * the schedule makes; a run that a person requested starts. It needs a slot of its job: others may be waiting or alive.
 * What a person requested may have a payload of its own, so it carries none here.
 */
export const ADD_DUE = statement('add_due')`
  INSERT INTO due (run_id, job_id, fire_at, lane_at, nominal_at, tenant, expires_at, timeout_ms, handler_key, job_version, shard,
    part, priority, kind, blocked, ends_job, held, handler, payload)
  SELECT $2::uuid, j.job_id, $4::bigint, $4::bigint, $5::bigint, ${JOB_TENANT}, $4::bigint + j.start_timeout_ms, j.timeout_ms,
    ${JOB_HANDLER_KEY}, j.version, j.shard, ${JOB_PART}, j.priority, $3::smallint, ${PLANNED}, $6::boolean,
    j.status = 'PAUSED' AND $3::smallint < 3, j.handler, CASE WHEN $3::smallint < 3 THEN ${inlineJson('j.payload')} END
  FROM jobs j WHERE j.job_id = $1::uuid AND j.status <> 'CANCELLED' FOR SHARE RETURNING job_id`;

/** $1 run, $2 job, $3 now, $4 reason, $5 input, $6 payload, $7 hash of the request, $8 the run that it repeats, $9 who asked. */
export const ADD_REQUEST = statement('add_request')`
  INSERT INTO run_requests (run_id, job_id, requested_at, reason, input, payload, request_hash, origin_run_id, requested_by)
  VALUES ($1::uuid, $2::uuid, to_timestamp($3::bigint::float8 / 1000), $4, $5, $6, $7, $8::uuid, $9)`;

/** $1 job. The only run of a one-off is alone no longer: from now on it asks for a slot like the others. */
export const LIMIT_PENDING = statement('limit_pending')`
  UPDATE due SET blocked = ${PLANNED} WHERE job_id = $1::uuid AND kind = 1 AND blocked = ${OPEN} AND NOT admitted`;

/** $1 job. The same for one that is alive: it takes the first slot. */
export const LIMIT_LIVING = statement('limit_living')`
  WITH living AS (
    SELECT l.lease_id, u.run_id, u.shard FROM leases l
    CROSS JOIN LATERAL unnest(l.job_ids, l.run_ids, l.shards, l.kinds) WITH ORDINALITY AS u(job_id, run_id, shard, kind, ord)
    WHERE l.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1::uuid AND u.kind = 1 AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
    FOR UPDATE OF l
  ), marked AS (
    UPDATE leases l SET limited = true FROM living WHERE l.lease_id = living.lease_id
  )
  INSERT INTO admissions (job_id, slot, run_id, shard) SELECT $1::uuid, 1, run_id, shard FROM living
  WHERE NOT EXISTS (SELECT FROM admissions a WHERE a.job_id = $1::uuid AND a.run_id = living.run_id)
  ON CONFLICT DO NOTHING`;

/** What is held back gives up its slot: a run that a person asks for meanwhile may need it. */
export const HOLD_DUE = statement('hold_due')`
  WITH held AS (
    UPDATE due SET held = true, admitted = false, blocked = CASE WHEN admitted THEN ${PLANNED} ELSE blocked END
    WHERE job_id = $1::uuid AND kind < 3 AND NOT held RETURNING job_id, run_id
  )
  DELETE FROM admissions a USING held h WHERE a.job_id = h.job_id AND a.run_id = h.run_id`;

export const HOLD_CURSOR = statement('hold_cursor')`UPDATE cursors SET held = true WHERE job_id = $1::uuid`;

/** $2 now: occurrences up to then fell into the pause. */
export const RELEASE_CURSOR = statement('release_cursor')`
  UPDATE cursors SET held = false, resumed_at = CASE WHEN fire_at < $2::bigint THEN $2::bigint END,
    fire_at = greatest(fire_at, $2::bigint)
  WHERE job_id = $1::uuid AND held`;

/**
 * $2 now: a row is due no earlier than it became visible, so that a search finds it among the latest. When the
 * schedule is over, the last that was held back is what the job ends with.
 */
export const RELEASE_DUE = statement('release_due')`
  UPDATE due SET held = false, fire_at = greatest(fire_at, $2::bigint), lane_at = greatest(lane_at, $2::bigint),
    ends_job = ends_job OR (run_id = (SELECT p.run_id FROM due p WHERE p.job_id = $1::uuid AND p.kind = 2
        ORDER BY p.nominal_at DESC, p.run_id DESC LIMIT 1)
      AND NOT EXISTS (SELECT FROM cursors c WHERE c.job_id = $1::uuid)
      AND NOT EXISTS (SELECT FROM due p WHERE p.job_id = $1::uuid AND p.kind = 1))
  WHERE job_id = $1::uuid AND held`;

/** Ends what waits; runs that were already due or being retried leave a verdict. $1 job, $2 now, $3 run or NULL for all. */
export const END_DUE = statement('end_due')`
  WITH gone AS (
    DELETE FROM due WHERE job_id = $1::uuid AND ($3::uuid IS NULL OR run_id = $3::uuid) RETURNING *
  ), freed AS (
    DELETE FROM admissions a USING gone g WHERE g.admitted AND a.job_id = g.job_id AND a.run_id = g.run_id
  ), verdict AS (
    INSERT INTO job_runs (run_id, job_id, status, end_time, modified_time, attempt_number, created_at, epoch, trigger,
      scheduled_at, job_version)
    SELECT run_id, job_id, 'CANCELLED', to_timestamp($2::bigint::float8 / 1000), to_timestamp($2::bigint::float8 / 1000), attempt,
      to_timestamp($2::bigint::float8 / 1000), epoch, kind, to_timestamp(nominal_at::float8 / 1000), job_version
    FROM gone
  ), ended AS (
    UPDATE jobs j SET status = CASE WHEN g.kind = 1 THEN 'CANCELLED' ELSE 'COMPLETED' END, version = j.version + 1,
      updated_at = to_timestamp($2::bigint::float8 / 1000)
    FROM gone g WHERE j.job_id = g.job_id AND ${mayEnd('AND h.run_id <> g.run_id')} AND (g.ends_job
      -- What a pause held back after the schedule was over, and the last of it.
      OR (g.held AND g.kind = 2 AND NOT EXISTS (SELECT FROM due o WHERE o.job_id = g.job_id AND o.run_id <> g.run_id AND o.kind < 3)
        AND NOT EXISTS (SELECT FROM cursors c WHERE c.job_id = g.job_id)
        AND NOT EXISTS (SELECT FROM leases l CROSS JOIN LATERAL unnest(l.job_ids) WITH ORDINALITY AS u(job_id, ord)
          WHERE l.job_ids @> ARRAY[g.job_id] AND u.job_id = g.job_id AND NOT ((u.ord - 1)::smallint = ANY(l.closed)))))
  ), event AS (
    INSERT INTO events (kind, ids, epochs, claimed_ats)
    -- In parts: a job may have any number of runs waiting, and a row of events is read at once.
    SELECT 'run.ended', array_agg(run_id), array_agg(epoch), ARRAY[$2::bigint]
    FROM (SELECT *, (row_number() OVER () - 1) / 1000 AS part FROM (SELECT run_id, epoch FROM gone) g) g GROUP BY part
  )
  SELECT run_id FROM gone`;

export const CANCEL_LIVE_OF_JOB = statement('cancel_live_of_job')`
  UPDATE leases l SET cancelled = array(
    SELECT DISTINCT p FROM unnest(l.cancelled || array(
      SELECT (u.ord - 1)::smallint FROM unnest(l.job_ids) WITH ORDINALITY AS u(job_id, ord)
      WHERE u.job_id = $1::uuid AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
    )) AS p)
  WHERE l.job_ids @> ARRAY[$1::uuid]`;

export const LIVE_OF_JOB = statement('live_of_job')`
  SELECT u.run_id FROM leases l
  CROSS JOIN LATERAL unnest(l.job_ids, l.run_ids) WITH ORDINALITY AS u(job_id, run_id, ord)
  WHERE l.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1::uuid AND NOT ((u.ord - 1)::smallint = ANY(l.closed))`;

export const DELETE_DUE = statement('delete_due')`
  WITH gone AS (
    DELETE FROM due WHERE job_id = $1::uuid RETURNING job_id, run_id
  )
  DELETE FROM admissions a USING gone g WHERE a.job_id = g.job_id AND a.run_id = g.run_id`;

export const DELETE_JOB = statement('delete_job')`
  WITH letters AS (
    DELETE FROM dead_letters WHERE job_id = $1::uuid
  ), requests AS (
    DELETE FROM run_requests WHERE job_id = $1::uuid
  ), removed AS (
    DELETE FROM jobs WHERE job_id = $1::uuid RETURNING *
  ), event AS (
    -- All that is left of it: who may see its runs is judged by this.
    INSERT INTO events (kind, ids, data)
    SELECT 'job.deleted', ARRAY[job_id], jsonb_build_object('name', name, 'namespace', namespace, 'user_id', user_id,
      'handler', handler, 'schedule_type', schedule_type, 'labels', labels)
    FROM removed
  )
  SELECT job_id FROM removed`;

/** The job a pending run belongs to. */
export const FIND_PENDING_RUN = statement('find_pending_run')`SELECT job_id FROM ${pendingRun('$1::uuid')} d`;

export const FIND_FINISHED_RUN = statement('find_finished_run')`
  SELECT job_id FROM job_runs WHERE run_id = $1::uuid LIMIT 1`;
