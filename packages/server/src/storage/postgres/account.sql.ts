/** Statements of namespaces and users. Instants go in and out as milliseconds. */
import type { Grant, Namespace, User, UserIdentity } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import { msOf, timestampOf } from './fragments.sql.ts';
import { column, columns, ms, optional, read } from './selection.ts';

const NAMESPACE = columns<Namespace>({
  name: 'name',
  description: 'description',
  createdAtMs: ms('created_at'),
});

/** $1 names or NULL, $2 after this name or NULL, $3 limit. */
export const LIST_NAMESPACES = read('list_namespaces', NAMESPACE)`
  SELECT ${NAMESPACE.sql} FROM namespaces
  WHERE ($1::text[] IS NULL OR name = ANY($1::text[])) AND name > coalesce($2::text, '')
  ORDER BY name LIMIT $3`;

export const EXISTING_NAMESPACES = statement('existing_namespaces')`
  SELECT name FROM namespaces WHERE name = ANY($1::text[])`;

export const CREATE_NAMESPACE = statement('create_namespace')`
  INSERT INTO namespaces (name, description, created_at) VALUES ($1, $2, ${timestampOf('$3')})
  ON CONFLICT (name) DO NOTHING RETURNING name`;

/** $2 for so long. A statement of its own: whoever waited for a removal sees it only in the next one. */
export const NAME_RESTS = statement('name_rests')`
  SELECT least(r.removed_at + $2::bigint - ${msOf('clock_timestamp()')}, $2::bigint)::float8 FROM removed_namespaces r
  WHERE r.name = $1 AND r.removed_at > ${msOf('clock_timestamp()')} - $2::bigint`;

/** $1 since when, as milliseconds that have passed. What another removal is forgetting is left to it. */
export const FORGET_REMOVED = statement('forget_removed_namespaces')`
  DELETE FROM removed_namespaces WHERE name IN (
    SELECT name FROM removed_namespaces WHERE removed_at < ${msOf('clock_timestamp()')} - $1::bigint FOR UPDATE SKIP LOCKED)`;

export const REMEMBER_REMOVED = statement('remember_removed_namespace')`
  INSERT INTO removed_namespaces (name, removed_at) VALUES ($1, ${msOf('clock_timestamp()')})
  ON CONFLICT (name) DO UPDATE SET removed_at = excluded.removed_at`;

/** A statement of its own: only when the name is ours is all about whoever had it before in the audit log and in the events. */
export const BEGIN_HISTORY = statement('begin_history')`
  UPDATE namespaces SET audit_after = nextval(pg_get_serial_sequence('audit_log', 'audit_id')), events_after = nextval('events_seq')
  WHERE name = $1`;

export const DESCRIBE_NAMESPACE = statement('describe_namespace')`
  UPDATE namespaces SET description = $2 WHERE name = $1 RETURNING name`;

/** Those that are there, kept from being removed while somebody puts something into them. */
export const HOLD_NAMESPACES = statement('hold_namespaces')`
  SELECT name FROM namespaces WHERE name = ANY($1::text[]) FOR KEY SHARE`;

/** Waits for whoever is about to put something into it, and keeps out who comes later. */
export const LOCK_NAMESPACE = statement('lock_namespace')`
  SELECT name FROM namespaces WHERE name = $1 FOR UPDATE`;

/** The condition on 'default' stands for the partial index that finds jobs of a namespace. */
export const NAMESPACE_IN_USE = statement('namespace_in_use')`
  SELECT job_id FROM jobs WHERE namespace = $1 AND namespace <> 'default' LIMIT 1`;

/** Grants in it go with it. */
/** With what was counted of its runs: another that gets the name later must not see it. */
export const REMOVE_NAMESPACE = statement('remove_namespace')`
  WITH minutes AS (DELETE FROM run_minutes WHERE namespace = $1),
    hours AS (DELETE FROM run_hours WHERE namespace = $1),
    failures AS (DELETE FROM failure_hours WHERE namespace = $1)
  DELETE FROM namespaces WHERE name = $1`;

type GrantRow = readonly [namespace: string, role: Grant['role'], ownOnly: boolean];

/** Of all rows of the table that meet the condition. */
export const grantsIn = (table: 'user_grants' | 'key_grants', condition: string) =>
  column(
    `(SELECT coalesce(json_agg(json_build_array(g.namespace, g.role, g.own_only) ORDER BY g.namespace, g.own_only), '[]')
      FROM ${table} g WHERE ${condition})`,
    (rows: readonly GrantRow[]) =>
      rows.map(([namespace, role, ownOnly]): Grant => ({ namespace, role, ownOnly })),
  );

/** A user u. */
export const USER = columns<User>({
  userId: 'u.user_id',
  name: 'u.name',
  displayName: 'u.display_name',
  disabled: 'u.disabled',
  hasPassword: 'u.password_hash IS NOT NULL',
  identity: optional(columns<UserIdentity>({ issuer: 'u.issuer', subject: 'u.subject' })),
  grants: grantsIn('user_grants', 'g.user_id = u.user_id'),
  createdAtMs: ms('u.created_at'),
  updatedAtMs: ms('u.updated_at'),
});

/** $1 id, $2 name, $3 display name, $4 password hash, $5 disabled, $6 created, $7 updated; the grants as arrays $8 to $10; $11 idempotency key,
 * $12 the hash of its request; $13 issuer, $14 subject. */
export const CREATE_USER = statement('create_user')`
  WITH created AS (
    INSERT INTO users (user_id, name, display_name, password_hash, disabled, created_at, updated_at, idempotency_key, request_hash,
      issuer, subject)
    VALUES ($1, $2, $3, $4, $5, ${timestampOf('$6')}, ${timestampOf('$7')}, $11, $12, $13, $14) ON CONFLICT DO NOTHING RETURNING user_id),
  granted AS (INSERT INTO user_grants (user_id, namespace, role, own_only)
    SELECT created.user_id, g.* FROM created, unnest($8::text[], $9::text[], $10::boolean[]) AS g)
  SELECT user_id FROM created`;

export const USER_MADE_BY = statement('user_made_by')`
  SELECT user_id, request_hash FROM users WHERE idempotency_key = $1`;

export const GET_USER = read('get_user', USER)`SELECT ${USER.sql} FROM users u WHERE user_id = $1`;

export const USER_NAMES = statement('user_names')`
  SELECT user_id::text, name FROM users WHERE user_id = ANY($1::uuid[])`;

export const SUBJECT_NAMES = statement('subject_names')`
  SELECT job_id::text, name FROM jobs WHERE job_id = ANY($1::uuid[])
  UNION ALL SELECT user_id::text, name FROM users WHERE user_id = ANY($1::uuid[])
  UNION ALL SELECT key_id::text, name FROM api_keys WHERE key_id = ANY($1::uuid[])`;

export const USER_WITH_IDENTITY = read('user_with_identity', USER)`
  SELECT ${USER.sql} FROM users u WHERE issuer = $1 AND subject = $2`;

export const LIST_USERS = read('list_users', USER)`
  SELECT ${USER.sql} FROM users u
  WHERE name > coalesce($1::text, '') AND ($3::text IS NULL OR name = $3::text) ORDER BY name LIMIT $2`;

const SIGNING_IN = columns<{ user: User; passwordHash: string | undefined }>({
  user: USER,
  passwordHash: 'u.password_hash',
});

export const USER_TO_SIGN_IN = read('user_to_sign_in', SIGNING_IN)`
  SELECT ${SIGNING_IN.sql} FROM users u WHERE name = $1`;

export const PASSWORD_HASH_OF = statement('password_hash_of')`
  SELECT password_hash FROM users WHERE user_id = $1`;

/** NULL leaves a field as it is. A disabled user keeps no session. */
export const CHANGE_USER = statement('change_user')`
  WITH changed AS (
    UPDATE users SET display_name = coalesce($2, display_name), disabled = coalesce($3, disabled),
      password_hash = coalesce($4, password_hash), updated_at = ${timestampOf('$5')}
    WHERE user_id = $1 RETURNING user_id, disabled),
  ended AS (DELETE FROM sessions USING changed WHERE sessions.user_id = changed.user_id AND changed.disabled)
  SELECT user_id FROM changed`;

export const DROP_GRANTS = statement('drop_grants')`DELETE FROM user_grants WHERE user_id = $1`;

export const ADD_GRANTS = statement('add_grants')`
  INSERT INTO user_grants (user_id, namespace, role, own_only)
  SELECT $1, g.* FROM unnest($2::text[], $3::text[], $4::boolean[]) AS g`;

export const REMOVE_USER = statement('remove_user')`DELETE FROM users WHERE user_id = $1 RETURNING user_id`;

/** Held to the end of the transaction by whoever may take an administrator away: the next one counts after that. */
export const LOCK_ADMINISTRATORS = statement('lock_administrators')`SELECT pg_advisory_xact_lock(7420005)`;

export const ADMINISTRATORS = statement('administrators')`
  SELECT u.user_id FROM users u WHERE NOT u.disabled AND EXISTS (SELECT FROM user_grants g
    WHERE g.user_id = u.user_id AND g.namespace = '*' AND g.role = 'admin' AND NOT g.own_only) LIMIT 2`;
