/** Statements about which attempts have said something. */
import { statement } from '../../postgres/database.ts';
import type { RunLogRecord } from '../run-log-store.ts';
import { timestampOf } from './fragments.sql.ts';
import { columns, ms, read } from './selection.ts';

const RECORD = columns<RunLogRecord>({
  runId: 'run_id',
  epoch: 'epoch',
  day: 'day::text',
  nodeId: 'node_id',
  writer: 'writer',
  bytes: 'bytes::float8',
  lines: 'lines::float8',
  firstAtMs: ms('first_at'),
  lastAtMs: ms('last_at'),
  ended: 'ended',
  incomplete: 'incomplete',
});

/** One element per attempt and server. In the order of the key, so that two servers never wait for each other in a circle. */
export const RECORD_LOGS = statement('record_logs')`
  INSERT INTO run_logs (run_id, epoch, day, node_id, writer, bytes, lines, first_at, last_at, ended, incomplete)
  SELECT run_id, epoch, day::date, node_id, writer, bytes, lines, ${timestampOf('first_ms')}, ${timestampOf('last_ms')}, ended, incomplete
  FROM unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::float8[], $9::float8[],
    $10::boolean[], $11::boolean[]) AS l(run_id, epoch, day, node_id, writer, bytes, lines, first_ms, last_ms, ended, incomplete)
  ORDER BY run_id, epoch
  ON CONFLICT (run_id, epoch, coalesce(node_id, writer, '')) DO UPDATE SET bytes = excluded.bytes, lines = excluded.lines,
    last_at = excluded.last_at, day = excluded.day, node_id = excluded.node_id, writer = excluded.writer, first_at = excluded.first_at,
    ended = excluded.ended, incomplete = excluded.incomplete`;

export const LOGS_OF = read('logs_of', RECORD)`
  SELECT ${RECORD.sql} FROM run_logs WHERE run_id = $1 ORDER BY epoch, first_at, coalesce(node_id, writer, '')`;

/** $1 the server, $2 after this run or NULL, $3 limit. */
export const OPEN_LOGS = read('open_logs', RECORD)`
  SELECT ${RECORD.sql} FROM run_logs
  WHERE NOT ended AND coalesce(node_id, writer, '') = $1 AND ($2::uuid IS NULL OR run_id > $2::uuid)
  ORDER BY run_id, epoch LIMIT $3`;

/** $1 before this day. */
export const DROP_LOGS = statement('drop_logs')`
  WITH gone AS (
    DELETE FROM run_logs WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM run_logs WHERE day < $1::text::date ORDER BY day LIMIT 10000
    )) RETURNING 1
  )
  SELECT count(*) FROM gone`;
