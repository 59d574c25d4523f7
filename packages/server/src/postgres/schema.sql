-- The schema of a freshly migrated database, to read and to compare: a test fails when it differs from what the
-- migrations make. Written by `node scripts/dump-schema.ts`; edit the migrations, not this file.

CREATE TABLE admin_keys (
  holder  uuid NOT NULL,
  digest  text NOT NULL,
  seen_at timestamp with time zone NOT NULL,
  CONSTRAINT admin_keys_pkey PRIMARY KEY (holder)
);

CREATE TABLE admissions (
  job_id uuid NOT NULL,
  slot   integer NOT NULL,
  run_id uuid NOT NULL,
  shard  smallint NOT NULL,
  CONSTRAINT admissions_pkey PRIMARY KEY (job_id, slot)
) WITH (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=5000);

CREATE TABLE api_keys (
  key_id                uuid NOT NULL,
  prefix                text NOT NULL,
  hash                  text NOT NULL,
  name                  text NOT NULL,
  owner_id              uuid,
  scopes                text[],
  created_at            timestamp with time zone NOT NULL,
  expires_at            timestamp with time zone,
  last_used_at          timestamp with time zone,
  first_prefix          text NOT NULL,
  maker_id              uuid,
  last_used_address     text,
  previous_prefix       text,
  previous_hash         text,
  previous_expires_at   timestamp with time zone,
  previous_last_used_at timestamp with time zone,
  worker_handlers       text[],
  CONSTRAINT api_keys_pkey PRIMARY KEY (key_id),
  CONSTRAINT api_keys_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users(user_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX api_keys_first_prefix ON api_keys USING btree (first_prefix);
CREATE INDEX api_keys_owner_id ON api_keys USING btree (owner_id, key_id);
CREATE UNIQUE INDEX api_keys_prefix ON api_keys USING btree (prefix);
CREATE UNIQUE INDEX api_keys_previous_prefix ON api_keys USING btree (previous_prefix) WHERE (previous_prefix IS NOT NULL);

CREATE TABLE audit_log (
  audit_id      bigint NOT NULL IDENTITY a,
  at            timestamp with time zone NOT NULL,
  actor_kind    text NOT NULL,
  actor_id      text NOT NULL,
  actor_name    text NOT NULL,
  action        text NOT NULL,
  namespace     text,
  subject_kind  text NOT NULL,
  subject_id    text,
  before        jsonb,
  after         jsonb,
  address       text,
  user_agent    text,
  request_id    text,
  subject_count integer NOT NULL DEFAULT 1,
  subject_ids   uuid[],
  subject_span  int8range,
  afters        text[],
  request_ids   text[],
  via_kind      text,
  via_id        text,
  via_name      text,
  CONSTRAINT audit_log_pkey PRIMARY KEY (audit_id)
);
CREATE INDEX audit_log_action ON audit_log USING btree (action, audit_id) WHERE (action <> 'jobs.create'::text);
CREATE INDEX audit_log_namespace ON audit_log USING btree (namespace, audit_id) WHERE (namespace IS NOT NULL);
CREATE INDEX audit_log_namespace_action ON audit_log USING btree (namespace, action, audit_id) WHERE ((namespace IS NOT NULL) AND (action <> 'jobs.create'::text));
CREATE INDEX audit_log_subject ON audit_log USING btree (subject_id, audit_id);
CREATE INDEX audit_log_subject_span ON audit_log USING gist (subject_span) WHERE (subject_span IS NOT NULL);

CREATE TABLE bound_handlers (
  namespace  text NOT NULL,
  name       text NOT NULL,
  parameters text NOT NULL,
  seen_at    bigint NOT NULL,
  CONSTRAINT bound_handlers_pkey PRIMARY KEY (namespace, name),
  CONSTRAINT bound_handlers_namespace_fkey FOREIGN KEY (namespace) REFERENCES namespaces(name) ON DELETE CASCADE
);

CREATE TABLE checkpoints (
  run_id   uuid NOT NULL,
  epoch    integer NOT NULL,
  seq      bigint NOT NULL,
  bytes    integer NOT NULL,
  data     text NOT NULL,
  saved_at timestamp with time zone NOT NULL,
  CONSTRAINT checkpoints_pkey PRIMARY KEY (run_id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000);
CREATE INDEX checkpoints_saved_at ON checkpoints USING btree (saved_at);

CREATE TABLE count_cursors (
  name       text NOT NULL,
  xid        xid8 NOT NULL,
  seq        bigint NOT NULL,
  counted_at timestamp with time zone NOT NULL,
  CONSTRAINT count_cursors_pkey PRIMARY KEY (name)
);

CREATE TABLE counters (
  name         text NOT NULL,
  window_ms    bigint NOT NULL,
  window_start bigint NOT NULL,
  count        bigint NOT NULL,
  CONSTRAINT counters_pkey PRIMARY KEY (name, window_ms, window_start)
);

CREATE TABLE cursors (
  job_id          uuid NOT NULL,
  fire_at         bigint NOT NULL,
  nominal_at      bigint NOT NULL,
  last_nominal_at bigint,
  resumed_at      bigint,
  job_version     integer NOT NULL,
  shard           smallint NOT NULL,
  held            boolean NOT NULL DEFAULT false,
  CONSTRAINT cursors_pkey PRIMARY KEY (job_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=5000);
CREATE INDEX cursors_fire_at ON cursors USING btree (shard, fire_at, job_id) WHERE (NOT held);

CREATE TABLE dead_letters (
  run_id        uuid NOT NULL,
  job_id        uuid NOT NULL,
  reason        text NOT NULL,
  error_message text,
  attempts      integer NOT NULL,
  scheduled_at  timestamp with time zone NOT NULL,
  died_at       timestamp with time zone NOT NULL,
  redriven_as   uuid,
  resolved_by   uuid,
  CONSTRAINT dead_letters_pkey PRIMARY KEY (run_id)
);
CREATE INDEX dead_letters_died_at ON dead_letters USING btree (died_at DESC);
CREATE INDEX dead_letters_job_id ON dead_letters USING btree (job_id);

CREATE TABLE due (
  run_id      uuid NOT NULL,
  job_id      uuid NOT NULL,
  fire_at     bigint NOT NULL,
  lane_at     bigint NOT NULL,
  nominal_at  bigint NOT NULL,
  tenant      bigint NOT NULL,
  expires_at  bigint,
  timeout_ms  bigint,
  handler_key integer NOT NULL,
  epoch       integer NOT NULL DEFAULT 1,
  job_version integer NOT NULL,
  shard       smallint NOT NULL,
  part        smallint NOT NULL,
  priority    smallint NOT NULL,
  kind        smallint NOT NULL,
  attempt     smallint NOT NULL DEFAULT 1,
  crashes     smallint NOT NULL DEFAULT 0,
  blocked     smallint NOT NULL DEFAULT 0,
  admitted    boolean NOT NULL DEFAULT false,
  ends_job    boolean NOT NULL DEFAULT false,
  held        boolean NOT NULL DEFAULT false,
  handler     text NOT NULL,
  payload     text,
  CONSTRAINT due_pkey PRIMARY KEY (job_id, run_id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=5000, autovacuum_analyze_scale_factor=0.2);
CREATE INDEX due_asking ON due USING btree (shard, fire_at, run_id) WHERE ((blocked = 1) AND (NOT held));
CREATE INDEX due_blocked ON due USING btree (job_id, blocked, fire_at, nominal_at, run_id) WHERE (blocked > 0);
CREATE INDEX due_expires_at ON due USING btree (shard, expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX due_lane ON due USING btree (part, priority, handler_key, tenant, lane_at, run_id) WHERE ((blocked = 0) AND (NOT held));
CREATE UNIQUE INDEX due_run_id ON due USING btree (run_id) WHERE (run_id <> job_id);

CREATE TABLE events (
  at           timestamp with time zone NOT NULL DEFAULT now(),
  xid          xid8 NOT NULL DEFAULT event_xid(),
  seq          bigint NOT NULL DEFAULT nextval('events_seq'::regclass),
  kind         text NOT NULL,
  ids          uuid[] STORAGE EXTERNAL,
  epochs       integer[] STORAGE EXTERNAL,
  claimed_ats  bigint[] STORAGE EXTERNAL,
  next_ats     bigint[] STORAGE EXTERNAL,
  dead_reasons text[] STORAGE EXTERNAL,
  data         jsonb,
  counted      text STORAGE EXTERNAL
) PARTITION BY RANGE (at);
CREATE INDEX events_deleted_job ON ONLY events USING btree (ids) WHERE (kind = 'job.deleted'::text);
CREATE INDEX events_place ON ONLY events USING btree (xid, seq);

CREATE TABLE failure_hours (
  namespace   text NOT NULL,
  at          timestamp with time zone NOT NULL,
  fingerprint text NOT NULL,
  handler     text NOT NULL,
  message     text NOT NULL,
  count       bigint NOT NULL,
  first_at    timestamp with time zone NOT NULL,
  last_at     timestamp with time zone NOT NULL,
  run_id      uuid NOT NULL,
  job_id      uuid NOT NULL,
  job_ids     uuid[] NOT NULL,
  CONSTRAINT failure_hours_pkey PRIMARY KEY (namespace, at, fingerprint)
) WITH (fillfactor=60);
CREATE INDEX failure_hours_at ON failure_hours USING btree (at);
CREATE INDEX failure_hours_job_id ON failure_hours USING btree (job_id);

CREATE TABLE fingerprint_key (
  only_row boolean NOT NULL DEFAULT true,
  key      text NOT NULL,
  CONSTRAINT fingerprint_key_pkey PRIMARY KEY (only_row),
  CONSTRAINT fingerprint_key_only_row_check CHECK (only_row)
);

CREATE TABLE handler_offers (
  handler    text NOT NULL,
  offered_at bigint NOT NULL,
  CONSTRAINT handler_offers_pkey PRIMARY KEY (handler)
);

CREATE TABLE handlers (
  name        text NOT NULL,
  description text,
  parameters  text,
  origin      text NOT NULL,
  seen_at     bigint NOT NULL,
  CONSTRAINT handlers_pkey PRIMARY KEY (name)
);

CREATE TABLE job_runs (
  run_id            uuid NOT NULL,
  job_id            uuid NOT NULL,
  status            text NOT NULL,
  start_time        timestamp with time zone,
  end_time          timestamp with time zone,
  modified_time     timestamp with time zone NOT NULL DEFAULT now(),
  executor_id       text,
  attempt_number    integer NOT NULL DEFAULT 1,
  error_message     text,
  log_url           text,
  created_at        timestamp with time zone NOT NULL DEFAULT now(),
  epoch             integer NOT NULL,
  trigger           smallint NOT NULL,
  scheduled_at      timestamp with time zone NOT NULL,
  job_version       integer NOT NULL,
  occurrences       integer NOT NULL DEFAULT 1,
  reason            text,
  result            jsonb,
  late_report       text,
  result_text       text,
  progress          double precision,
  progress_message  text,
  peak_memory_bytes bigint,
  cpu_seconds       double precision,
  CONSTRAINT job_runs_pkey PRIMARY KEY (run_id, epoch, created_at)
) PARTITION BY RANGE (created_at);
CREATE INDEX job_runs_created_at ON ONLY job_runs USING brin (created_at timestamptz_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX job_runs_job_id ON ONLY job_runs USING btree (job_id, created_at DESC);
CREATE INDEX job_runs_not_succeeded ON ONLY job_runs USING btree (created_at, run_id, epoch) WHERE ((status <> 'SUCCESS'::text) AND (status <> 'RUNNING'::text));

CREATE TABLE jobs (
  job_id           uuid NOT NULL,
  name             text NOT NULL,
  user_id          text,
  schedule_type    text NOT NULL,
  status           text NOT NULL,
  schedule_time    timestamp with time zone,
  cron_expression  text,
  time_zone        text,
  schedule         jsonb,
  misfire          jsonb,
  handler          text NOT NULL,
  payload          jsonb,
  priority         smallint NOT NULL,
  max_retries      integer NOT NULL DEFAULT 3,
  retry            jsonb,
  max_concurrency  integer NOT NULL DEFAULT 1,
  overlap          text NOT NULL DEFAULT 'queue'::text,
  timeout_ms       bigint NOT NULL,
  start_timeout_ms bigint,
  shard            smallint NOT NULL,
  version          integer NOT NULL DEFAULT 1,
  idempotency_key  text,
  request_hash     text,
  created_at       timestamp with time zone NOT NULL DEFAULT now(),
  updated_at       timestamp with time zone NOT NULL DEFAULT now(),
  namespace        text NOT NULL DEFAULT 'default'::text,
  labels           jsonb,
  resources        jsonb,
  last_nominal_at  bigint,
  key              text,
  skips            jsonb,
  CONSTRAINT jobs_pkey PRIMARY KEY (job_id)
);
CREATE UNIQUE INDEX jobs_idempotency_key ON jobs USING btree (namespace, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE UNIQUE INDEX jobs_key ON jobs USING btree (key, namespace) WHERE (key IS NOT NULL);
CREATE INDEX jobs_labels ON jobs USING gin (labels jsonb_path_ops) WHERE (labels IS NOT NULL);
CREATE INDEX jobs_name ON jobs USING btree (namespace, lower(name) text_pattern_ops) WHERE (schedule_type = ANY (ARRAY['CRON'::text, 'INTERVAL'::text]));
CREATE INDEX jobs_namespace ON jobs USING btree (namespace, job_id) WHERE (namespace <> 'default'::text);
CREATE INDEX jobs_status ON jobs USING btree (status, job_id) WHERE (status <> 'SCHEDULED'::text);
CREATE INDEX jobs_user_id ON jobs USING btree (user_id, job_id) WHERE (user_id IS NOT NULL);

CREATE TABLE key_grants (
  key_id    uuid NOT NULL,
  namespace text NOT NULL,
  own_only  boolean NOT NULL DEFAULT false,
  role      text NOT NULL,
  place     text DEFAULT NULLIF(namespace, '*'::text) GENERATED s,
  CONSTRAINT key_grants_pkey PRIMARY KEY (key_id, namespace, own_only),
  CONSTRAINT key_grants_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(key_id) ON DELETE CASCADE,
  CONSTRAINT key_grants_place_fkey FOREIGN KEY (place) REFERENCES namespaces(name) ON DELETE CASCADE
);
CREATE INDEX key_grants_namespace ON key_grants USING btree (namespace, key_id);
CREATE INDEX key_grants_place ON key_grants USING btree (place);

CREATE TABLE leases (
  lease_id      uuid NOT NULL,
  worker_id     text NOT NULL,
  claimed_at    bigint NOT NULL,
  run_ids       uuid[] NOT NULL STORAGE EXTERNAL,
  job_ids       uuid[] NOT NULL STORAGE EXTERNAL,
  shards        smallint[] NOT NULL STORAGE EXTERNAL,
  kinds         smallint[] NOT NULL STORAGE EXTERNAL,
  attempts      smallint[] NOT NULL STORAGE EXTERNAL,
  crashes       smallint[] NOT NULL STORAGE EXTERNAL,
  ends_job      boolean[] NOT NULL STORAGE EXTERNAL,
  epochs        integer[] NOT NULL STORAGE EXTERNAL,
  job_versions  integer[] NOT NULL STORAGE EXTERNAL,
  nominal_ats   bigint[] NOT NULL STORAGE EXTERNAL,
  ends_schedule boolean NOT NULL DEFAULT false,
  closed        smallint[] NOT NULL DEFAULT '{}'::smallint[],
  cancelled     smallint[] NOT NULL DEFAULT '{}'::smallint[],
  shown         smallint[] NOT NULL DEFAULT '{}'::smallint[],
  limited       boolean NOT NULL DEFAULT false,
  checkpointed  boolean NOT NULL DEFAULT false,
  times_out_at  bigint,
  timeouts      integer[],
  CONSTRAINT leases_pkey PRIMARY KEY (lease_id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000);
CREATE INDEX leases_times_out_at ON leases USING btree (times_out_at);
CREATE INDEX leases_worker_id_claimed_at ON leases USING btree (worker_id, claimed_at);

CREATE TABLE listeners (
  boot_id    uuid NOT NULL,
  addresses  text[] NOT NULL,
  expires_at bigint NOT NULL,
  peer       jsonb,
  CONSTRAINT listeners_pkey PRIMARY KEY (boot_id)
) WITH (fillfactor=50);

CREATE TABLE lost_workers (
  worker_id    text NOT NULL,
  node_id      uuid NOT NULL,
  session      integer NOT NULL,
  slots        integer NOT NULL,
  handlers     text[] NOT NULL,
  name         text,
  language     text,
  version      text,
  labels       jsonb NOT NULL,
  last_seen_at bigint NOT NULL,
  lost_at      bigint NOT NULL,
  held         integer NOT NULL,
  held_runs    uuid[] NOT NULL,
  namespaces   text[],
  CONSTRAINT lost_workers_pkey PRIMARY KEY (worker_id)
);
CREATE INDEX lost_workers_lost_at ON lost_workers USING btree (lost_at);

CREATE TABLE namespace_offers (
  namespace  text NOT NULL,
  handler    text NOT NULL,
  offered_at bigint NOT NULL,
  CONSTRAINT namespace_offers_pkey PRIMARY KEY (namespace, handler)
);
CREATE INDEX namespace_offers_handler ON namespace_offers USING btree (handler);

CREATE TABLE namespaces (
  name         text NOT NULL,
  description  text NOT NULL DEFAULT ''::text,
  created_at   timestamp with time zone NOT NULL DEFAULT now(),
  audit_after  bigint NOT NULL DEFAULT 0,
  events_after bigint NOT NULL DEFAULT 0,
  CONSTRAINT namespaces_pkey PRIMARY KEY (name)
);

CREATE TABLE nodes (
  node_id      uuid NOT NULL,
  incarnation  integer NOT NULL,
  address      text NOT NULL,
  last_seen_at bigint NOT NULL,
  lost         boolean NOT NULL DEFAULT false,
  boot_id      uuid NOT NULL DEFAULT gen_random_uuid(),
  expires_at   bigint NOT NULL DEFAULT 0,
  CONSTRAINT nodes_pkey PRIMARY KEY (node_id)
) WITH (fillfactor=50);

CREATE TABLE removed_namespaces (
  name       text NOT NULL,
  removed_at bigint NOT NULL,
  CONSTRAINT removed_namespaces_pkey PRIMARY KEY (name)
);

CREATE TABLE run_hours (
  namespace text NOT NULL,
  handler   text NOT NULL,
  at        timestamp with time zone NOT NULL,
  started   bigint NOT NULL,
  succeeded bigint NOT NULL,
  failed    bigint NOT NULL,
  timed_out bigint NOT NULL,
  cancelled bigint NOT NULL,
  skipped   bigint NOT NULL,
  retried   bigint NOT NULL,
  lost      bigint NOT NULL,
  delays    integer[] NOT NULL,
  durations integer[] NOT NULL,
  CONSTRAINT run_hours_pkey PRIMARY KEY (namespace, handler, at)
) WITH (fillfactor=60);
CREATE INDEX run_hours_at_idx ON run_hours USING btree (at);

CREATE TABLE run_logs (
  run_id     uuid NOT NULL,
  epoch      integer NOT NULL,
  day        date NOT NULL,
  node_id    text,
  bytes      bigint NOT NULL,
  lines      bigint NOT NULL,
  first_at   timestamp with time zone NOT NULL,
  last_at    timestamp with time zone NOT NULL,
  ended      boolean NOT NULL,
  incomplete boolean NOT NULL,
  writer     text
) WITH (fillfactor=70);
CREATE INDEX run_logs_day ON run_logs USING btree (day);
CREATE INDEX run_logs_open ON run_logs USING btree (COALESCE(node_id, writer, ''::text), run_id) WHERE (NOT ended);
CREATE UNIQUE INDEX run_logs_parts ON run_logs USING btree (run_id, epoch, COALESCE(node_id, writer, ''::text));

CREATE TABLE run_minutes (
  namespace text NOT NULL,
  handler   text NOT NULL,
  at        timestamp with time zone NOT NULL,
  started   bigint NOT NULL,
  succeeded bigint NOT NULL,
  failed    bigint NOT NULL,
  timed_out bigint NOT NULL,
  cancelled bigint NOT NULL,
  skipped   bigint NOT NULL,
  retried   bigint NOT NULL,
  lost      bigint NOT NULL,
  delays    integer[] NOT NULL,
  durations integer[] NOT NULL,
  CONSTRAINT run_minutes_pkey PRIMARY KEY (namespace, handler, at)
) WITH (fillfactor=60);
CREATE INDEX run_minutes_at ON run_minutes USING btree (at);

CREATE TABLE run_requests (
  run_id        uuid NOT NULL,
  job_id        uuid NOT NULL,
  requested_at  timestamp with time zone NOT NULL,
  reason        text,
  input         text,
  payload       text,
  request_hash  text,
  origin_run_id uuid,
  requested_by  text,
  CONSTRAINT run_requests_pkey PRIMARY KEY (run_id)
);
CREATE INDEX run_requests_job_id ON run_requests USING btree (job_id);
CREATE INDEX run_requests_origin_run_id ON run_requests USING btree (origin_run_id) WHERE (origin_run_id IS NOT NULL);
CREATE INDEX run_requests_requested_at ON run_requests USING btree (requested_at);

CREATE TABLE schema_migrations (
  version    integer NOT NULL,
  name       text NOT NULL,
  checksum   text NOT NULL,
  applied_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
);

CREATE TABLE secrets (
  namespace  text NOT NULL,
  name       text NOT NULL,
  version    integer NOT NULL,
  value      text NOT NULL,
  masked     boolean NOT NULL,
  created_at timestamp with time zone NOT NULL,
  created_by text NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  updated_by text NOT NULL,
  CONSTRAINT secrets_pkey PRIMARY KEY (namespace, name),
  CONSTRAINT secrets_namespace_fkey FOREIGN KEY (namespace) REFERENCES namespaces(name) ON DELETE CASCADE
);

CREATE TABLE sessions (
  session_id   uuid NOT NULL,
  hash         text NOT NULL,
  user_id      uuid,
  created_at   timestamp with time zone NOT NULL,
  last_seen_at timestamp with time zone NOT NULL,
  expires_at   timestamp with time zone NOT NULL,
  address      text,
  user_agent   text,
  method       text NOT NULL DEFAULT 'password'::text,
  admin_key    text,
  CONSTRAINT sessions_pkey PRIMARY KEY (session_id),
  CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX sessions_hash ON sessions USING btree (hash);
CREATE INDEX sessions_user_id ON sessions USING btree (user_id, session_id);

CREATE TABLE shards (
  shard   smallint NOT NULL,
  node_id uuid,
  epoch   bigint NOT NULL DEFAULT 0,
  CONSTRAINT shards_pkey PRIMARY KEY (shard)
) WITH (fillfactor=50);
CREATE UNIQUE INDEX shards_epoch ON shards USING btree (shard, epoch);

CREATE TABLE sign_in_addresses (
  user_id      uuid NOT NULL,
  address      text NOT NULL,
  last_used_at timestamp with time zone NOT NULL,
  CONSTRAINT sign_in_addresses_pkey PRIMARY KEY (user_id, address),
  CONSTRAINT sign_in_addresses_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id) ON DELETE CASCADE
);

CREATE TABLE sign_in_tickets (
  hash       text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  admin_key  text NOT NULL,
  CONSTRAINT sign_in_tickets_pkey PRIMARY KEY (hash)
);

CREATE TABLE signing_keys (
  signing_key_id uuid NOT NULL,
  namespace      text NOT NULL,
  secret         text NOT NULL,
  created_at     timestamp with time zone NOT NULL,
  starts_at      timestamp with time zone NOT NULL,
  ends_at        timestamp with time zone,
  CONSTRAINT signing_keys_pkey PRIMARY KEY (signing_key_id),
  CONSTRAINT signing_keys_namespace_fkey FOREIGN KEY (namespace) REFERENCES namespaces(name) ON DELETE CASCADE
);
CREATE INDEX signing_keys_namespace ON signing_keys USING btree (namespace, signing_key_id);

CREATE TABLE storage_generation (
  only_row          boolean NOT NULL DEFAULT true,
  generation        integer NOT NULL,
  system_identifier text NOT NULL,
  timeline          integer NOT NULL,
  database          oid NOT NULL,
  since             timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT storage_generation_pkey PRIMARY KEY (only_row),
  CONSTRAINT storage_generation_only_row_check CHECK (only_row)
);

CREATE TABLE user_grants (
  user_id   uuid NOT NULL,
  namespace text NOT NULL,
  own_only  boolean NOT NULL DEFAULT false,
  role      text NOT NULL,
  place     text DEFAULT NULLIF(namespace, '*'::text) GENERATED s,
  CONSTRAINT user_grants_pkey PRIMARY KEY (user_id, namespace, own_only),
  CONSTRAINT user_grants_place_fkey FOREIGN KEY (place) REFERENCES namespaces(name) ON DELETE CASCADE,
  CONSTRAINT user_grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id) ON DELETE CASCADE
);
CREATE INDEX user_grants_place ON user_grants USING btree (place);

CREATE TABLE user_preferences (
  user_id     uuid NOT NULL,
  preferences text NOT NULL,
  CONSTRAINT user_preferences_pkey PRIMARY KEY (user_id),
  CONSTRAINT user_preferences_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id) ON DELETE CASCADE
);

CREATE TABLE user_views (
  user_id    uuid NOT NULL,
  view_id    uuid NOT NULL,
  screen     text NOT NULL,
  name       text NOT NULL,
  query      text NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT user_views_pkey PRIMARY KEY (user_id, view_id),
  CONSTRAINT user_views_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX user_views_name ON user_views USING btree (user_id, screen, name);

CREATE TABLE users (
  user_id         uuid NOT NULL,
  name            text NOT NULL,
  display_name    text NOT NULL DEFAULT ''::text,
  password_hash   text,
  disabled        boolean NOT NULL DEFAULT false,
  created_at      timestamp with time zone NOT NULL,
  updated_at      timestamp with time zone NOT NULL,
  idempotency_key text,
  request_hash    text,
  issuer          text,
  subject         text,
  CONSTRAINT users_pkey PRIMARY KEY (user_id)
);
CREATE UNIQUE INDEX users_idempotency_key ON users USING btree (idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE UNIQUE INDEX users_identity ON users USING btree (issuer, subject) WHERE (issuer IS NOT NULL);
CREATE UNIQUE INDEX users_name ON users USING btree (name);

CREATE TABLE workers (
  worker_id    text NOT NULL,
  node_id      uuid NOT NULL,
  incarnation  integer NOT NULL,
  slots        integer NOT NULL,
  handlers     text[] NOT NULL,
  dead         boolean NOT NULL DEFAULT false,
  last_seen_at bigint NOT NULL,
  boot_id      uuid NOT NULL DEFAULT gen_random_uuid(),
  session      integer NOT NULL DEFAULT 0,
  name         text,
  language     text,
  version      text,
  labels       jsonb NOT NULL DEFAULT '{}'::jsonb,
  draining     boolean NOT NULL DEFAULT false,
  stuck        integer NOT NULL DEFAULT 0,
  namespaces   text[],
  CONSTRAINT workers_pkey PRIMARY KEY (worker_id)
) WITH (fillfactor=50);
CREATE UNIQUE INDEX workers_dead ON workers USING btree (worker_id, dead);

CREATE SEQUENCE audit_log_audit_id_seq;

CREATE SEQUENCE events_seq;

CREATE OR REPLACE FUNCTION public.current_generation()
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
AS $function$
DECLARE
  seen record;
  timeline_now integer;
BEGIN
  SELECT g.generation, g.timeline INTO seen FROM storage_generation g;
  IF NOT FOUND THEN RETURN 0; END IF;
  IF seen.timeline = 0 THEN RETURN seen.generation; END IF;
  timeline_now := database_timeline();
  IF timeline_now IN (0, seen.timeline) THEN RETURN seen.generation; END IF;
  RETURN least(3500, seen.generation + greatest(timeline_now - seen.timeline, 1));
END $function$
;

CREATE OR REPLACE FUNCTION public.database_system()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
BEGIN
  RETURN (SELECT system_identifier::text FROM pg_control_system());
EXCEPTION WHEN OTHERS THEN
  RETURN '';
END $function$
;

CREATE OR REPLACE FUNCTION public.database_timeline()
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
AS $function$
BEGIN
  RETURN ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer;
EXCEPTION WHEN OTHERS THEN
  RETURN 0;
END $function$
;

CREATE OR REPLACE FUNCTION public.event_horizon()
 RETURNS xid8
 LANGUAGE plpgsql
 STABLE
AS $function$
DECLARE
  generation bigint := current_generation();
BEGIN
  IF generation = 0 THEN RETURN pg_snapshot_xmin(pg_current_snapshot()); END IF;
  RETURN ((generation << 38) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint)::text::xid8;
END $function$
;

CREATE OR REPLACE FUNCTION public.event_xid()
 RETURNS xid8
 LANGUAGE plpgsql
AS $function$
DECLARE
  generation bigint := current_generation();
BEGIN
  IF generation = 0 THEN RETURN pg_current_xact_id(); END IF;
  RETURN ((generation << 38) + pg_current_xact_id()::text::bigint)::text::xid8;
END $function$
;
