/** Statements of keys and sessions. Instants go in and out as milliseconds. */
import type { Action, ApiKey, PreviousSecret, Session } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import type { FoundKey, FoundSession } from '../account-store.ts';
import { grantsIn, USER } from './account.sql.ts';
import { timestampOf } from './fragments.sql.ts';
import { column, columns, ms, optional, read } from './selection.ts';

/** A key k, and its owner u. */
const KEY = columns<ApiKey>({
  keyId: 'k.key_id',
  name: 'k.name',
  prefix: 'k.prefix',
  ownerId: 'k.owner_id',
  ownerName: 'u.name',
  makerId: 'k.maker_id',
  grants: grantsIn('key_grants', 'g.key_id = k.key_id'),
  scopes: column('k.scopes', (scopes: readonly Action[]) => new Set(scopes)),
  offers: 'k.worker_handlers',
  createdAtMs: ms('k.created_at'),
  expiresAtMs: ms('k.expires_at'),
  lastUsedAtMs: ms('k.last_used_at'),
  lastUsedAddress: 'k.last_used_address',
  previous: optional(
    columns<PreviousSecret>({
      prefix: 'k.previous_prefix',
      expiresAtMs: ms('k.previous_expires_at'),
      lastUsedAtMs: ms('k.previous_last_used_at'),
    }),
  ),
});
const KEYS = 'api_keys k LEFT JOIN users u ON u.user_id = k.owner_id';

/** Its grants as arrays: $11 namespaces, $12 roles, $13 own_only. */
export const CREATE_KEY = statement('create_key')`
  WITH created AS (
    INSERT INTO api_keys (key_id, prefix, first_prefix, hash, name, owner_id, maker_id, scopes, created_at, expires_at,
      worker_handlers)
    VALUES ($1, $2, $2, $3, $4, $5, $6, $7::text[], ${timestampOf('$8')}, ${timestampOf('$9')}, $10::text[])
    ON CONFLICT DO NOTHING RETURNING key_id),
  granted AS (INSERT INTO key_grants (key_id, namespace, role, own_only)
    SELECT created.key_id, g.* FROM created, unnest($11::text[], $12::text[], $13::boolean[]) AS g)
  SELECT key_id FROM created`;

export const LOCK_OWNER = statement('lock_owner')`
  SELECT user_id FROM users WHERE user_id = $1 FOR NO KEY UPDATE`;

/** Keys that work everywhere count together, behind the namespace that is always there. */
export const LOCK_PLACE = statement('lock_place')`
  SELECT name FROM namespaces WHERE name = CASE $1::text WHEN '*' THEN 'default' ELSE $1::text END FOR NO KEY UPDATE`;

export const GET_KEY = read('get_key', KEY)`SELECT ${KEY.sql} FROM ${KEYS} WHERE k.key_id = $1`;

const grantIn = (namespaces: string) =>
  `EXISTS (SELECT FROM key_grants g WHERE g.key_id = k.key_id AND g.namespace = ${namespaces})`;

/** At $3: those of the owner $1; where that is NULL, those of nobody with a grant in $2. */
export const LIVING_KEYS = statement('living_keys')`
  SELECT count(*)::int FROM api_keys k
  WHERE CASE WHEN $1::uuid IS NULL THEN k.owner_id IS NULL AND ${grantIn('$2::text')} ELSE k.owner_id = $1::uuid END
    AND (k.expires_at IS NULL OR k.expires_at > ${timestampOf('$3')})`;

/** $1 see all, $2 owner or NULL, $3 namespaces or NULL, $4 after this id or NULL, $5 limit. Filters, each of which may be NULL: $6 owner,
 * $7 namespace, $8 name, $9 expired at $10, $11 neither made nor used since. */
export const LIST_KEYS = read('list_keys', KEY)`
  SELECT ${KEY.sql} FROM ${KEYS}
  WHERE ($1::boolean OR k.owner_id = $2::uuid OR ${grantIn('ANY($3::text[])')})
    AND ($4::uuid IS NULL OR k.key_id < $4::uuid)
    AND ($6::uuid IS NULL OR k.owner_id = $6::uuid)
    AND ($7::text IS NULL OR ${grantIn('$7::text')})
    AND ($8::text IS NULL OR k.name = $8::text)
    AND ($9::boolean IS NULL OR coalesce(k.expires_at <= ${timestampOf('$10::bigint')}, false) = $9::boolean)
    AND ($11::bigint IS NULL OR coalesce(k.last_used_at, k.created_at) < ${timestampOf('$11::bigint')})
  ORDER BY k.key_id DESC LIMIT $5`;

const FOUND_KEY = columns<FoundKey>({
  key: KEY,
  hash: 'CASE WHEN k.prefix = $1 THEN k.hash ELSE k.previous_hash END',
  isPrevious: 'k.prefix <> $1',
  owner: optional(USER),
});

export const KEY_TO_CHECK = read('key_to_check', FOUND_KEY)`
  SELECT ${FOUND_KEY.sql} FROM ${KEYS} WHERE k.prefix = $1 OR k.previous_prefix = $1`;

export const RENAME_KEY = statement('rename_key')`
  UPDATE api_keys SET name = $2 WHERE key_id = $1 RETURNING key_id`;

/** $2 the prefix it has, $3 and $4 the prefix and the hash of the new secret, $5 until when the old one works, $6 when the key expires, $7 its
 * maker from now on. */
export const ROTATE_KEY = statement('rotate_key')`
  UPDATE api_keys SET prefix = $3, hash = $4, expires_at = ${timestampOf('$6')}, maker_id = $7,
    previous_prefix = prefix, previous_hash = hash, previous_expires_at = ${timestampOf('$5')}, previous_last_used_at = last_used_at
  WHERE key_id = $1 AND prefix = $2 RETURNING key_id`;

/** Before their grants in the namespace go: two removals at once must not each leave a key to the other. */
export const LOCK_KEYS_IN = statement('lock_keys_in')`
  SELECT key_id FROM api_keys k WHERE ${grantIn('$1')} ORDER BY key_id FOR UPDATE`;

/** Those that have grants in this namespace alone. */
export const REMOVE_KEYS_IN = statement('remove_keys_in')`
  DELETE FROM api_keys k WHERE ${grantIn('$1')}
    AND NOT EXISTS (SELECT FROM key_grants g WHERE g.key_id = k.key_id AND g.namespace <> $1)`;

export const REMOVE_EXPIRED_KEYS = statement('remove_expired_keys')`
  DELETE FROM api_keys WHERE expires_at < ${timestampOf('$1')} RETURNING key_id`;

/** Their grants are read as they were before the statement. */
export const END_KEYS = read('end_keys', KEY)`
  WITH k AS (DELETE FROM api_keys WHERE maker_id = $1 RETURNING *)
  SELECT ${KEY.sql} FROM k LEFT JOIN users u ON u.user_id = k.owner_id`;

export const REMOVE_KEY = statement('remove_key')`DELETE FROM api_keys WHERE key_id = $1 RETURNING key_id`;

/** A session s of the user u; of the admin key, there is none. */
const SESSION = columns<Session>({
  sessionId: 's.session_id',
  userId: 's.user_id',
  userName: 'u.name',
  method: 's.method',
  createdAtMs: ms('s.created_at'),
  lastSeenAtMs: ms('s.last_seen_at'),
  expiresAtMs: ms('s.expires_at'),
  address: 's.address',
  userAgent: 's.user_agent',
});

const inUse = (adminKey: string) => `EXISTS (SELECT FROM admin_keys a WHERE a.digest = ${adminKey})`;

/** One of nobody is bound to the admin key $11, which must be in use. */
export const CREATE_SESSION = statement('create_session')`
  INSERT INTO sessions (session_id, hash, user_id, created_at, last_seen_at, expires_at, address, user_agent, method, admin_key)
  SELECT $1::uuid, $2::text, $3::uuid, ${timestampOf('$4')}, ${timestampOf('$5')}, ${timestampOf('$6')}, $7::text, $8::text,
    $10::text, CASE WHEN $3::uuid IS NULL THEN $11::text END
  WHERE CASE WHEN $3::uuid IS NULL THEN ${inUse('$11::text')} ELSE EXISTS (SELECT FROM users u
    WHERE u.user_id = $3::uuid AND NOT u.disabled AND ($9::text IS NULL OR u.password_hash = $9::text)) END
  RETURNING session_id`;

/** $1 holder, $2 digest, $3 now. */
export const USE_ADMIN_KEY = statement('use_admin_key')`
  INSERT INTO admin_keys (holder, digest, seen_at) VALUES ($1, $2, ${timestampOf('$3')})
  ON CONFLICT (holder) DO UPDATE SET digest = EXCLUDED.digest, seen_at = greatest(admin_keys.seen_at, EXCLUDED.seen_at)`;

/** Not one that its holder renews at this moment. */
export const FORGET_ADMIN_KEYS = statement('forget_admin_keys')`
  DELETE FROM admin_keys WHERE holder IN (
    SELECT holder FROM admin_keys WHERE seen_at < ${timestampOf('$1')} FOR UPDATE SKIP LOCKED)`;

export const END_ADMIN_SESSIONS = statement('end_admin_sessions')`
  DELETE FROM sessions s WHERE s.user_id IS NULL AND NOT ${inUse('s.admin_key')}`;

export const END_TICKETS = statement('end_tickets')`
  DELETE FROM sign_in_tickets t WHERE NOT ${inUse('t.admin_key')}`;

export const ADD_TICKET = statement('add_ticket')`
  INSERT INTO sign_in_tickets (hash, expires_at, admin_key) VALUES ($1, ${timestampOf('$2')}, $3)`;

export const REMOVE_OLD_TICKETS = statement('remove_old_tickets')`
  DELETE FROM sign_in_tickets WHERE expires_at <= ${timestampOf('$1')}`;

/** $2 now. Of two at the same instant, one waits for the other and finds nothing. */
export const USE_TICKET = statement('use_ticket')`
  DELETE FROM sign_in_tickets WHERE hash = $1 AND expires_at > ${timestampOf('$2')} RETURNING admin_key`;

const SESSIONS = 'sessions s LEFT JOIN users u ON u.user_id = s.user_id';
const FOUND_SESSION = columns<FoundSession>({ session: SESSION, user: optional(USER) });

export const SESSION_TO_CHECK = read('session_to_check', FOUND_SESSION)`
  SELECT ${FOUND_SESSION.sql} FROM ${SESSIONS} WHERE s.hash = $1 AND (s.user_id IS NOT NULL OR ${inUse('s.admin_key')})`;

/** Each of these may be NULL: $1 user, $2 ends after, $3 seen after, $4 after this id. $5 limit. */
export const LIST_SESSIONS = read('list_sessions', SESSION)`
  SELECT ${SESSION.sql} FROM ${SESSIONS}
  WHERE ($1::uuid IS NULL OR s.user_id = $1::uuid)
    AND ($2::bigint IS NULL OR s.expires_at > ${timestampOf('$2::bigint')})
    AND ($3::bigint IS NULL OR s.last_seen_at > ${timestampOf('$3::bigint')})
    AND ($4::uuid IS NULL OR s.session_id < $4::uuid)
  ORDER BY s.session_id DESC LIMIT $5`;

export const GET_SESSION = read('get_session', SESSION)`
  SELECT ${SESSION.sql} FROM ${SESSIONS} WHERE s.session_id = $1`;

export const REMOVE_SESSION = statement('remove_session')`
  DELETE FROM sessions WHERE session_id = $1 RETURNING session_id`;

/** $2 the hash of the one that stays, or NULL. */
export const END_SESSIONS = statement('end_sessions')`
  DELETE FROM sessions WHERE user_id = $1 AND hash IS DISTINCT FROM $2`;

export const NOTE_ADDRESS = statement('note_address')`
  INSERT INTO sign_in_addresses (user_id, address, last_used_at) VALUES ($1, $2, ${timestampOf('$3')})
  ON CONFLICT (user_id, address) DO UPDATE SET last_used_at = greatest(sign_in_addresses.last_used_at, EXCLUDED.last_used_at)`;

export const HAS_SIGNED_IN_FROM = statement('has_signed_in_from')`
  SELECT user_id FROM users JOIN sign_in_addresses USING (user_id) WHERE name = $1 AND address = $2`;

export const FORGET_ADDRESSES = statement('forget_addresses')`
  DELETE FROM sign_in_addresses WHERE last_used_at < ${timestampOf('$1')}`;

export const REMOVE_OLD_SESSIONS = statement('remove_old_sessions')`
  DELETE FROM sessions WHERE expires_at < ${timestampOf('$1')} OR last_seen_at < ${timestampOf('$2')} RETURNING session_id`;

export const CREDENTIAL_NAMES = statement('credential_names')`
  SELECT p.prefix FROM api_keys k, unnest(ARRAY[k.prefix, k.previous_prefix]) AS p(prefix)
  WHERE p.prefix IS NOT NULL AND (k.expires_at IS NULL OR k.expires_at > ${timestampOf('$1')})
  UNION ALL SELECT s.hash FROM sessions s WHERE s.expires_at > ${timestampOf('$1')}`;

/** In the order of the ids, so that two servers that note the same ones wait for each other instead of colliding. */
export const NOTE_KEY_USES = statement('note_key_uses')`
  UPDATE api_keys k SET
    last_used_address = CASE WHEN k.last_used_at IS NULL OR ${timestampOf('u.at')} >= k.last_used_at
      THEN coalesce(u.address, k.last_used_address) ELSE k.last_used_address END,
    last_used_at = greatest(k.last_used_at, ${timestampOf('u.at')}),
    previous_last_used_at = greatest(k.previous_last_used_at, ${timestampOf('u.previous_at')})
  FROM (SELECT l.key_id, g.at, g.address, g.previous_at
    FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[]) AS g(id, at, address, previous_at)
    JOIN api_keys l ON l.key_id = g.id ORDER BY l.key_id FOR UPDATE OF l) u
  WHERE k.key_id = u.key_id`;

export const NOTE_SESSION_USES = statement('note_session_uses')`
  UPDATE sessions s SET last_seen_at = greatest(s.last_seen_at, ${timestampOf('u.at')})
  FROM (SELECT l.session_id, g.at FROM unnest($1::uuid[], $2::bigint[]) AS g(id, at) JOIN sessions l ON l.session_id = g.id
    ORDER BY l.session_id FOR UPDATE OF l) u
  WHERE s.session_id = u.session_id`;
