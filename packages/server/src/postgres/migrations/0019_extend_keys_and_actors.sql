-- A key carries any number of grants, as a user does.
CREATE TABLE key_grants (
  key_id            uuid NOT NULL REFERENCES api_keys ON DELETE CASCADE,
  namespace         text COLLATE "C" NOT NULL,
  own_only          boolean NOT NULL DEFAULT false,
  role              text NOT NULL,
  place             text COLLATE "C" GENERATED ALWAYS AS (nullif(namespace, '*')) STORED REFERENCES namespaces ON DELETE CASCADE,
  PRIMARY KEY (key_id, namespace, own_only)
);

INSERT INTO key_grants (key_id, namespace, own_only, role) SELECT key_id, namespace, own_only, role FROM api_keys;
CREATE INDEX key_grants_namespace ON key_grants (namespace, key_id);
CREATE INDEX key_grants_place ON key_grants (place);

-- first_prefix: by it a repeated request finds the key that the first one made, also after rotations. maker_id: the user who made it.
-- previous_*: the secret before the last rotation.
ALTER TABLE api_keys
  DROP COLUMN place,
  DROP COLUMN namespace,
  DROP COLUMN own_only,
  DROP COLUMN role,
  ADD COLUMN first_prefix          text,
  ADD COLUMN maker_id              uuid,
  ADD COLUMN last_used_address     text,
  ADD COLUMN previous_prefix       text,
  ADD COLUMN previous_hash         text,
  ADD COLUMN previous_expires_at   timestamptz,
  ADD COLUMN previous_last_used_at timestamptz;

UPDATE api_keys SET first_prefix = prefix;
ALTER TABLE api_keys ALTER COLUMN first_prefix SET NOT NULL;
CREATE UNIQUE INDEX api_keys_first_prefix ON api_keys (first_prefix);
CREATE UNIQUE INDEX api_keys_previous_prefix ON api_keys (previous_prefix) WHERE previous_prefix IS NOT NULL;

-- Who made the keys from before stands in the audit log.
UPDATE api_keys k SET maker_id = u.user_id
FROM audit_log a JOIN users u ON u.user_id::text = a.actor_id
WHERE a.subject_id = k.key_id::text AND a.action = 'keys.create' AND a.actor_kind = 'user';

-- What a person came with when they changed something: a session or a key. Entries from before have none.
ALTER TABLE audit_log
  ADD COLUMN via_kind text,
  ADD COLUMN via_id   text,
  ADD COLUMN via_name text;
