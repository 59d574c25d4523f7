/** Statements of the event store, and the one that records a single event. */
import { type Statement, statement } from '../../postgres/database.ts';
import { msOf, timestampOf } from './fragments.sql.ts';

/** Nothing at or after this transaction may be read yet: it, or one before it in this order, is still under way. */
const UNSETTLED = 'event_horizon()';

/** $1 kind, $2 job or NULL, $3 JSON or NULL. */
export const RECORD_EVENT = statement('record_event')`
  INSERT INTO events (kind, ids, data) VALUES ($1, CASE WHEN $2::uuid IS NOT NULL THEN ARRAY[$2::uuid] END, $3::jsonb)`;

export const EVENTS_END: Statement = { name: 'events_end', text: `SELECT ${UNSETTLED}::text` };

/** Ordered by the column: the same name stands for its text in the answer, of which 1000 comes before 999. */
export const OLDEST_EVENT = statement('oldest_event')`
  SELECT e.xid::text, e.seq FROM events e ORDER BY e.xid, e.seq LIMIT 1`;

/**
 * $1 and $2 the place after which to read, $3 events, $4 rows at most: rows until that many events are reached. Each detail is
 * looked up by key for itself (LIMIT 1 keeps the planner from joining whole tables).
 */
export const READ_EVENTS = statement('read_events')`
  WITH picked AS MATERIALIZED (
    SELECT * FROM (
      SELECT e.*, sum(coalesce(cardinality(e.ids), 1)) OVER (ORDER BY e.xid, e.seq ROWS UNBOUNDED PRECEDING)
        - coalesce(cardinality(e.ids), 1) AS before
      FROM (
        SELECT * FROM events
        WHERE xid < ${UNSETTLED} AND (xid, seq) > ($1::xid8, $2::bigint)
        ORDER BY xid, seq LIMIT $4
      ) e
    ) e WHERE before < $3
  )
  SELECT p.xid::text, p.seq, (coalesce(u.ord, 1) - 1)::int, p.kind, ${msOf('p.at')}, p.data::text,
    r.run_id, u.next_at, u.dead_reason, r.status, r.attempt_number, r.epoch, r.trigger,
    ${msOf('r.scheduled_at')}, ${msOf('r.start_time')},
    ${msOf('r.end_time')}, r.executor_id, r.error_message, r.reason, r.occurrences,
    CASE WHEN p.kind LIKE 'job.%' THEN u.id ELSE r.job_id END,
    j.name, j.namespace, j.user_id, j.handler, j.schedule_type, j.labels::text, gone.data::text
  FROM picked p
  LEFT JOIN LATERAL unnest(p.ids, p.epochs, p.claimed_ats, p.next_ats, p.dead_reasons) WITH ORDINALITY
    AS u(id, epoch, claimed_at, next_at, dead_reason, ord) ON true
  LEFT JOIN LATERAL (
    SELECT * FROM job_runs r WHERE p.kind LIKE 'run.%' AND r.run_id = u.id AND r.epoch = u.epoch
      AND r.created_at = ${timestampOf('coalesce(u.claimed_at, p.claimed_ats[1])')} LIMIT 1
  ) r ON true
  LEFT JOIN LATERAL (
    SELECT * FROM jobs j WHERE j.job_id = CASE WHEN p.kind LIKE 'job.%' THEN u.id ELSE r.job_id END LIMIT 1
  ) j ON true
  LEFT JOIN LATERAL (
    SELECT t.data FROM events t WHERE j.job_id IS NULL AND t.kind = 'job.deleted'
      AND t.ids = ARRAY[CASE WHEN p.kind LIKE 'job.%' THEN u.id ELSE r.job_id END] LIMIT 1
  ) gone ON true
  ORDER BY p.xid, p.seq, u.ord`;
