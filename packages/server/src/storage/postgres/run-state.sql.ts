/** Statements of the run state store. */
import { statement } from '../../postgres/database.ts';
import type { StoredCheckpoint } from '../run-state-store.ts';
import { timestampOf } from './fragments.sql.ts';
import { unpacked } from './lease.sql.ts';
import { columns, ms, read } from './selection.ts';

/**
 * $1 lease ids, $2 positions, $3 epochs, $4 values, $5 sequences, $6 now: one row for each that is held, by its number. The lease is locked,
 * so that a run is either still under it when this commits, or was settled before and nothing is saved. What an attempt saved
 * later is not overwritten by what it saved before.
 */
export const SAVE_CHECKPOINTS = statement('save_checkpoints')`
  WITH locked AS MATERIALIZED (
    SELECT l.* FROM leases l WHERE l.lease_id = ANY($1::uuid[]) ORDER BY l.lease_id FOR NO KEY UPDATE
  ), held AS MATERIALIZED (
    SELECT l.lease_id, l.closed, ${unpacked('l', ['run_ids', 'epochs'])} FROM locked l
  ), given AS MATERIALIZED (
    SELECT q.ord, q.epoch, q.data, q.seq, l.lease_id, l.run_ids[q.position + 1] AS run_id
    FROM unnest($1::uuid[], $2::smallint[], $3::int[], $4::text[], $5::bigint[]) WITH ORDINALITY
      AS q(lease_id, position, epoch, data, seq, ord)
    JOIN held l ON l.lease_id = q.lease_id
    WHERE NOT (q.position = ANY(l.closed)) AND l.epochs[q.position + 1] = q.epoch
  ), marked AS (
    UPDATE leases l SET checkpointed = true WHERE l.lease_id IN (SELECT lease_id FROM given) AND NOT l.checkpointed
  ), saved AS (
    INSERT INTO checkpoints AS c (run_id, epoch, seq, bytes, data, saved_at)
    SELECT run_id, epoch, seq, octet_length(data), data, ${timestampOf('$6')} FROM given
    ON CONFLICT (run_id) DO UPDATE SET epoch = excluded.epoch, bytes = excluded.bytes, data = excluded.data, saved_at = excluded.saved_at,
      seq = excluded.seq WHERE c.epoch <> excluded.epoch OR c.seq < excluded.seq
  )
  SELECT ord FROM given`;

const CHECKPOINT = columns<StoredCheckpoint>({
  savedAtMs: ms('c.saved_at'),
  bytes: 'c.bytes',
  epoch: 'c.epoch',
  data: 'c.data',
});

export const CHECKPOINT_OF_RUN = read('checkpoint_of_run', CHECKPOINT)`
  SELECT ${CHECKPOINT.sql} FROM checkpoints c WHERE c.run_id = $1::uuid`;

/** $1 the run that died, $2 the one that it is redriven as: whatever that saves, with whatever epoch and number, comes after it. */
export const MOVE_CHECKPOINT = statement('move_checkpoint')`
  UPDATE checkpoints SET run_id = $2::uuid, seq = -1 WHERE run_id = $1::uuid`;

/**
 * $1 lease ids, $2 positions, $3 epochs, $4 percents, $5 messages, $6 now: one row for each that is shown, by its number. A run leaves
 * its lease and its row stops being RUNNING in one transaction, so the row says by itself whether the run still is what it was.
 */
export const SHOW_PROGRESS = statement('show_progress')`
  WITH held AS MATERIALIZED (
    SELECT l.lease_id, l.closed, l.shown, l.claimed_at, ${unpacked('l', ['run_ids', 'epochs'])}
    FROM leases l WHERE l.lease_id = ANY($1::uuid[])
  ), given AS MATERIALIZED (
    SELECT q.ord, q.epoch, q.percent, q.message, l.run_ids[q.position + 1] AS run_id, l.claimed_at
    FROM unnest($1::uuid[], $2::smallint[], $3::int[], $4::float8[], $5::text[]) WITH ORDINALITY
      AS q(lease_id, position, epoch, percent, message, ord)
    JOIN held l ON l.lease_id = q.lease_id
    WHERE q.position = ANY(l.shown) AND NOT (q.position = ANY(l.closed)) AND l.epochs[q.position + 1] = q.epoch
  ), told AS (
    UPDATE job_runs r SET progress = g.percent, progress_message = g.message, modified_time = ${timestampOf('$6')}
    FROM given g
    WHERE r.run_id = g.run_id AND r.epoch = g.epoch AND r.created_at = ${timestampOf('g.claimed_at')} AND r.status = 'RUNNING'
    RETURNING g.ord, g.run_id, g.epoch, g.claimed_at
  ), event AS (
    INSERT INTO events (kind, ids, epochs, claimed_ats)
    SELECT 'run.progress', array_agg(run_id), array_agg(epoch), array_agg(claimed_at) FROM told HAVING count(*) > 0
  )
  SELECT ord FROM told`;
