/** Statements of the insight store. Every one enters an index of a large table and stops after a bounded number of rows. */
import { type JobId, SHARD_COUNT } from '@carillon/domain';
import {
  AHEAD_MAX,
  FIRES_LOOKED_AT_MAX,
  type FiresAt,
  type FoundJob,
  type FoundRun,
  IDS_LOOKED_AT_MAX,
  type SlotHolder,
  STRIP_ATTEMPTS_PER_RUN,
  type Standing,
  type StripRun,
} from '../insight-store.ts';
import { PART_COUNT } from '../lane.ts';
import { msOf, pendingRun } from './fragments.sql.ts';
import { recurringFrom } from './job-row.ts';
import { IS_OPEN, OPEN as IS_OPEN_NUMBER, WAITING } from './lane.sql.ts';
import { LEASED_RUNS, LIVING_STATUS, OPEN } from './run.sql.ts';
import { column, columns, optional, read } from './selection.ts';
import { seenBy } from './upcoming.sql.ts';

interface StripRow {
  readonly jobId: JobId;
  /** Undefined: the job has none in the table that this row is about. */
  readonly run: StripRun | undefined;
}

const rounded = (sql: string) => column(sql, Math.round) as ReturnType<typeof column<number, never>>;

const STRIP = columns<StripRow>({
  jobId: 'x.job_id',
  run: optional(
    columns<StripRun>({
      runId: 'x.run_id',
      status: 'x.status',
      attempt: 'x.attempt',
      scheduledAtMs: rounded('x.scheduled_at'),
      startedAtMs: rounded('x.started_at'),
      endedAtMs: rounded('x.ended_at'),
    }),
  ),
});

/**
 * $1 jobs, $2 runs of each, $3 and $4 the owners that are visible. Of each job what is alive, then what has ended, newest first; a job
 * without any has one row without a run.
 */
export const STRIPS = read('strips', STRIP)`
  WITH seen AS MATERIALIZED (
    SELECT j.job_id FROM unnest($1::uuid[]) AS q(job_id)
      CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.job_id = q.job_id LIMIT 1) j
    WHERE ${seenBy('$3', '$4')}
  ), living AS MATERIALIZED (
    SELECT u.job_id, u.run_id, ${LIVING_STATUS} AS status, u.attempt::int AS attempt, u.nominal_at::float8 AS scheduled_at,
      ${msOf('r.start_time')} AS started_at, NULL::float8 AS ended_at,
      row_number() OVER (PARTITION BY u.job_id ORDER BY l.claimed_at DESC, u.run_id DESC) AS nth
    FROM ${LEASED_RUNS}
    WHERE l.job_ids && $1::uuid[] AND u.job_id IN (SELECT s.job_id FROM seen s) AND ${OPEN}
  ), x AS (
    (SELECT job_id, run_id, status, attempt, scheduled_at, started_at, ended_at FROM living WHERE nth <= $2::bigint ORDER BY nth)
    UNION ALL SELECT s.job_id, h.run_id, h.status, h.attempt, h.scheduled_at, h.started_at, h.ended_at
    FROM seen s LEFT JOIN LATERAL (
      SELECT r.run_id, r.status, r.attempt_number AS attempt, ${msOf('r.scheduled_at')} AS scheduled_at,
        ${msOf('r.start_time')} AS started_at, ${msOf('r.end_time')} AS ended_at
      FROM job_runs r WHERE r.job_id = s.job_id AND r.status <> 'RUNNING'
      ORDER BY r.created_at DESC, r.run_id DESC, r.epoch DESC LIMIT $2::bigint * ${STRIP_ATTEMPTS_PER_RUN}
    ) h ON true
  )
  SELECT ${STRIP.sql} FROM x`;

const HOLDER = columns<SlotHolder>({
  runId: 'a.run_id',
  workerId: 'l.worker_id',
  claimedAtMs: 'l.claimed_at::float8',
});

/** $1 job, $2 limit. */
export const SLOT_HOLDERS = read('slot_holders', HOLDER)`
  WITH leased AS MATERIALIZED (
    SELECT u.run_id, l.worker_id, l.claimed_at FROM leases l
      CROSS JOIN LATERAL unnest(l.run_ids, l.job_ids) WITH ORDINALITY AS u(run_id, job_id, ord)
    WHERE l.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1::uuid AND ${OPEN}
  )
  SELECT ${HOLDER.sql} FROM (SELECT a.slot, a.run_id FROM admissions a WHERE a.job_id = $1::uuid ORDER BY a.slot LIMIT $2::bigint) a
    LEFT JOIN leased l USING (run_id) ORDER BY a.slot`;

const count = (query: string) => `(SELECT count(*)::int FROM (${query} LIMIT ${AHEAD_MAX}) n)`;

const AHEAD = `CASE d.blocked
    WHEN ${WAITING} THEN ${count(`SELECT FROM due w WHERE w.job_id = d.job_id AND w.blocked = ${WAITING}
      AND (w.fire_at, w.nominal_at, w.run_id) < (d.fire_at, d.nominal_at, d.run_id)`)}
    WHEN ${IS_OPEN_NUMBER} THEN ${count(`SELECT FROM generate_series(0, ${PART_COUNT - 1}) AS p(part) CROSS JOIN LATERAL (
      SELECT FROM due WHERE due.part = p.part::smallint AND due.priority = d.priority AND due.handler_key = d.handler_key
        AND due.tenant = d.tenant AND ${IS_OPEN} AND (due.lane_at, due.run_id) < (d.lane_at, d.run_id) LIMIT ${AHEAD_MAX}) o`)}
    END`;

const STANDING = columns<Standing>({ fireAtMs: 'd.fire_at', expiresAtMs: 'd.expires_at', ahead: AHEAD });

/** $1 run. */
export const STANDING_OF_RUN = read('standing_of_run', STANDING)`
  SELECT ${STANDING.sql} FROM ${pendingRun('$1::uuid')} d`;

const FOUND_JOB = columns<FoundJob>({
  jobId: 'j.job_id',
  name: 'j.name',
  namespace: 'j.namespace',
  userId: 'j.user_id',
  handler: 'j.handler',
  key: 'j.key',
});

/** How many ids were looked at: IDS_LOOKED_AT_MAX says that there may be more. */
const withLookedAt = <T>(hit: ReturnType<typeof columns<T & object>>) =>
  columns<{ hit: T | undefined; lookedAt: number }>({ hit: optional(hit), lookedAt: 'c.looked_at' });

const JOB_HIT = withLookedAt<FoundJob>(FOUND_JOB);

/** $1 and $2 the range of ids, $3 and $4 the owners that are visible, $5 limit. At least one row, for what was looked at. */
export const JOBS_BY_IDS = read('jobs_by_ids', JOB_HIT)`
  WITH looked AS MATERIALIZED (
    SELECT j.job_id, j.name, j.namespace, j.user_id, j.handler, j.key FROM jobs j
    WHERE j.job_id >= $1::uuid AND j.job_id <= $2::uuid ORDER BY j.job_id DESC LIMIT ${IDS_LOOKED_AT_MAX}
  ), hits AS MATERIALIZED (
    SELECT * FROM looked j WHERE ${seenBy('$3', '$4')} ORDER BY j.job_id DESC LIMIT $5::bigint
  )
  SELECT ${JOB_HIT.sql} FROM (SELECT count(*)::int AS looked_at FROM looked) c LEFT JOIN hits j ON true ORDER BY j.job_id DESC`;

const RUN_HIT = withLookedAt<FoundRun>(
  columns<FoundRun>({
    runId: 'h.run_id',
    jobId: 'h.job_id',
    job: optional(columns<NonNullable<FoundRun['job']>>({ name: 'h.name', namespace: 'h.namespace' })),
  }),
);

const inRange = (column: string) => `${column} >= $1::uuid AND ${column} <= $2::uuid`;
const upTo = (query: string, order: string) => `(${query} ORDER BY ${order} DESC LIMIT ${IDS_LOOKED_AT_MAX})`;

/** As JOBS_BY_IDS, over the three tables that runs are in. Of one-offs the first run has the id of its job. */
export const RUNS_BY_IDS = read('runs_by_ids', RUN_HIT)`
  WITH looked AS MATERIALIZED (
    ${upTo(`SELECT d.run_id, d.job_id FROM due d WHERE d.run_id <> d.job_id AND ${inRange('d.run_id')}`, 'd.run_id')}
    UNION ALL SELECT * FROM ${upTo(`SELECT d.run_id, d.job_id FROM due d WHERE ${inRange('d.job_id')}`, 'd.job_id')} d
      WHERE d.run_id = d.job_id
    UNION ALL (SELECT u.run_id, u.job_id FROM leases l
      CROSS JOIN LATERAL unnest(l.run_ids, l.job_ids) WITH ORDINALITY AS u(run_id, job_id, ord)
      WHERE ${OPEN} AND ${inRange('u.run_id')} LIMIT ${IDS_LOOKED_AT_MAX})
    UNION ALL ${upTo(`SELECT r.run_id, r.job_id FROM job_runs r WHERE ${inRange('r.run_id')}`, 'r.run_id')}
  ), ids AS MATERIALIZED (
    SELECT DISTINCT run_id, job_id FROM looked
  ), hits AS MATERIALIZED (
    SELECT i.run_id, i.job_id, j.name, j.namespace FROM ids i
      LEFT JOIN LATERAL (SELECT * FROM jobs j WHERE j.job_id = i.job_id LIMIT 1) j ON true
    WHERE ${seenBy('$3', '$4')} ORDER BY i.run_id DESC LIMIT $5::bigint
  )
  SELECT ${RUN_HIT.sql} FROM (SELECT count(*)::int AS looked_at FROM looked) c LEFT JOIN hits h ON true ORDER BY h.run_id DESC`;

/** Namespaces whose names of jobs are searched, each by one look into the index. */
const NAMESPACES_MAX = 1_000;

/**
 * $1 what names begin with, $2 namespaces, NULL: all, $3 limit. Bytes are compared, as the index orders them: the last character of
 * Unicode is behind everything that begins with the text.
 */
export const JOBS_BY_NAME = read('jobs_by_name', FOUND_JOB)`
  WITH searched AS MATERIALIZED (
    SELECT n.name COLLATE "default" AS name FROM namespaces n WHERE $2::text[] IS NULL OR n.name = ANY($2::text[]) ORDER BY n.name LIMIT ${NAMESPACES_MAX}
  )
  SELECT ${FOUND_JOB.sql} FROM searched s CROSS JOIN LATERAL (
    SELECT * FROM jobs j WHERE j.namespace = s.name AND j.schedule_type IN ('CRON', 'INTERVAL') AND lower(j.name) ~>=~ lower($1::text)
      AND lower(j.name) ~<~ (lower($1::text) || chr(1114111))
    ORDER BY lower(j.name) USING ~<~ LIMIT $3::bigint
  ) j ORDER BY lower(j.name) USING ~<~, j.job_id LIMIT $3::bigint`;

const FIRES = columns<FiresAt>({
  atMs: 'f.at',
  schedule: column('f.schedule::text', recurringFrom),
  count: 'f.count',
  partial: 'f.partial',
});

/**
 * $1 instants, $2 namespace, $3 namespaces and $4 owners that are seen, $5 a job that is not counted, or NULL. Cursors are found by
 * shard and instant, in order, up to the bound; their jobs by their key.
 */
export const FIRES_AT = read('fires_at', FIRES)`
  SELECT ${FIRES.sql} FROM unnest($1::bigint[]) AS a(at) CROSS JOIN LATERAL (
    WITH there AS MATERIALIZED (
      SELECT c.job_id FROM generate_series(0, ${SHARD_COUNT - 1}) AS s(shard) CROSS JOIN LATERAL (
        SELECT c.job_id FROM cursors c WHERE c.shard = s.shard::smallint AND NOT c.held AND c.fire_at = a.at
        ORDER BY c.fire_at, c.job_id LIMIT ${FIRES_LOOKED_AT_MAX}) c LIMIT ${FIRES_LOOKED_AT_MAX}
    )
    SELECT a.at, j.schedule, count(*)::int AS count, (SELECT count(*) FROM there) = ${FIRES_LOOKED_AT_MAX} AS partial
    FROM there t CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.job_id = t.job_id LIMIT 1) j
    WHERE j.namespace = $2 AND ${seenBy('$3', '$4')} AND j.job_id IS DISTINCT FROM $5::uuid
    GROUP BY j.schedule
  ) f`;
