-- Keys that sign the requests of http jobs, per namespace. Unlike other secrets they are needed in full, so no hash would do.
CREATE TABLE signing_keys (
  signing_key_id    uuid PRIMARY KEY,
  namespace         text COLLATE "C" NOT NULL REFERENCES namespaces ON DELETE CASCADE,
  secret            text NOT NULL,
  created_at        timestamptz NOT NULL,
  starts_at         timestamptz NOT NULL,
  ends_at           timestamptz
);

CREATE INDEX signing_keys_namespace ON signing_keys (namespace, signing_key_id);
