/** Statements of keys and sessions. Instants go in and out as milliseconds. */
import type { Action, ApiKey, Grant, Session } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import type { FoundKey, FoundSession } from '../account-store.ts';
import { USER } from './account.sql.ts';
import { timestampOf } from './fragments.sql.ts';
import { column, columns, ms, optional, read } from './selection.ts';

const KEY = columns<ApiKey>({
  keyId: 'k.key_id',
  name: 'k.name',
  prefix: 'k.prefix',
  ownerId: 'k.owner_id',
  grant: columns<Grant>({ namespace: 'k.namespace', role: 'k.role', ownOnly: 'k.own_only' }),
  scopes: column('k.scopes', (scopes: readonly Action[]) => new Set(scopes)),
  createdAtMs: ms('k.created_at'),
  expiresAtMs: ms('k.expires_at'),
  lastUsedAtMs: ms('k.last_used_at'),
});

export const CREATE_KEY = statement('create_key')`
  INSERT INTO api_keys (key_id, prefix, hash, name, owner_id, namespace, role, own_only, scopes, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text[], ${timestampOf('$10')}, ${timestampOf('$11')})
  ON CONFLICT (prefix) DO NOTHING RETURNING key_id`;

export const GET_KEY = read('get_key', KEY)`SELECT ${KEY.sql} FROM api_keys k WHERE key_id = $1`;

/** $1 see all, $2 owner or NULL, $3 namespaces or NULL, $4 after this id or NULL, $5 limit. */
export const LIST_KEYS = read('list_keys', KEY)`
  SELECT ${KEY.sql} FROM api_keys k
  WHERE ($1::boolean OR owner_id = $2::uuid OR namespace = ANY($3::text[])) AND ($4::uuid IS NULL OR key_id < $4::uuid)
  ORDER BY key_id DESC LIMIT $5`;

const FOUND_KEY = columns<FoundKey>({ key: KEY, hash: 'k.hash', owner: optional(USER) });

export const KEY_TO_CHECK = read('key_to_check', FOUND_KEY)`
  SELECT ${FOUND_KEY.sql} FROM api_keys k LEFT JOIN users u ON u.user_id = k.owner_id WHERE k.prefix = $1`;

export const REMOVE_KEY = statement('remove_key')`DELETE FROM api_keys WHERE key_id = $1 RETURNING key_id`;

const SESSION = columns<Session>({
  sessionId: 's.session_id',
  userId: 's.user_id',
  createdAtMs: ms('s.created_at'),
  lastSeenAtMs: ms('s.last_seen_at'),
  expiresAtMs: ms('s.expires_at'),
  address: 's.address',
  userAgent: 's.user_agent',
});

export const CREATE_SESSION = statement('create_session')`
  INSERT INTO sessions (session_id, hash, user_id, created_at, last_seen_at, expires_at, address, user_agent)
  SELECT $1::uuid, $2::text, u.user_id, ${timestampOf('$4')}, ${timestampOf('$5')}, ${timestampOf('$6')}, $7::text, $8::text FROM users u
  WHERE u.user_id = $3::uuid AND NOT u.disabled AND ($9::text IS NULL OR u.password_hash = $9::text)
  RETURNING session_id`;

const FOUND_SESSION = columns<FoundSession>({ session: SESSION, user: USER });

export const SESSION_TO_CHECK = read('session_to_check', FOUND_SESSION)`
  SELECT ${FOUND_SESSION.sql} FROM sessions s JOIN users u ON u.user_id = s.user_id WHERE s.hash = $1`;

/** A person has a handful; the bound is for whoever signs in from a script. */
export const SESSIONS_OF = read('sessions_of', SESSION)`
  SELECT ${SESSION.sql} FROM sessions s WHERE user_id = $1 ORDER BY session_id DESC LIMIT 1000`;

export const GET_SESSION = read('get_session', SESSION)`
  SELECT ${SESSION.sql} FROM sessions s WHERE session_id = $1`;

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

/** In the order of the ids, so that two servers that note the same ones wait for each other instead of colliding. */
export const NOTE_KEY_USES = statement('note_key_uses')`
  UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, ${timestampOf('u.at')})
  FROM (SELECT l.key_id, g.at FROM unnest($1::uuid[], $2::bigint[]) AS g(id, at) JOIN api_keys l ON l.key_id = g.id
    ORDER BY l.key_id FOR UPDATE OF l) u
  WHERE k.key_id = u.key_id`;

export const NOTE_SESSION_USES = statement('note_session_uses')`
  UPDATE sessions s SET last_seen_at = greatest(s.last_seen_at, ${timestampOf('u.at')})
  FROM (SELECT l.session_id, g.at FROM unnest($1::uuid[], $2::bigint[]) AS g(id, at) JOIN sessions l ON l.session_id = g.id
    ORDER BY l.session_id FOR UPDATE OF l) u
  WHERE s.session_id = u.session_id`;
