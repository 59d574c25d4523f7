/** Statements about daily partitions. Those that name a partition are made by functions: a name cannot be bound as a value. */
import { type Statement, statement } from '../../postgres/database.ts';
import { timestampOf } from './fragments.sql.ts';

export type Partitioned = 'job_runs' | 'events';

/** What a table is marked with before it is detached: a table that a person has detached is not ours to drop. */
const DETACHED_TO_DROP = 'carillon: past its retention, to be dropped';

/** Servers that make partitions at the same time would both find one missing. Released with the transaction. */
export const LOCK_MAKING = statement('lock_making')`
  SELECT FROM (SELECT pg_advisory_xact_lock(7420002)) AS locked`;

/**
 * Tried and not waited for: whoever waits in a statement holds a snapshot, and the server that detaches a partition would wait
 * for that snapshot to end. Released with the session.
 */
export const LOCK_DROPPING = statement('lock_dropping')`SELECT pg_try_advisory_lock(7420003)`;

/** $1 how long, such as '50ms'. */
export const LIMIT_LOCK_WAITS = statement('limit_lock_waits')`SELECT set_config('lock_timeout', $1, true)`;

/** $1 how long. For a session without a transaction. */
export const LIMIT_LOCK_WAITS_OF_SESSION = statement('limit_lock_waits_of_session')`
  SELECT set_config('lock_timeout', $1, false)`;

/** $1 the table that is partitioned. Answers name, is the default partition, is half detached. */
export const LIST_PARTITIONS = statement('list_partitions')`
  SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', i.inhdetachpending
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = $1::text::regclass ORDER BY c.relname`;

/** $1 the table that is partitioned. Answers what was detached from it to be dropped. */
export const LIST_DETACHED = statement('list_detached')`
  SELECT c.relname FROM pg_class p JOIN pg_class c ON c.relnamespace = p.relnamespace
  WHERE p.oid = $1::text::regclass AND c.relkind = 'r' AND NOT c.relispartition
    AND c.relname ~ ('^' || p.relname || '_[0-9]{8}$') AND obj_description(c.oid, 'pg_class') = '${DETACHED_TO_DROP}'
  ORDER BY c.relname`;

/** $1 the table that is partitioned, $2 the name of a table beside it. Answers whether that one is a partition; no row: there is none. */
export const FIND_TABLE = statement('find_table')`
  SELECT c.relispartition FROM pg_class p JOIN pg_class c ON c.relnamespace = p.relnamespace
  WHERE p.oid = $1::text::regclass AND c.relname = $2`;

/** The days, counted from 1970, on which runs were claimed that have not ended: they will be recorded under those days. */
export const CLAIM_DAYS = statement('claim_days')`SELECT DISTINCT claimed_at / 86400000 FROM leases`;

/** Counted from 1970. */
export const PRESENT_DAY = statement('present_day')`SELECT floor(extract(epoch FROM now()) / 86400)::bigint`;

/** $1 from, $2 to. */
export const STRAYS_BETWEEN: Readonly<Record<Partitioned, Statement>> = {
  job_runs: {
    name: 'stray_runs',
    text: `SELECT 1 FROM job_runs_default
      WHERE created_at >= ${timestampOf('$1')} AND created_at < ${timestampOf('$2')} LIMIT 1`,
  },
  events: {
    name: 'stray_events',
    text: `SELECT 1 FROM events_default
      WHERE at >= ${timestampOf('$1')} AND at < ${timestampOf('$2')} LIMIT 1`,
  },
};

/** $1 before. */
export const DROP_STRAYS: Readonly<Record<Partitioned, Statement>> = {
  job_runs: {
    name: 'drop_stray_runs',
    text: `DELETE FROM job_runs_default WHERE created_at < ${timestampOf('$1')}`,
  },
  events: {
    name: 'drop_stray_events',
    text: `DELETE FROM events_default WHERE at < ${timestampOf('$1')}`,
  },
};

/** $1 count to stop at. */
export const COUNT_STRAYS: Readonly<Record<Partitioned, Statement>> = {
  job_runs: {
    name: 'count_stray_runs',
    text: 'SELECT count(*) FROM (SELECT FROM job_runs_default LIMIT $1) AS s',
  },
  events: {
    name: 'count_stray_events',
    text: 'SELECT count(*) FROM (SELECT FROM events_default LIMIT $1) AS s',
  },
};

/** Counted from 1970. */
export const STRAY_DAYS: Readonly<Record<Partitioned, Statement>> = {
  job_runs: {
    name: 'stray_run_days',
    text: 'SELECT DISTINCT floor(extract(epoch FROM created_at) / 86400)::bigint FROM job_runs_default',
  },
  events: {
    name: 'stray_event_days',
    text: 'SELECT DISTINCT floor(extract(epoch FROM at) / 86400)::bigint FROM events_default',
  },
};

/** Indexes, checks and defaults like the parent's: attaching then takes the indexes over instead of building any. */
export function createAlone(table: Partitioned, name: string): Statement {
  return unnamed(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL)`);
}

/** Locks the parent against other maintenance only (SHARE UPDATE EXCLUSIVE); and its default partition, if any, against everybody. */
export function attach(table: Partitioned, name: string, { fromMs, toMs }: Bounds): Statement {
  const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
  return unnamed(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`);
}

export function markToDrop(name: string): Statement {
  return unnamed(`COMMENT ON TABLE ${name} IS '${DETACHED_TO_DROP}'`);
}

export function unmark(name: string): Statement {
  return unnamed(`COMMENT ON TABLE ${name} IS NULL`);
}

/** Not in a transaction. Where it is interrupted, the partition stays half detached: gone for readers, and to be finished. */
export function detachConcurrently(table: Partitioned, name: string): Statement {
  return unnamed(`ALTER TABLE ${table} DETACH PARTITION ${name} CONCURRENTLY`);
}

export function finishDetaching(table: Partitioned, name: string): Statement {
  return unnamed(`ALTER TABLE ${table} DETACH PARTITION ${name} FINALIZE`);
}

export function detachDefault(table: Partitioned): Statement {
  return unnamed(`ALTER TABLE ${table} DETACH PARTITION ${table}_default`);
}

export function takeStraysBack(table: Partitioned): Statement {
  return unnamed(`INSERT INTO ${table} SELECT * FROM ${table}_default`);
}

export function dropTable(name: string): Statement {
  return unnamed(`DROP TABLE IF EXISTS ${name}`);
}

interface Bounds {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Run once each: not worth keeping prepared. */
function unnamed(text: string): Statement {
  return { name: '', text };
}
