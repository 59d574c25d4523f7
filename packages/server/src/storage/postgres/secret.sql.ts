/** Statements of secrets. Instants go in and out as milliseconds. */
import type { Secret } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import type { StoredSecret } from '../secret-store.ts';
import { timestampOf } from './fragments.sql.ts';
import { columns, ms, read } from './selection.ts';

const FIELDS = {
  namespace: 'namespace',
  name: 'name',
  version: 'version',
  masked: 'masked',
  createdAtMs: ms('created_at'),
  createdBy: 'created_by',
  updatedAtMs: ms('updated_at'),
  updatedBy: 'updated_by',
};
const SECRET = columns<Secret>(FIELDS);
const STORED = columns<StoredSecret>({ ...FIELDS, value: 'value' });

export const SECRETS = read('secrets', SECRET)`
  SELECT ${SECRET.sql} FROM secrets WHERE namespace = $1 ORDER BY name`;

export const FIND_SECRETS = read('find_secrets', STORED)`
  SELECT ${STORED.sql} FROM secrets WHERE namespace = $1 AND name = ANY($2::text[]) ORDER BY name`;

/** Two who set a secret of a namespace at the same moment do so one after the other; jobs go on being made meanwhile. */
export const LOCK_SECRETS = statement('lock_secrets')`
  SELECT name FROM namespaces WHERE name = $1 FOR NO KEY UPDATE`;

/** $1 namespace, $2 name: its version, and how many secrets the namespace has. */
export const SECRET_VERSION = statement('secret_version')`
  SELECT coalesce(max(version) FILTER (WHERE name = $2::text), 0)::int, count(*)::int FROM secrets WHERE namespace = $1::text`;

/** $1 namespace, $2 name, $3 version, $4 value, $5 masked, $6 when, $7 by whom. */
export const PUT_SECRET = statement('put_secret')`
  INSERT INTO secrets (namespace, name, version, value, masked, created_at, created_by, updated_at, updated_by)
  VALUES ($1, $2, $3, $4, $5, ${timestampOf('$6')}, $7, ${timestampOf('$6')}, $7)
  ON CONFLICT (namespace, name) DO UPDATE SET version = excluded.version, value = excluded.value, masked = excluded.masked,
    updated_at = excluded.updated_at, updated_by = excluded.updated_by`;

export const REMOVE_SECRET = statement('remove_secret')`
  DELETE FROM secrets WHERE namespace = $1 AND name = $2 RETURNING name`;

/** $1 how values begin, $2 namespace and $3 name after which, $4 how many. */
export const SECRETS_SEALED_OTHERWISE = read('secrets_sealed_otherwise', STORED)`
  SELECT ${STORED.sql} FROM secrets
  WHERE NOT starts_with(value, $1::text) AND (namespace, name) > ($2::text, $3::text)
  ORDER BY namespace, name LIMIT $4::int`;

/** $1 namespace, $2 name, $3 value before, $4 value after. */
export const RESEAL_SECRET = statement('reseal_secret')`
  UPDATE secrets SET value = $4 WHERE namespace = $1 AND name = $2 AND value = $3 RETURNING name`;
