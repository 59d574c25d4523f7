-- Secrets that payloads name, per namespace. The value is encrypted by the server, which alone has the key.
CREATE TABLE secrets (
  namespace         text COLLATE "C" NOT NULL REFERENCES namespaces ON DELETE CASCADE,
  name              text COLLATE "C" NOT NULL,
  version           integer NOT NULL,
  value             text NOT NULL,
  masked            boolean NOT NULL,
  created_at        timestamptz NOT NULL,
  created_by        text NOT NULL,
  updated_at        timestamptz NOT NULL,
  updated_by        text NOT NULL,
  PRIMARY KEY (namespace, name)
);
