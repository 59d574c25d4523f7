/** What fires next, over all lanes of `due`: each lane is read in order from the start of the window, and no further than needed. */
import { SHARD_COUNT } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import type { UpcomingFire } from '../job-store.ts';
import { priorityWord } from './codes.ts';
import { skipsFrom } from './job-columns.ts';
import { recurringFrom } from './job-row.ts';
import { inLane, lanes, PLANNED } from './lane.sql.ts';
import { column, columns, optional, read } from './selection.ts';

/** Rows of one lane that are read for a caller who may not see all of them. */
const LANE_ROWS_MAX = 500;

/** Lanes that are read: of more, some of what lies ahead is left out, and the answer says so. */
const LANES_MAX = 5_000;

const SHARDS = `generate_series(0, ${SHARD_COUNT - 1}) AS s(shard)`;
const CURSOR_ROWS = `SELECT c.job_id, c.job_id AS run_id, c.fire_at, c.nominal_at, true AS is_cursor FROM cursors c
  WHERE c.shard = s.shard::smallint AND NOT c.held AND c.fire_at > $1::bigint AND c.fire_at <= $2::bigint
  ORDER BY c.fire_at, c.job_id LIMIT ${LANE_ROWS_MAX}`;
const PLANNED_ROWS = `SELECT due.job_id, due.run_id, due.fire_at, due.nominal_at, false FROM due
  WHERE due.shard = s.shard::smallint AND due.blocked = ${PLANNED} AND NOT due.held AND due.fire_at > $1::bigint AND due.fire_at <= $2::bigint
  ORDER BY due.fire_at, due.run_id LIMIT ${LANE_ROWS_MAX}`;
const LANE_ROWS = `SELECT due.job_id, due.run_id, due.fire_at, due.nominal_at, false FROM due
  WHERE ${inLane('lane')} AND due.lane_at > $1::bigint AND due.lane_at <= $2::bigint
  ORDER BY due.lane_at, due.run_id LIMIT ${LANE_ROWS_MAX}`;

const LANES = `${lanes()}, first_lanes AS MATERIALIZED (SELECT * FROM lane LIMIT ${LANES_MAX})`;

/** A job j that is visible: parallel arrays of namespaces (* is every one) and owners (NULL is anybody). NULL: everywhere. */
export function seenBy(namespaces: string, users: string): string {
  return `(${namespaces}::text[] IS NULL OR EXISTS (
    SELECT FROM unnest(${namespaces}::text[], ${users}::text[]) AS v(namespace, user_id)
    WHERE (v.namespace = '*' OR v.namespace = j.namespace) AND (v.user_id IS NULL OR v.user_id = j.user_id)))`;
}

const FIRE = columns<UpcomingFire>({
  job: columns<UpcomingFire['job']>({
    jobId: 'j.job_id',
    name: 'j.name',
    namespace: 'j.namespace',
    userId: 'j.user_id',
    handler: 'j.handler',
    priority: column('j.priority', priorityWord),
  }),
  fireAtMs: 'd.fire_at',
  cursor: optional(
    columns<NonNullable<UpcomingFire['cursor']>>({
      schedule: column('CASE WHEN d.is_cursor THEN j.schedule::text END', recurringFrom),
      nominalAtMs: 'd.nominal_at',
      skips: column('j.skips::text', skipsFrom),
    }),
  ),
});

/** $1 from (exclusive), $2 until, $3 limit, $4 namespaces, $5 owners. */
export const UPCOMING = read('upcoming', FIRE)`
  WITH RECURSIVE ${LANES}, ahead AS (
    SELECT d.* FROM ${SHARDS} CROSS JOIN LATERAL (${CURSOR_ROWS}) d
    UNION ALL SELECT d.* FROM ${SHARDS} CROSS JOIN LATERAL (${PLANNED_ROWS}) d
    UNION ALL SELECT d.* FROM first_lanes lane CROSS JOIN LATERAL (${LANE_ROWS}) d
  )
  SELECT ${FIRE.sql}
  FROM ahead d CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.job_id = d.job_id LIMIT 1) j
  WHERE ${seenBy('$4', '$5')}
  ORDER BY d.fire_at, d.run_id LIMIT $3`;

/** Whether a lane holds more in the window than is read. $1 from, $2 until. */
export const UPCOMING_IS_PARTIAL = statement('upcoming_is_partial')`
  WITH RECURSIVE ${LANES}
  SELECT (SELECT count(*) FROM first_lanes) = ${LANES_MAX} OR coalesce(bool_or(filled = ${LANE_ROWS_MAX}), false) FROM (
    SELECT (SELECT count(*) FROM (${CURSOR_ROWS}) d) AS filled FROM ${SHARDS}
    UNION ALL SELECT (SELECT count(*) FROM (${PLANNED_ROWS}) d) FROM ${SHARDS}
    UNION ALL SELECT (SELECT count(*) FROM (${LANE_ROWS}) d) FROM first_lanes lane
  ) x`;
