-- Who there is, what they may and where. Of every secret only a hash is kept.
CREATE TABLE namespaces (
  name              text COLLATE "C" PRIMARY KEY,
  description       text NOT NULL DEFAULT '',
  created_at        timestamptz NOT NULL DEFAULT now()
);

INSERT INTO namespaces (name, description) VALUES ('default', 'Jobs that name no other namespace.');
INSERT INTO namespaces (name) SELECT DISTINCT namespace FROM jobs WHERE namespace <> 'default';

CREATE TABLE users (
  user_id           uuid PRIMARY KEY,
  name              text COLLATE "C" NOT NULL,
  display_name      text NOT NULL DEFAULT '',
  password_hash     text,
  disabled          boolean NOT NULL DEFAULT false,
  created_at        timestamptz NOT NULL,
  updated_at        timestamptz NOT NULL,
  idempotency_key   text,
  request_hash      text
);

CREATE UNIQUE INDEX users_name ON users (name);
CREATE UNIQUE INDEX users_idempotency_key ON users (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- namespace '*' is everything, and what belongs to none.
CREATE TABLE user_grants (
  user_id           uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  namespace         text COLLATE "C" NOT NULL,
  own_only          boolean NOT NULL DEFAULT false,
  role              text NOT NULL,
  PRIMARY KEY (user_id, namespace, own_only)
);

CREATE INDEX user_grants_namespace ON user_grants (namespace);

-- owner_id NULL: it belongs to the installation. scopes NULL: all that the role may.
CREATE TABLE api_keys (
  key_id            uuid PRIMARY KEY,
  prefix            text NOT NULL,
  hash              text NOT NULL,
  name              text NOT NULL,
  owner_id          uuid REFERENCES users ON DELETE CASCADE,
  namespace         text NOT NULL,
  role              text NOT NULL,
  own_only          boolean NOT NULL DEFAULT false,
  scopes            text[],
  created_at        timestamptz NOT NULL,
  expires_at        timestamptz,
  last_used_at      timestamptz
);

CREATE UNIQUE INDEX api_keys_prefix ON api_keys (prefix);
CREATE INDEX api_keys_owner_id ON api_keys (owner_id, key_id);
CREATE INDEX api_keys_namespace ON api_keys (namespace, key_id);

CREATE TABLE sessions (
  session_id        uuid PRIMARY KEY,
  hash              text NOT NULL,
  user_id           uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at        timestamptz NOT NULL,
  last_seen_at      timestamptz NOT NULL,
  expires_at        timestamptz NOT NULL,
  address           text,
  user_agent        text
);

CREATE UNIQUE INDEX sessions_hash ON sessions (hash);
CREATE INDEX sessions_user_id ON sessions (user_id, session_id);

-- What is looked for in the audit log; jobs are made by the million, and found by their id.
CREATE INDEX audit_log_action ON audit_log (action, audit_id) WHERE action <> 'jobs.create';
