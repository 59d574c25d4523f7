/** Statements of the member store. */
import type { RunId } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import {
  LOST_KEPT_MAX,
  LOST_KEPT_MS,
  LOST_RUNS_MAX,
  type LostWorker,
  type ShardOwner,
  type UnreceivedRun,
  type WorkerState,
} from '../member-store.ts';
import { msOf } from './fragments.sql.ts';
import { column, columns, read } from './selection.ts';

export const SERVER_TIME = statement('server_time')`SELECT ${msOf('clock_timestamp()')}`;

/**
 * $1 node, $2 incarnation, $3 address, $4 now, $5 oldest living beat, $6 latest, $7 boot, $8 when joining: boots that have ended.
 * The row changes only for its own boot, or for one that joins (SHARD-4). A beat also records, once, which nodes fell silent; a row that
 * is locked belongs to a node that is beating.
 */
export const BEAT_NODE = statement('beat_node')`
  WITH former AS MATERIALIZED (
    SELECT boot_id, lost FROM nodes WHERE node_id = $1::uuid
  ), beat AS (
    INSERT INTO nodes (node_id, incarnation, boot_id, address, last_seen_at, expires_at)
    VALUES ($1::uuid, $2, $7::uuid, $3, $4::bigint, $6::bigint)
    ON CONFLICT (node_id) DO UPDATE SET incarnation = excluded.incarnation, boot_id = excluded.boot_id,
      address = excluded.address, last_seen_at = excluded.last_seen_at, expires_at = excluded.expires_at,
      lost = false
    WHERE nodes.boot_id = excluded.boot_id OR nodes.boot_id = ANY($8::uuid[])
      OR ($8::uuid[] IS NOT NULL AND nodes.incarnation < excluded.incarnation
        AND (nodes.last_seen_at <= $5::bigint OR nodes.last_seen_at > $6::bigint))
    RETURNING node_id, boot_id
  ), lost AS (
    UPDATE nodes SET lost = true WHERE node_id IN (
      SELECT node_id FROM nodes WHERE node_id <> $1::uuid AND NOT lost
        AND (last_seen_at <= $5::bigint OR last_seen_at > $6::bigint) FOR UPDATE SKIP LOCKED)
    RETURNING node_id
  ), event AS (
    INSERT INTO events (kind, data)
    SELECT 'node.joined', jsonb_build_object('node_id', b.node_id) FROM beat b
    WHERE NOT EXISTS (SELECT FROM former f WHERE f.boot_id = b.boot_id AND NOT f.lost)
    UNION ALL SELECT 'node.lost', jsonb_build_object('node_id', node_id) FROM lost
  )
  SELECT node_id, true FROM beat
  UNION ALL SELECT node_id, false FROM nodes
    WHERE node_id <> $1::uuid AND last_seen_at > $5::bigint AND last_seen_at <= $6::bigint`;

/** $1 boot, $2 addresses, $3 until, $4 oldest to keep, $5 how other servers reach it. A row that is locked is being recorded again. */
export const PUBLISH_ADDRESSES = statement('publish_addresses')`
  WITH forgotten AS (
    DELETE FROM listeners WHERE boot_id IN (
      SELECT boot_id FROM listeners WHERE expires_at <= $4::bigint AND boot_id <> $1::uuid FOR UPDATE SKIP LOCKED)
  )
  INSERT INTO listeners (boot_id, addresses, expires_at, peer)
  VALUES ($1::uuid, $2::text[], $3::bigint, $5::jsonb)
  ON CONFLICT (boot_id) DO UPDATE SET addresses = excluded.addresses, expires_at = excluded.expires_at,
    peer = excluded.peer`;

export const WITHDRAW_ADDRESSES = statement('withdraw_addresses')`
  DELETE FROM listeners WHERE boot_id = $1::uuid`;

export const PUBLISHED_ADDRESSES = statement('published_addresses')`
  SELECT address FROM nodes WHERE expires_at > $1::bigint
  UNION SELECT unnest(addresses) FROM listeners WHERE expires_at > $1::bigint`;

export const PUBLISHED_PEERS = statement('published_peers')`
  SELECT boot_id, expires_at, peer FROM listeners WHERE peer IS NOT NULL ORDER BY expires_at DESC`;

export const LEAVE_NODE = statement('leave_node')`
  WITH gone AS (
    DELETE FROM nodes WHERE node_id = $1::uuid AND boot_id = $2::uuid RETURNING node_id
  )
  INSERT INTO events (kind, data) SELECT 'node.left', jsonb_build_object('node_id', node_id) FROM gone`;

const SHARD = columns<ShardOwner>({
  shard: 's.shard',
  nodeId: 's.node_id',
  epoch: 's.epoch',
  expiresAtMs: 'coalesce(n.expires_at, 0)',
});

export const SHARDS = read('shards', SHARD)`
  SELECT ${SHARD.sql} FROM shards s LEFT JOIN nodes n ON n.node_id = s.node_id
  ORDER BY s.shard`;

/** $1 shards. Before ACQUIRE_SHARDS, in the same transaction, in one order for all. */
export const LOCK_SHARDS = statement('lock_shards')`
  SELECT FROM shards WHERE shard = ANY($1::smallint[]) ORDER BY shard FOR UPDATE`;

/**
 * $1 node, $2 shards, $3 now, $4 latest expiry that the present clock can have set, $5 boot. As a statement of its own after the
 * lock it sees the beats of a node that took the shards meanwhile: a node beats before it takes. The epoch grows (SHARD-2). The lock on the node lets no
 * other process take the node id between the check and the commit: a process that stood still since its beat would take from
 * its successor what seems to be its own.
 */
export const ACQUIRE_SHARDS = statement('acquire_shards')`
  WITH holder AS MATERIALIZED (
    SELECT boot_id FROM nodes WHERE node_id = $1::uuid FOR SHARE
  )
  UPDATE shards s SET node_id = $1::uuid, epoch = s.epoch + 1
  WHERE s.shard = ANY($2::smallint[]) AND NOT EXISTS (SELECT FROM holder WHERE boot_id <> $5::uuid)
    AND (s.node_id IS NULL OR s.node_id = $1::uuid OR NOT EXISTS (SELECT FROM nodes n
      WHERE n.node_id = s.node_id AND n.expires_at > $3::bigint AND n.expires_at <= $4::bigint))
  RETURNING s.shard, s.epoch`;

/** $1 node, $2 shards, $3 epochs, $4 boot. Frees what the node does not know it owns (SHARD-5). Waits for a node that is taking one. */
export const KEEP_SHARDS = statement('keep_shards')`
  WITH holder AS MATERIALIZED (
    SELECT boot_id FROM nodes WHERE node_id = $1::uuid FOR SHARE
  ), freed AS (
    UPDATE shards s SET node_id = NULL
    WHERE s.node_id = $1::uuid AND NOT EXISTS (SELECT FROM holder WHERE boot_id <> $4::uuid)
      AND NOT EXISTS (SELECT FROM unnest($2::smallint[], $3::bigint[]) AS g(shard, epoch)
        WHERE g.shard = s.shard AND g.epoch = s.epoch)
  )
  SELECT s.shard FROM shards s JOIN unnest($2::smallint[], $3::bigint[]) AS g(shard, epoch)
    ON s.shard = g.shard AND s.epoch = g.epoch
  WHERE s.node_id = $1::uuid FOR KEY SHARE OF s`;

/** $1 node, $2 shards, $3 epochs. */
export const RELEASE_SHARDS = statement('release_shards')`
  UPDATE shards s SET node_id = NULL FROM unnest($2::smallint[], $3::bigint[]) AS g(shard, epoch)
  WHERE s.shard = g.shard AND s.epoch = g.epoch AND s.node_id = $1::uuid`;

/** ended: rows of a handler and when it was last offered. In the order of handlers, so that two of them do not wait for each other in a circle. */
const keepOffers = (ended: string) => `
    INSERT INTO handler_offers AS known (handler, offered_at)
    SELECT handler, max(offered_at) FROM (${ended}) AS ended(handler, offered_at) GROUP BY handler ORDER BY handler
    ON CONFLICT (handler) DO UPDATE SET offered_at = excluded.offered_at WHERE known.offered_at < excluded.offered_at`;

/**
 * $1 worker, $2 node, $3 incarnation, $4 slots, $5 handlers, $6 now, $7 boot, $8 session, then what it says of itself. Answers what
 * became of it.
 */
export const REGISTER_WORKER = statement('register_worker')`
  WITH former AS MATERIALIZED (
    SELECT boot_id, session, dead, handlers, last_seen_at FROM workers WHERE worker_id = $1
  ), registered AS (
    INSERT INTO workers AS w (worker_id, node_id, incarnation, slots, handlers, last_seen_at, boot_id, session,
      name, language, version, labels, draining)
    VALUES ($1, $2::uuid, $3, $4, $5::text[], $6::bigint, $7::uuid, $8::int, $9, $10, $11, $12::jsonb, $13)
    ON CONFLICT (worker_id) DO UPDATE SET slots = excluded.slots, handlers = excluded.handlers, node_id = excluded.node_id,
      session = excluded.session, last_seen_at = excluded.last_seen_at, name = excluded.name,
      language = excluded.language, version = excluded.version, labels = excluded.labels
    WHERE NOT w.dead AND w.boot_id = excluded.boot_id AND w.session <= excluded.session
    RETURNING worker_id, node_id
  ), event AS (
    INSERT INTO events (kind, data)
    SELECT 'worker.joined', jsonb_build_object('worker_id', worker_id, 'node_id', node_id) FROM registered
    WHERE NOT EXISTS (SELECT FROM former)
  ), kept AS (${keepOffers(`SELECT h.handler, f.last_seen_at FROM former f CROSS JOIN LATERAL unnest(f.handlers) AS h(handler)
      WHERE NOT (h.handler = ANY($5::text[])) AND EXISTS (SELECT FROM registered)`)}
  )
  SELECT CASE WHEN EXISTS (SELECT FROM registered) THEN 'registered'
    WHEN EXISTS (SELECT FROM former WHERE dead AND boot_id = $7::uuid AND session <= $8::int) THEN 'dead' ELSE 'taken' END`;

/** $1 worker, $2 now, $3 stuck, $4 session. A dead worker stays dead; the session only grows. */
export const BEAT_WORKER = statement('beat_worker')`
  UPDATE workers SET last_seen_at = $2::bigint, stuck = $3::int, session = greatest(session, $4::int)
  WHERE worker_id = $1 AND NOT dead RETURNING draining`;

/**
 * $1 workers, $2 now, $3 stuck, $4 sessions. As above, for several. Waits for no row, so that a worker whose row is locked keeps no
 * other from being heard, and no two statements wait for each other.
 */
export const BEAT_WORKERS = statement('beat_workers')`
  WITH heard AS MATERIALIZED (
    SELECT worker_id FROM workers WHERE worker_id = ANY($1::text[]) AND NOT dead ORDER BY worker_id FOR NO KEY UPDATE SKIP LOCKED
  )
  UPDATE workers w SET last_seen_at = $2::bigint, stuck = b.stuck, session = greatest(w.session, b.session)
  FROM heard JOIN unnest($1::text[], $3::int[], $4::int[]) AS b(worker_id, stuck, session) ON b.worker_id = heard.worker_id
  WHERE w.worker_id = heard.worker_id AND NOT w.dead RETURNING w.worker_id, w.draining`;

/** $1 worker, $2 draining. */
export const DRAIN_WORKER = statement('drain_worker')`
  UPDATE workers SET draining = $2 WHERE worker_id = $1 AND NOT dead RETURNING worker_id`;

/**
 * $1 leases: runs that are to stop, by request or because their job is cancelled. By key: an index on workers would lead past
 * every lease that the worker ever had while an old snapshot is open.
 */
export const CANCELLED_RUNS = statement('cancelled_runs')`
  SELECT l.lease_id, u.run_id FROM leases l
  CROSS JOIN LATERAL unnest(l.run_ids, l.job_ids) WITH ORDINALITY AS u(run_id, job_id, ord)
  WHERE l.lease_id = ANY($1::uuid[]) AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
    AND ((u.ord - 1)::smallint = ANY(l.cancelled)
      OR (SELECT j.status FROM jobs j WHERE j.job_id = u.job_id) = 'CANCELLED')`;

/** $1 leases. By key, as above. */
export const UNKNOWN_LEASES = statement('unknown_leases')`
  SELECT q.lease_id FROM unnest($1::uuid[]) AS q(lease_id)
  WHERE NOT EXISTS (SELECT FROM leases l WHERE l.lease_id = q.lease_id)`;

const UNRECEIVED_RUN = columns<UnreceivedRun>({
  leaseId: 'l.lease_id',
  position: '(u.ord - 1)::smallint',
  epoch: 'u.epoch',
  jobId: 'u.job_id',
  runId: 'u.run_id',
  claimedAtMs: 'l.claimed_at',
});

/** $1 worker, $2 held leases, $3 claimed from, $4 until, $5 the session of whoever asks (LEASE-14). */
export const UNRECEIVED_RUNS = read('unreceived_runs', UNRECEIVED_RUN)`
  SELECT ${UNRECEIVED_RUN.sql} FROM leases l
  CROSS JOIN LATERAL unnest(l.epochs, l.job_ids, l.run_ids) WITH ORDINALITY AS u(epoch, job_id, run_id, ord)
  WHERE l.worker_id = $1 AND l.claimed_at >= $3::bigint AND l.claimed_at < $4::bigint
    AND NOT (l.lease_id = ANY($2::uuid[])) AND NOT ((u.ord - 1)::smallint = ANY(l.closed))
    AND EXISTS (SELECT FROM workers w WHERE w.worker_id = $1 AND w.session = $5::int)`;

/**
 * $1 silent workers, $2 as last heard, $3 boots that have ended, $4 now. Whoever has been heard meanwhile is not silent. What they hold
 * is remembered while nobody has taken it back yet.
 */
export const MARK_DEAD = statement('mark_dead')`
  WITH marked AS (
    UPDATE workers SET dead = true
    WHERE NOT dead AND (boot_id = ANY($3::uuid[])
      OR (worker_id, last_seen_at) IN (SELECT * FROM unnest($1::text[], $2::bigint[])))
    RETURNING *
  ), lost AS (
    INSERT INTO lost_workers (worker_id, node_id, session, slots, handlers, name, language, version, labels, last_seen_at, lost_at, held,
      held_runs)
    SELECT m.worker_id, m.node_id, m.session, m.slots, m.handlers, m.name, m.language, m.version, m.labels, m.last_seen_at, $4::bigint,
      cardinality(h.runs), h.runs[1:${LOST_RUNS_MAX}]
    FROM marked m CROSS JOIN LATERAL (
      SELECT ARRAY(SELECT u.run_id FROM leases l CROSS JOIN LATERAL unnest(l.run_ids) WITH ORDINALITY AS u(run_id, ord)
        WHERE l.worker_id = m.worker_id AND NOT ((u.ord - 1)::smallint = ANY(l.closed)) ORDER BY u.run_id) AS runs
    ) h
    ON CONFLICT (worker_id) DO UPDATE SET lost_at = excluded.lost_at, last_seen_at = excluded.last_seen_at, held = excluded.held,
      held_runs = excluded.held_runs
  ), expired AS (
    DELETE FROM lost_workers WHERE worker_id NOT IN (SELECT worker_id FROM marked) AND (lost_at <= $4::bigint - ${LOST_KEPT_MS}
      OR worker_id IN (SELECT worker_id FROM lost_workers ORDER BY lost_at DESC, worker_id OFFSET ${LOST_KEPT_MAX}))
  ), event AS (
    INSERT INTO events (kind, data)
    SELECT 'worker.lost', jsonb_build_object('worker_id', worker_id, 'node_id', node_id) FROM marked
  )
  SELECT worker_id FROM marked UNION SELECT worker_id FROM workers WHERE dead`;

/**
 * $1 workers, $2 boot and $3 session, or null for any. Before they are forgotten: a claim for one of them that is under way ends
 * first, and is seen then.
 */
export const LOCK_WORKERS = statement('lock_workers')`
  SELECT worker_id FROM workers
  WHERE worker_id = ANY($1::text[]) AND ($2::uuid IS NULL OR boot_id = $2) AND ($3::int IS NULL OR session = $3)
  ORDER BY worker_id FOR UPDATE`;

export const FORGET_WORKERS = statement('forget_workers')`
  WITH gone AS (
    DELETE FROM workers w WHERE w.worker_id = ANY($1::text[])
      AND NOT EXISTS (SELECT FROM leases l WHERE l.worker_id = w.worker_id)
    RETURNING w.worker_id, w.node_id, w.dead, w.handlers, w.last_seen_at
  ), kept AS (${keepOffers('SELECT unnest(handlers), last_seen_at FROM gone')}
  )
  INSERT INTO events (kind, data)
  SELECT 'worker.left', jsonb_build_object('worker_id', worker_id, 'node_id', node_id) FROM gone WHERE NOT dead`;

const WORKER = columns<WorkerState>({
  workerId: 'worker_id',
  nodeId: 'node_id',
  incarnation: 'incarnation',
  bootId: 'boot_id',
  session: 'session',
  slots: 'slots',
  handlers: 'handlers',
  name: 'name',
  language: 'language',
  version: 'version',
  labels: 'labels',
  draining: 'draining',
  stuck: 'stuck',
  lastSeenMs: 'last_seen_at',
  alive: 'NOT dead',
});

export const WORKERS = read('workers', WORKER)`SELECT ${WORKER.sql} FROM workers ORDER BY worker_id`;

const LOST = columns<LostWorker>({
  workerId: 'worker_id',
  nodeId: 'node_id',
  session: 'session',
  slots: 'slots',
  handlers: 'handlers',
  name: 'name',
  language: 'language',
  version: 'version',
  labels: 'labels',
  lastSeenMs: 'last_seen_at',
  lostAtMs: 'lost_at',
  held: 'held',
  heldRuns: column('held_runs::text[]', (runs: readonly RunId[]) => runs),
});

/** $1 lost after. */
export const LOST_WORKERS = read('lost_workers', LOST)`
  SELECT ${LOST.sql} FROM lost_workers WHERE lost_at > $1::bigint ORDER BY lost_at DESC, worker_id LIMIT ${LOST_KEPT_MAX}`;

/** Leases are as many as there are batches alive: a few hundred. */
export const LEASED_RUNS = statement('leased_runs')`
  SELECT worker_id, sum(cardinality(run_ids) - cardinality(closed))::int FROM leases GROUP BY worker_id`;
