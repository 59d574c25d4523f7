/** Statements of the housekeeping store, but for those about partitions. */
import { type Statement, statement } from '../../postgres/database.ts';
import { WAITING_COUNTED_MAX } from '../housekeeping-store.ts';
import { exists, pendingRun, timestampOf } from './fragments.sql.ts';
import { inLane, lanes } from './lane.sql.ts';

/** $1 before. In the order of the primary key: entries are as old as their ids are small. */
export const DROP_AUDIT = statement('drop_audit')`
  WITH old AS (
    SELECT audit_id, at FROM audit_log ORDER BY audit_id LIMIT 10000
  ), gone AS (
    DELETE FROM audit_log WHERE audit_id IN (SELECT audit_id FROM old WHERE at < ${timestampOf('$1')}) RETURNING 1
  )
  SELECT count(*) FROM gone`;

/** $1 before. Not of runs that wait or live, nor of dead letters: they start, or may be redriven, with the same input. */
export const DROP_REQUESTS = statement('drop_requests')`
  WITH gone AS (
    DELETE FROM run_requests WHERE run_id IN (
      SELECT q.run_id FROM run_requests q
      WHERE q.requested_at < ${timestampOf('$1')} AND NOT ${exists(`SELECT FROM ${pendingRun('q.run_id')} d`)}
        AND NOT EXISTS (SELECT FROM leases l WHERE l.run_ids @> ARRAY[q.run_id])
        AND NOT EXISTS (SELECT FROM dead_letters x WHERE x.run_id = q.run_id)
      ORDER BY q.requested_at LIMIT 10000)
    RETURNING 1
  )
  SELECT count(*) FROM gone`;

/** $1 before, $2 before with a dead letter that nobody has redriven. Of runs that wait or live, none. */
export const DROP_CHECKPOINTS = statement('drop_checkpoints')`
  WITH gone AS (
    DELETE FROM checkpoints WHERE run_id IN (
      SELECT c.run_id FROM checkpoints c
      WHERE c.saved_at < ${timestampOf('$1')} AND NOT ${exists(`SELECT FROM ${pendingRun('c.run_id')} d`)}
        AND NOT EXISTS (SELECT FROM leases l WHERE l.run_ids @> ARRAY[c.run_id])
        AND (c.saved_at < ${timestampOf('$2')}
          OR NOT ${exists('SELECT FROM dead_letters x WHERE x.run_id = c.run_id AND x.redriven_as IS NULL')})
      ORDER BY c.saved_at LIMIT 1000)
    RETURNING 1
  )
  SELECT count(*) FROM gone`;

export const OLDEST_TRANSACTION = statement('oldest_transaction')`
  SELECT extract(epoch FROM clock_timestamp() - xact_start)::float8, pid, application_name, state FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'
    AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
  ORDER BY xact_start LIMIT 1`;

/**
 * About 200 pages of the table, spread over all of it, and scaled up: exact where the table is no larger than that. A one-off
 * of which nothing waits counts as completed, though its only run may still be going on.
 */
export const COUNT_JOBS = statement('count_jobs')`
  WITH size AS MATERIALIZED (
    SELECT greatest(1, pg_relation_size('jobs') / current_setting('block_size')::bigint)::float8 AS pages
  ), share AS MATERIALIZED (
    SELECT least(100, 100 * 200 / pages) AS percent FROM size
  ), sampled AS (
    SELECT CASE WHEN j.status IN ('SCHEDULED', 'PAUSED') AND j.schedule_type IN ('IMMEDIATE', 'FUTURE')
      AND NOT EXISTS (SELECT FROM due d WHERE d.job_id = j.job_id AND d.kind = 1) THEN 'COMPLETED' ELSE j.status END AS status
    FROM jobs j TABLESAMPLE SYSTEM ((SELECT percent FROM share))
  )
  SELECT status, round(count(*) * 100 / (SELECT percent FROM share))::bigint FROM sampled GROUP BY status`;

/**
 * A plan is kept until something changes what is known of its tables. Autovacuum checks once a minute; until then a plan that was
 * made for three rows walks over all of a table that has a hundred thousand. Tables that are large already are left to it.
 */
export const OUTGROWN_TABLES = statement('outgrown_tables')`
  SELECT relname::text FROM pg_class WHERE oid = ANY(ARRAY['jobs', 'due', 'cursors', 'admissions', 'leases', 'checkpoints']::regclass[])
    AND reltuples >= 0 AND relpages < 1000
    AND pg_relation_size(oid) / current_setting('block_size')::int > 4 * relpages + 4`;

export const ANALYZE = (table: string): Statement => ({ name: `analyze_${table}`, text: `ANALYZE ${table}` });

/** Of the index of instants (pages_per_range). */
const RANGE_PAGES = 32;
/** Runs are still written to the last ranges of a table: a summary that is there too early has to be changed with each of them. */
const OPEN_PAGES = 3 * RANGE_PAGES;
/** At a time: about a hundred megabytes. What lies further back when a server starts is left to autovacuum. */
const PAGES_MAX = 400 * RANGE_PAGES;

/**
 * A list of the newest runs reads every range that has no summary. Autovacuum makes summaries once a minute: by then many thousands of
 * runs may have been recorded. $1 a partition, $2 its first page that may have none, or NULL. Answers the page to go on from, and how
 * many summaries were made; no row where there is no such partition.
 */
export const SUMMARIZE_HISTORY = statement('summarize_history')`
  WITH day AS MATERIALIZED (
    SELECT x.indexrelid, coalesce($2::bigint, greatest(0, pages - ${PAGES_MAX}) / ${RANGE_PAGES} * ${RANGE_PAGES}) AS first,
      pages - ${OPEN_PAGES} AS last
    FROM pg_index x JOIN pg_inherits i ON i.inhrelid = x.indexrelid AND i.inhparent = 'job_runs_created_at'::regclass,
      LATERAL (SELECT pg_relation_size(x.indrelid) / current_setting('block_size')::bigint AS pages) size
    WHERE x.indrelid = to_regclass($1::text)
  )
  SELECT greatest(day.first, max(page) + ${RANGE_PAGES}), coalesce(sum(brin_summarize_range(day.indexrelid, page)), 0)::int
  FROM day LEFT JOIN LATERAL generate_series(day.first, least(day.last, day.first + ${PAGES_MAX}), ${RANGE_PAGES}) AS page ON true GROUP BY day.first`;

/** $1 now. Lane by lane, so that what lies ahead is not walked over; of very many lanes only some. */
export const COUNT_WAITING = statement('count_waiting')`
  WITH RECURSIVE ${lanes()}
  SELECT count(*)::int FROM (
    SELECT FROM (SELECT * FROM lane LIMIT 5000) lane CROSS JOIN LATERAL (
      SELECT FROM due WHERE ${inLane('lane')} AND due.lane_at <= $1::bigint LIMIT ${WAITING_COUNTED_MAX}
    ) d LIMIT ${WAITING_COUNTED_MAX}
  ) w`;
