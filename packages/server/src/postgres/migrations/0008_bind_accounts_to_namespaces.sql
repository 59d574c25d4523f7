-- Nothing points to a namespace that is gone: whoever hands out a grant or a key waits for a removal under way, and then
-- finds nothing to point to. '*' is no namespace, so what refers to one is a column of its own.
DELETE FROM user_grants g WHERE namespace <> '*' AND NOT EXISTS (SELECT FROM namespaces n WHERE n.name = g.namespace);
DELETE FROM api_keys k WHERE namespace <> '*' AND NOT EXISTS (SELECT FROM namespaces n WHERE n.name = k.namespace);

ALTER TABLE user_grants ADD COLUMN place text COLLATE "C" GENERATED ALWAYS AS (nullif(namespace, '*')) STORED
  REFERENCES namespaces ON DELETE CASCADE;
ALTER TABLE api_keys ADD COLUMN place text COLLATE "C" GENERATED ALWAYS AS (nullif(namespace, '*')) STORED
  REFERENCES namespaces ON DELETE CASCADE;
CREATE INDEX user_grants_place ON user_grants (place);
CREATE INDEX api_keys_place ON api_keys (place);
DROP INDEX user_grants_namespace;

-- Entries up to this one tell of a namespace that had the name before, and are not for those who look after this one.
ALTER TABLE namespaces ADD COLUMN audit_after bigint NOT NULL DEFAULT 0;
-- A quiet namespace is read without walking through what its neighbours did.
CREATE INDEX audit_log_namespace ON audit_log (namespace, audit_id) WHERE namespace IS NOT NULL;
CREATE INDEX audit_log_namespace_action ON audit_log (namespace, action, audit_id)
  WHERE namespace IS NOT NULL AND action <> 'jobs.create';

-- Where somebody has signed in from: who guesses their password from elsewhere does not lock them out there.
CREATE TABLE sign_in_addresses (
  user_id           uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  address           text NOT NULL,
  last_used_at      timestamptz NOT NULL,
  PRIMARY KEY (user_id, address)
);
