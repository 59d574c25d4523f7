/** Statements of namespaces and users. Instants go in and out as milliseconds. */
import type { Statement } from '../../postgres/database.ts';
import { msOf, timestampOf } from './fragments.sql.ts';

const NAMESPACE = `name, description, ${msOf('created_at')}`;

/** $1 names or NULL, $2 after this name or NULL, $3 limit. */
export const LIST_NAMESPACES: Statement = {
  name: 'list_namespaces',
  text: `SELECT ${NAMESPACE} FROM namespaces
    WHERE ($1::text[] IS NULL OR name = ANY($1::text[])) AND name > coalesce($2::text, '')
    ORDER BY name LIMIT $3`,
};

export const EXISTING_NAMESPACES: Statement = {
  name: 'existing_namespaces',
  text: 'SELECT name FROM namespaces WHERE name = ANY($1::text[])',
};

export const CREATE_NAMESPACE: Statement = {
  name: 'create_namespace',
  text: `INSERT INTO namespaces (name, description, created_at) VALUES ($1, $2, ${timestampOf('$3')})
    ON CONFLICT (name) DO NOTHING RETURNING name`,
};

/** A statement of its own: only when the name is ours is every entry about whoever had it before in the log. */
export const BEGIN_AUDIT: Statement = {
  name: 'begin_audit',
  text: `UPDATE namespaces SET audit_after = nextval(pg_get_serial_sequence('audit_log', 'audit_id')) WHERE name = $1`,
};

export const DESCRIBE_NAMESPACE: Statement = {
  name: 'describe_namespace',
  text: 'UPDATE namespaces SET description = $2 WHERE name = $1 RETURNING name',
};

/** Those that are there, kept from being removed while somebody puts something into them. */
export const HOLD_NAMESPACES: Statement = {
  name: 'hold_namespaces',
  text: 'SELECT name FROM namespaces WHERE name = ANY($1::text[]) FOR KEY SHARE',
};

/** Waits for whoever is about to put something into it, and keeps out who comes later. */
export const LOCK_NAMESPACE: Statement = {
  name: 'lock_namespace',
  text: 'SELECT name FROM namespaces WHERE name = $1 FOR UPDATE',
};

/** The condition on 'default' stands for the partial index that finds jobs of a namespace. */
export const NAMESPACE_IN_USE: Statement = {
  name: 'namespace_in_use',
  text: `SELECT job_id FROM jobs WHERE namespace = $1 AND namespace <> 'default' LIMIT 1`,
};

/** Grants and keys in it go with it. */
export const REMOVE_NAMESPACE: Statement = {
  name: 'remove_namespace',
  text: 'DELETE FROM namespaces WHERE name = $1',
};

const GRANTS = `(SELECT coalesce(json_agg(json_build_array(g.namespace, g.role, g.own_only) ORDER BY g.namespace, g.own_only), '[]')
      FROM user_grants g WHERE g.user_id = u.user_id)`;

/** The columns of a user u, in the order of UserRow. */
export const USER = `u.user_id, u.name, u.display_name, u.disabled, u.password_hash IS NOT NULL, ${GRANTS},
    ${msOf('u.created_at')}, ${msOf('u.updated_at')}`;

/** $1 id, $2 name, $3 display name, $4 password hash, $5 disabled, $6 created, $7 updated; the grants as arrays $8 to $10; $11 idempotency key,
 * $12 what it was asked with. */
export const CREATE_USER: Statement = {
  name: 'create_user',
  text: `WITH created AS (
      INSERT INTO users (user_id, name, display_name, password_hash, disabled, created_at, updated_at, idempotency_key, request_hash)
      VALUES ($1, $2, $3, $4, $5, ${timestampOf('$6')}, ${timestampOf('$7')}, $11, $12) ON CONFLICT DO NOTHING RETURNING user_id),
    granted AS (INSERT INTO user_grants (user_id, namespace, role, own_only)
      SELECT created.user_id, g.* FROM created, unnest($8::text[], $9::text[], $10::boolean[]) AS g)
    SELECT user_id FROM created`,
};

export const USER_MADE_BY: Statement = {
  name: 'user_made_by',
  text: 'SELECT user_id, request_hash FROM users WHERE idempotency_key = $1',
};

export const GET_USER: Statement = {
  name: 'get_user',
  text: `SELECT ${USER} FROM users u WHERE user_id = $1`,
};

export const LIST_USERS: Statement = {
  name: 'list_users',
  text: `SELECT ${USER} FROM users u WHERE name > coalesce($1::text, '') ORDER BY name LIMIT $2`,
};

export const USER_TO_SIGN_IN: Statement = {
  name: 'user_to_sign_in',
  text: `SELECT ${USER}, u.password_hash FROM users u WHERE name = $1`,
};

export const PASSWORD_HASH_OF: Statement = {
  name: 'password_hash_of',
  text: 'SELECT password_hash FROM users WHERE user_id = $1',
};

/** NULL leaves a field as it is. A disabled user keeps no session. */
export const CHANGE_USER: Statement = {
  name: 'change_user',
  text: `WITH changed AS (
      UPDATE users SET display_name = coalesce($2, display_name), disabled = coalesce($3, disabled),
        password_hash = coalesce($4, password_hash), updated_at = ${timestampOf('$5')}
      WHERE user_id = $1 RETURNING user_id, disabled),
    ended AS (DELETE FROM sessions USING changed WHERE sessions.user_id = changed.user_id AND changed.disabled)
    SELECT user_id FROM changed`,
};

export const DROP_GRANTS: Statement = {
  name: 'drop_grants',
  text: 'DELETE FROM user_grants WHERE user_id = $1',
};

export const ADD_GRANTS: Statement = {
  name: 'add_grants',
  text: `INSERT INTO user_grants (user_id, namespace, role, own_only)
    SELECT $1, g.* FROM unnest($2::text[], $3::text[], $4::boolean[]) AS g`,
};

export const REMOVE_USER: Statement = {
  name: 'remove_user',
  text: 'DELETE FROM users WHERE user_id = $1 RETURNING user_id',
};
