/** What fires next, over all lanes of `due`: each lane is read in order from the start of the window, and no further than needed. */
import { SHARD_COUNT } from '@carillon/domain';
import type { Statement } from '../../postgres/database.ts';

/** Rows of one lane that are looked at for a caller who may not see all of them. */
const LANE_ROWS_MAX = 500;

const LANES = `generate_series(0, ${SHARD_COUNT - 1}) AS s(shard) CROSS JOIN generate_series(0, 2) AS p(priority)`;
const LANE_ROWS = `SELECT due.job_id, due.run_id, due.kind, due.fire_at, due.nominal_at FROM due
  WHERE due.shard = s.shard::smallint AND due.priority = p.priority::smallint AND NOT due.held
    AND due.fire_at > $1::bigint AND due.fire_at <= $2::bigint
  ORDER BY due.fire_at, due.run_id LIMIT ${LANE_ROWS_MAX}`;

/** A job j in one of the places: parallel arrays of namespaces (* is every one) and owners (NULL is anybody). NULL: everywhere. */
export function seenBy(namespaces: string, users: string): string {
  return `(${namespaces}::text[] IS NULL OR EXISTS (
    SELECT FROM unnest(${namespaces}::text[], ${users}::text[]) AS v(namespace, user_id)
    WHERE (v.namespace = '*' OR v.namespace = j.namespace) AND (v.user_id IS NULL OR v.user_id = j.user_id)))`;
}

/** $1 from (exclusive), $2 until, $3 limit, $4 namespaces, $5 owners. */
export const UPCOMING: Statement = {
  name: 'upcoming',
  text: `SELECT x.job_id, x.name, x.namespace, x.user_id, x.handler, x.priority, x.fire_at, x.nominal_at, x.schedule
    FROM ${LANES} CROSS JOIN LATERAL (
      SELECT j.job_id, j.name, j.namespace, j.user_id, j.handler, j.priority, d.fire_at, d.run_id, d.nominal_at,
        CASE WHEN d.kind = 0 THEN j.schedule::text END AS schedule
      FROM (${LANE_ROWS}) d JOIN jobs j USING (job_id)
      WHERE ${seenBy('$4', '$5')}
      ORDER BY d.fire_at, d.run_id LIMIT $3
    ) x
    ORDER BY x.fire_at, x.run_id LIMIT $3`,
};

/** Whether a lane holds more in the window than is looked at. $1 from, $2 until. */
export const UPCOMING_IS_PARTIAL: Statement = {
  name: 'upcoming_is_partial',
  text: `SELECT bool_or(lane.filled = ${LANE_ROWS_MAX}) FROM ${LANES}
    CROSS JOIN LATERAL (SELECT count(*) AS filled FROM (${LANE_ROWS}) d) lane`,
};
