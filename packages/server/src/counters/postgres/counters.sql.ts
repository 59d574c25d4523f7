/** Statements of the shared counters. */
import { statement } from '../../postgres/database.ts';

/** One element per window. In one order everywhere, so that servers that count the same wait for each other instead of colliding. */
export const ADD_COUNTS = statement('add_counts')`
  WITH given AS (SELECT name, window_ms, window_start, add, ord
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS g(name, window_ms, window_start, add, ord)),
  counted AS (
    INSERT INTO counters (name, window_ms, window_start, count)
    SELECT name, window_ms, window_start, add FROM given ORDER BY name COLLATE "C", window_ms, window_start
    ON CONFLICT (name, window_ms, window_start) DO UPDATE SET count = counters.count + excluded.count
    RETURNING name, window_ms, window_start, count)
  SELECT count FROM given JOIN counted USING (name, window_ms, window_start) ORDER BY ord`;

/** Few rows, once in a while: no index stands for it. */
export const FORGET_COUNTS = statement('forget_counts')`
  DELETE FROM counters WHERE window_start + window_ms <= $1::bigint`;
