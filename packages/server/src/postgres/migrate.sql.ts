/** Texts of the statements of migrations: what was applied, and who is in the way. */

export const HAS_HISTORY = `SELECT to_regclass('schema_migrations') IS NOT NULL AS "hasHistory"`;

export const CREATE_HISTORY = `CREATE TABLE IF NOT EXISTS schema_migrations (
    version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;

export const READ_HISTORY = 'SELECT version, name, checksum FROM schema_migrations';

/** $1 version, $2 name, $3 checksum. */
export const ADD_TO_HISTORY = 'INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)';

/** $1 the key. */
export const TRY_LOCK = 'SELECT pg_try_advisory_lock($1) AS "isOurs"';

/** $1 the key. */
export const UNLOCK = 'SELECT pg_advisory_unlock($1)';

/** Those of every version: their pools, and from the one on that has it, the connection for hints. */
export const CONNECTED_SERVERS = `SELECT host(client_addr) AS address, count(*)::int AS connections FROM pg_stat_activity
    WHERE datname = current_database() AND application_name IN ('carillon', 'carillon signals') AND pid <> pg_backend_pid()
    GROUP BY client_addr ORDER BY client_addr`;

const HOLDER = `CASE WHEN held.pid = 0 THEN 'a prepared transaction'
  ELSE coalesce(nullif(application_name, ''), backend_type, 'unknown') END AS application`;

/** $1 the process that waits. */
export const LOCK_HOLDERS = `SELECT DISTINCT held.pid, ${HOLDER} FROM unnest(pg_blocking_pids($1)) AS held(pid)
    LEFT JOIN pg_stat_activity USING (pid) ORDER BY held.pid`;

/** $1 the key, which fits into 31 bits. */
export const ADVISORY_LOCK_HOLDERS = `SELECT held.pid, ${HOLDER} FROM pg_locks held LEFT JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid = 0 AND objid = $1 AND objsubid = 1`;
