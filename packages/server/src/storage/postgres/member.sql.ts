/** Statements of the member store. */
import type { RunId } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import {
  HANDLER_OFFERS_MAX,
  type HandlerOffer,
  type KnownWorker,
  LOST_KEPT_MAX,
  LOST_RUNS_MAX,
  LOST_SHARE_MAX,
  NAMESPACE_OFFERS_MAX,
  type OfferingWorker,
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

/**
 * ended: rows of a handler, the namespaces of its worker and when it was last offered. In one order, so that two of them do not wait for
 * each other in a circle. The statements that trim follow.
 */
const keepOffers = (ended: string) => `ended AS MATERIALIZED (${ended}), kept AS (
    INSERT INTO handler_offers AS known (handler, offered_at)
    SELECT handler, max(offered_at) FROM ended WHERE namespaces IS NULL GROUP BY handler ORDER BY handler
    ON CONFLICT (handler) DO UPDATE SET offered_at = excluded.offered_at WHERE known.offered_at < excluded.offered_at
  ), kept_of_namespaces AS (
    INSERT INTO namespace_offers AS known (namespace, handler, offered_at)
    SELECT n.namespace, e.handler, max(e.offered_at) FROM ended e CROSS JOIN LATERAL unnest(e.namespaces) AS n(namespace)
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (namespace, handler) DO UPDATE SET offered_at = excluded.offered_at WHERE known.offered_at < excluded.offered_at
  )`;

/** $1 namespaces. What is locked is being offered again, or trimmed by somebody else. */
export const TRIM_NAMESPACE_OFFERS = statement('trim_namespace_offers')`
  DELETE FROM namespace_offers WHERE (namespace, handler) IN (
    SELECT namespace, handler FROM namespace_offers WHERE (namespace, handler) IN (
      SELECT o.namespace, o.handler FROM unnest($1::text[]) AS n(namespace) CROSS JOIN LATERAL (
        SELECT namespace, handler FROM namespace_offers WHERE namespace = n.namespace
        ORDER BY offered_at DESC, handler OFFSET ${NAMESPACE_OFFERS_MAX}) o
    ) FOR UPDATE SKIP LOCKED)`;

export const TRIM_HANDLER_OFFERS = statement('trim_handler_offers')`
  DELETE FROM handler_offers WHERE handler IN (
    SELECT handler FROM handler_offers WHERE handler IN (
      SELECT handler FROM handler_offers ORDER BY offered_at DESC, handler OFFSET ${HANDLER_OFFERS_MAX}
    ) FOR UPDATE SKIP LOCKED)`;

/**
 * $1 worker, $2 node, $3 incarnation, $4 slots, $5 handlers, $6 now, $7 boot, $8 session, then what it says of itself, $14 namespaces.
 * Answers what became of it, and whose offers have ended: true, those to all namespaces.
 */
export const REGISTER_WORKER = statement('register_worker')`
  WITH former AS MATERIALIZED (
    SELECT boot_id, session, dead, handlers, last_seen_at, namespaces FROM workers WHERE worker_id = $1
  ), registered AS (
    INSERT INTO workers AS w (worker_id, node_id, incarnation, slots, handlers, last_seen_at, boot_id, session,
      name, language, version, labels, draining, namespaces)
    VALUES ($1, $2::uuid, $3, $4, $5::text[], $6::bigint, $7::uuid, $8::int, $9, $10, $11, $12::jsonb, $13, $14::text[])
    ON CONFLICT (worker_id) DO UPDATE SET slots = excluded.slots, handlers = excluded.handlers, node_id = excluded.node_id,
      session = excluded.session, last_seen_at = excluded.last_seen_at, name = excluded.name,
      language = excluded.language, version = excluded.version, labels = excluded.labels, namespaces = excluded.namespaces
    WHERE NOT w.dead AND w.boot_id = excluded.boot_id AND w.session <= excluded.session
    RETURNING worker_id, node_id
  ), event AS (
    INSERT INTO events (kind, data)
    SELECT 'worker.joined', jsonb_build_object('worker_id', worker_id, 'node_id', node_id) FROM registered
    WHERE NOT EXISTS (SELECT FROM former)
  ), ${keepOffers(`SELECT h.handler, f.namespaces, f.last_seen_at AS offered_at FROM former f CROSS JOIN LATERAL unnest(f.handlers) AS h(handler)
      WHERE (NOT (h.handler = ANY($5::text[])) OR f.namespaces IS DISTINCT FROM $14::text[]) AND EXISTS (SELECT FROM registered)`)}
  SELECT CASE WHEN EXISTS (SELECT FROM registered) THEN 'registered'
    WHEN EXISTS (SELECT FROM former WHERE dead AND boot_id = $7::uuid AND session <= $8::int) THEN 'dead' ELSE 'taken' END,
    EXISTS (SELECT FROM ended WHERE namespaces IS NULL), (SELECT namespaces FROM ended LIMIT 1)`;

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
 * is remembered while nobody has taken it back yet. TRIM_LOST follows.
 */
export const MARK_DEAD = statement('mark_dead')`
  WITH marked AS (
    UPDATE workers SET dead = true
    WHERE NOT dead AND (boot_id = ANY($3::uuid[])
      OR (worker_id, last_seen_at) IN (SELECT * FROM unnest($1::text[], $2::bigint[])))
    RETURNING *
  ), lost AS (
    INSERT INTO lost_workers (worker_id, node_id, session, slots, handlers, name, language, version, labels, namespaces, last_seen_at,
      lost_at, held, held_runs)
    SELECT m.worker_id, m.node_id, m.session, m.slots, m.handlers, m.name, m.language, m.version, m.labels, m.namespaces, m.last_seen_at,
      $4::bigint, cardinality(h.runs), h.runs[1:${LOST_RUNS_MAX}]
    FROM marked m CROSS JOIN LATERAL (
      SELECT ARRAY(SELECT u.run_id FROM leases l CROSS JOIN LATERAL unnest(l.run_ids) WITH ORDINALITY AS u(run_id, ord)
        WHERE l.worker_id = m.worker_id AND NOT ((u.ord - 1)::smallint = ANY(l.closed)) ORDER BY u.run_id) AS runs
    ) h
    ON CONFLICT (worker_id) DO UPDATE SET lost_at = excluded.lost_at, last_seen_at = excluded.last_seen_at, held = excluded.held,
      held_runs = excluded.held_runs
  ), event AS (
    INSERT INTO events (kind, data)
    SELECT 'worker.lost', jsonb_build_object('worker_id', worker_id, 'node_id', node_id) FROM marked
  )
  SELECT worker_id FROM marked UNION SELECT worker_id FROM workers WHERE dead`;

/** $1 lost before. The id of a worker at the end of a stream names its key. */
export const TRIM_LOST = statement('trim_lost')`
  WITH counted AS (
    SELECT worker_id, lost_at, row_number() OVER (ORDER BY lost_at DESC, worker_id) AS at FROM lost_workers
  ), shared AS (
    SELECT l.worker_id, row_number() OVER (PARTITION BY s.kind, s.share ORDER BY l.lost_at DESC, l.worker_id) AS at
    FROM lost_workers l CROSS JOIN LATERAL (
      SELECT 'namespace', unnest(l.namespaces) UNION ALL
      SELECT 'key', split_part(l.worker_id, '@', 2) WHERE l.worker_id LIKE '%@%'
    ) AS s(kind, share)
  )
  DELETE FROM lost_workers WHERE worker_id IN (SELECT worker_id FROM lost_workers WHERE worker_id IN (
      SELECT worker_id FROM counted WHERE at > ${LOST_KEPT_MAX} OR lost_at <= $1::bigint
      UNION SELECT worker_id FROM shared WHERE at > ${LOST_SHARE_MAX}
    ) FOR UPDATE SKIP LOCKED)`;

/**
 * $1 workers, $2 boot and $3 session, or null for any. Before they are forgotten: a claim for one of them that is under way ends
 * first, and is seen then.
 */
export const LOCK_WORKERS = statement('lock_workers')`
  SELECT worker_id FROM workers
  WHERE worker_id = ANY($1::text[]) AND ($2::uuid IS NULL OR boot_id = $2) AND ($3::int IS NULL OR session = $3)
  ORDER BY worker_id FOR UPDATE`;

/** Answers whose offers have ended: NULL, those to all namespaces. */
export const FORGET_WORKERS = statement('forget_workers')`
  WITH gone AS (
    DELETE FROM workers w WHERE w.worker_id = ANY($1::text[])
      AND NOT EXISTS (SELECT FROM leases l WHERE l.worker_id = w.worker_id)
    RETURNING w.worker_id, w.node_id, w.dead, w.handlers, w.last_seen_at, w.namespaces
  ), ${keepOffers('SELECT unnest(handlers) AS handler, namespaces, last_seen_at AS offered_at FROM gone')}, event AS (
    INSERT INTO events (kind, data)
    SELECT 'worker.left', jsonb_build_object('worker_id', worker_id, 'node_id', node_id) FROM gone WHERE NOT dead
  )
  SELECT DISTINCT namespaces FROM gone`;

const STATE = {
  workerId: 'w.worker_id',
  nodeId: 'w.node_id',
  incarnation: 'w.incarnation',
  bootId: 'w.boot_id',
  session: 'w.session',
  slots: 'w.slots',
  draining: 'w.draining',
  stuck: 'w.stuck',
  lastSeenMs: 'w.last_seen_at',
  alive: 'NOT w.dead',
};
const WORKER = columns<WorkerState>(STATE);

/** Without handlers and labels, which may be long: it is read every second. */
export const WORKERS = read('workers', WORKER)`SELECT ${WORKER.sql} FROM workers w ORDER BY w.worker_id`;

const OFFERING = columns<OfferingWorker>({ ...STATE, labels: 'w.labels' });

/** Whether the worker w may be given jobs of one of these namespaces; NULL: of any. */
const servesOneOf = (namespaces: string) =>
  `(${namespaces}::text[] IS NULL OR w.namespaces IS NULL OR w.namespaces && ${namespaces}::text[])`;

/** $1 handler, $2 namespaces. */
export const WORKERS_OFFERING = read('workers_offering', OFFERING)`
  SELECT ${OFFERING.sql} FROM workers w WHERE NOT w.dead AND ${servesOneOf('$2')} AND $1 = ANY(w.handlers) ORDER BY w.worker_id`;

const OFFER = columns<HandlerOffer>({ handler: 'o.handler', workers: 'o.workers' });

/** $1 namespaces, $2 after, $3 limit. */
export const OFFERS = read('offers', OFFER)`
  SELECT ${OFFER.sql} FROM (
    SELECT h.handler COLLATE "C" AS handler, count(*)::int AS workers
    FROM workers w CROSS JOIN LATERAL (SELECT DISTINCT unnest(w.handlers)) AS h(handler)
    WHERE NOT w.dead AND ${servesOneOf('$1')} AND h.handler COLLATE "C" > $2 GROUP BY 1 ORDER BY 1 LIMIT $3
  ) o`;

const KNOWN = columns<KnownWorker>({
  workerId: 'k.worker_id',
  nodeId: 'k.node_id',
  session: 'k.session',
  slots: 'k.slots',
  handlers: 'k.handlers',
  name: 'k.name',
  language: 'k.language',
  version: 'k.version',
  labels: 'k.labels',
  draining: 'k.draining',
  stuck: 'k.stuck',
  lastSeenMs: 'k.last_seen_at',
  alive: 'k.alive',
  lostAtMs: 'k.lost_at',
  held: 'k.held',
  heldRuns: column('k.held_runs::text[]', (runs: readonly RunId[]) => runs),
});

/** Of the workers w, and of the lost ones l that are not among them. $1 lost after. */
const known = ({ w = 'true', l = 'true' } = {}) => `(
    SELECT w.worker_id, w.node_id, w.session, w.slots, w.handlers, w.name, w.language, w.version, w.labels, w.draining, w.stuck,
      w.last_seen_at, NOT w.dead AS alive, l.lost_at, coalesce(l.held, 0) AS held, coalesce(l.held_runs, '{}') AS held_runs
    FROM workers w LEFT JOIN lost_workers l ON l.worker_id = w.worker_id AND w.dead AND l.lost_at > $1::bigint
    WHERE ${w}
    UNION ALL
    SELECT l.worker_id, l.node_id, l.session, l.slots, l.handlers, l.name, l.language, l.version, l.labels, false, 0,
      l.last_seen_at, false, l.lost_at, l.held, l.held_runs
    FROM lost_workers l
    WHERE l.lost_at > $1::bigint AND NOT EXISTS (SELECT FROM workers w WHERE w.worker_id = l.worker_id) AND ${l}
  ) k`;

/** $1 lost after, $2 after, $3 limit, $4 alive or NULL, $5 labels, $6 in the id or the name, or NULL, $7 offers this handler, or NULL. */
export const LIST_WORKERS = read('list_workers', KNOWN)`
  SELECT ${KNOWN.sql} FROM ${known()}
  WHERE k.worker_id COLLATE "C" > $2 AND ($4::boolean IS NULL OR k.alive = $4) AND k.labels @> $5::jsonb
    AND ($6::text IS NULL OR strpos(lower(k.worker_id || chr(10) || coalesce(k.name, '')), $6) > 0)
    AND ($7::text IS NULL OR k.handlers @> ARRAY[$7])
  ORDER BY k.worker_id COLLATE "C" LIMIT $3`;

/** $1 lost after, $2 worker. */
export const FIND_WORKER = read('find_worker', KNOWN)`
  SELECT ${KNOWN.sql} FROM ${known({ w: 'w.worker_id = $2', l: 'l.worker_id = $2' })}`;

/** Leases are as many as there are batches alive: a few hundred. */
export const LEASED_RUNS = statement('leased_runs')`
  SELECT worker_id, sum(cardinality(run_ids) - cardinality(closed))::int FROM leases GROUP BY worker_id`;
