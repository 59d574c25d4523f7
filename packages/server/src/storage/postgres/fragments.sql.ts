/** Pieces of SQL that several statements share. */
import { SMALL_PAYLOAD_BYTES_MAX } from '../lease-store.ts';

/** Instants are milliseconds where the scheduler reads and writes them, timestamps in what people may read. */
export function timestampOf(ms: string): string {
  return `to_timestamp(${ms}::float8 / 1000)`;
}

export function msOf(timestamp: string): string {
  return `(extract(epoch FROM ${timestamp}) * 1000)::float8`;
}

/**
 * Whether there is such a row, searched for each row of the outer query. Written as plain EXISTS, a plan made while the table was
 * empty reads all of it into a hash: through a sequential scan on PostgreSQL 18, even where those are turned off. OFFSET forbids that.
 */
export function exists(query: string): string {
  return `EXISTS (${query} OFFSET 0)`;
}

/**
 * Whether the end of its last run ends the job `j`. Not while a pause holds back others of its runs: they would be held for ever,
 * since an ended job cannot be resumed. Such a job stays paused, and ends with what is released.
 *
 * except: a further condition on the held rows `h` that count, for statements that take some out themselves.
 */
export function mayEnd(except = ''): string {
  return `(j.status = 'SCHEDULED' OR (j.status = 'PAUSED'
        AND NOT ${exists('SELECT FROM cursors c WHERE c.job_id = j.job_id')}
        AND NOT ${exists(`SELECT FROM due h WHERE h.job_id = j.job_id AND h.held ${except}`)}))`;
}

/**
 * The pending run with this id. The first run of a one-off has the id of its job and is found by the primary key, which begins
 * with the job: new jobs, of which most are one-offs, need no entry in the index on ids of runs.
 */
export function pendingRun(id: string): string {
  return `(SELECT * FROM due WHERE run_id = ${id} AND run_id <> job_id
      UNION ALL SELECT * FROM due WHERE job_id = ${id} AND run_id = ${id})`;
}

/**
 * A payload that is small travels in the pending row itself, so that claiming it reads no job (a quarter of a claim's
 * cost). Larger ones would make `due` slow to read for everybody: there it is NULL, and the claim reads the job. Cursors,
 * which are never claimed, carry none. text: an expression that gives the payload's JSON.
 */
export function inlinePayload(text: string): string {
  return `CASE WHEN octet_length(${text}) <= ${SMALL_PAYLOAD_BYTES_MAX} THEN ${text} END`;
}

/** column: of type jsonb. What takes up much more is not unpacked only to be found too large. */
export function inlineJson(column: string): string {
  return `CASE WHEN pg_column_size(${column}) <= ${2 * SMALL_PAYLOAD_BYTES_MAX} THEN ${inlinePayload(`${column}::text`)} END`;
}

/**
 * SHARD-1: the guard of every write of a shard's owner, as a common table expression: which of the shards named by a non-NULL epoch
 * still belong to the node. The lock lets no change of hands slip in between this check and the commit: the epoch is part of
 * a unique index, so changing it conflicts with a key-share lock, of which claims take hundreds a second. Nothing renews these
 * rows: dead versions of them would be walked by every claim while an old snapshot is open (hazard 29).
 *
 * Epochs come as one array indexed by shard, and the answer is one number with a bit per shard: joining sets of 64, or searching
 * an array of them for every row, cost more than the rest of the check.
 */
export function owned(node: string, epochs: string): string {
  return `owned_shards AS MATERIALIZED (
      SELECT s.shard FROM shards s WHERE s.node_id = ${node}::uuid AND s.epoch = (${epochs}::bigint[])[s.shard + 1] FOR KEY SHARE
    ), owned AS MATERIALIZED (
      SELECT bit_or(1::bigint << shard) AS shards FROM owned_shards
    )`;
}

/** Whether the shard is among them; no row passes when none is. */
export function isOwned(shard: string): string {
  return `((SELECT shards FROM owned) >> ${shard}) & 1 = 1`;
}

/** The run was redriven, or run again. Only what a person asked for is looked up. */
export function isRepeat(kind: string, runId: string): string {
  const origin = `SELECT FROM run_requests q WHERE q.run_id = ${runId} AND q.origin_run_id IS NOT NULL`;
  return `CASE WHEN ${kind} = 3 THEN ${exists(origin)} ELSE ${kind} = 4 END`;
}

/** Of the job j: its schedule spreads its starts. */
export const IS_SPREAD = `coalesce((j.schedule->>'spreadMs')::float8, 0) > 0`;
