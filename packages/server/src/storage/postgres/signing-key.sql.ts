/** Statements of the keys that sign requests. Instants go in and out as milliseconds. */
import type { SigningKey } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import type { StoredSigningKey } from '../signing-key-store.ts';
import { timestampOf } from './fragments.sql.ts';
import { columns, ms, read } from './selection.ts';

const FIELDS = {
  signingKeyId: 'signing_key_id',
  namespace: 'namespace',
  createdAtMs: ms('created_at'),
  startsAtMs: ms('starts_at'),
  endsAtMs: ms('ends_at'),
};
const SIGNING_KEY = columns<SigningKey>(FIELDS);
const STORED = columns<StoredSigningKey>({ ...FIELDS, secret: 'secret' });

export const SIGNING_KEYS = read('signing_keys', STORED)`
  SELECT ${STORED.sql} FROM signing_keys WHERE namespace = $1 ORDER BY signing_key_id`;

export const GET_SIGNING_KEY = read('get_signing_key', SIGNING_KEY)`
  SELECT ${SIGNING_KEY.sql} FROM signing_keys WHERE signing_key_id = $1`;

/** Two who add a key at the same moment do so one after the other; jobs go on being made meanwhile. */
export const LOCK_SIGNING = statement('lock_signing')`
  SELECT name FROM namespaces WHERE name = $1 FOR NO KEY UPDATE`;

export const FORGET_ENDED_SIGNING_KEYS = statement('forget_ended_signing_keys')`
  DELETE FROM signing_keys WHERE namespace = $1 AND ends_at <= ${timestampOf('$2')}`;

/** $1 namespace, $2 the end. */
export const END_SIGNING_KEYS = statement('end_signing_keys')`
  UPDATE signing_keys SET ends_at = least(ends_at, ${timestampOf('$2')}) WHERE namespace = $1`;

/** $1 id, $2 namespace, $3 secret, $4 created, $5 start, $6 end or NULL, $7 how many there may be. */
export const ADD_SIGNING_KEY = statement('add_signing_key')`
  INSERT INTO signing_keys (signing_key_id, namespace, secret, created_at, starts_at, ends_at)
  SELECT $1::uuid, $2::text, $3::text, ${timestampOf('$4')}, ${timestampOf('$5')}, ${timestampOf('$6')}
  WHERE (SELECT count(*) FROM signing_keys WHERE namespace = $2::text) < $7::int
  RETURNING signing_key_id`;

export const REMOVE_SIGNING_KEY = statement('remove_signing_key')`
  DELETE FROM signing_keys WHERE signing_key_id = $1 RETURNING signing_key_id`;
