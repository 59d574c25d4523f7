-- The four tables of the engine (jobs, due, leases, job_runs) and what hangs off them.
-- Instants in hot tables are UNIX milliseconds; in tables that people read they are timestamps.

-- status is what people and failures made of the job. That a one-off has succeeded is not written here: it is what a
-- one-off without a pending or living run is, unless its status says otherwise. So success costs no update of this table.
CREATE TABLE jobs (
  job_id            uuid PRIMARY KEY,
  name              text NOT NULL,
  user_id           text,
  schedule_type     text NOT NULL,
  status            text NOT NULL,
  schedule_time     timestamptz,
  cron_expression   text,
  time_zone         text,
  schedule          jsonb,              -- the whole rule of a recurring schedule
  misfire           jsonb,              -- NULL: the default policy
  handler           text NOT NULL,
  payload           jsonb,
  priority          smallint NOT NULL,  -- 0 low, 1 medium, 2 high
  max_retries       int NOT NULL DEFAULT 3,
  retry             jsonb,              -- NULL: the default policy with max_retries
  max_concurrency   int NOT NULL DEFAULT 1,
  overlap           text NOT NULL DEFAULT 'queue',
  timeout_ms        bigint NOT NULL,
  start_timeout_ms  bigint,
  shard             smallint NOT NULL,
  version           int NOT NULL DEFAULT 1,
  idempotency_key   text,
  request_hash      text,
  created_at        timestamptz NOT NULL DEFAULT now(),
  updated_at        timestamptz NOT NULL DEFAULT now()
);

CREATE UNIQUE INDEX jobs_idempotency_key ON jobs (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX jobs_user_id ON jobs (user_id, job_id) WHERE user_id IS NOT NULL;

-- One small row per pending fire. kind: 0 cursor of a recurring schedule (its run_id is the job's id), 1 the run of a
-- one-off, 2 a fired occurrence, 3 run-now, 4 a dead letter sent round again.
CREATE TABLE due (
  job_id            uuid NOT NULL,
  run_id            uuid NOT NULL,
  shard             smallint NOT NULL,
  priority          smallint NOT NULL,
  kind              smallint NOT NULL,
  attempt           smallint NOT NULL DEFAULT 1,
  crashes           smallint NOT NULL DEFAULT 0,
  ends_job          boolean NOT NULL DEFAULT false,
  held              boolean NOT NULL DEFAULT false,
  epoch             int NOT NULL DEFAULT 1,
  job_version       int NOT NULL,
  max_concurrency   int NOT NULL,
  fire_at           bigint NOT NULL,
  nominal_at        bigint NOT NULL,
  last_nominal_at   bigint,
  start_timeout_ms  bigint,
  handler           text NOT NULL,
  overlap           text NOT NULL,
  blocked_reason    text,
  PRIMARY KEY (run_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.2);

CREATE INDEX due_job_id ON due (job_id);
CREATE INDEX due_lane ON due (shard, priority, fire_at, run_id) WHERE NOT held;

-- One row per handed-out batch; the arrays run in parallel, one element per run. closed, cancelled and
-- shown (as RUNNING in the history) hold positions.
CREATE TABLE leases (
  lease_id          uuid PRIMARY KEY,
  worker_id         text NOT NULL,
  claimed_at        bigint NOT NULL,
  run_ids           uuid[] NOT NULL,
  job_ids           uuid[] NOT NULL,
  shards            smallint[] NOT NULL,
  kinds             smallint[] NOT NULL,
  attempts          smallint[] NOT NULL,
  crashes           smallint[] NOT NULL,
  ends_job          boolean[] NOT NULL,
  epochs            int[] NOT NULL,
  job_versions      int[] NOT NULL,
  nominal_ats       bigint[] NOT NULL,
  ends_schedule     boolean NOT NULL DEFAULT false,  -- a run in it is the last of a recurring schedule
  closed            smallint[] NOT NULL DEFAULT '{}',
  cancelled         smallint[] NOT NULL DEFAULT '{}',
  shown             smallint[] NOT NULL DEFAULT '{}'
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX leases_worker_id ON leases (worker_id);
-- Compressing arrays that live for milliseconds costs more than the bytes it saves.
ALTER TABLE leases ALTER COLUMN run_ids SET STORAGE EXTERNAL, ALTER COLUMN job_ids SET STORAGE EXTERNAL,
  ALTER COLUMN nominal_ats SET STORAGE EXTERNAL, ALTER COLUMN epochs SET STORAGE EXTERNAL,
  ALTER COLUMN job_versions SET STORAGE EXTERNAL, ALTER COLUMN shards SET STORAGE EXTERNAL,
  ALTER COLUMN kinds SET STORAGE EXTERNAL, ALTER COLUMN attempts SET STORAGE EXTERNAL,
  ALTER COLUMN crashes SET STORAGE EXTERNAL, ALTER COLUMN ends_job SET STORAGE EXTERNAL;

-- History: one row per attempt, in daily partitions made ahead and dropped whole by retention. created_at is the instant
-- of the claim. No foreign key: history may outlive a deleted job, and the check would cost every insert.
CREATE TABLE job_runs (
  run_id            uuid NOT NULL,
  job_id            uuid NOT NULL,
  status            text NOT NULL,
  start_time        timestamptz,
  end_time          timestamptz,
  modified_time     timestamptz NOT NULL DEFAULT now(),
  executor_id       text,
  attempt_number    int NOT NULL DEFAULT 1,
  error_message     text,
  log_url           text,
  created_at        timestamptz NOT NULL DEFAULT now(),
  epoch             int NOT NULL,
  trigger           smallint NOT NULL,
  scheduled_at      timestamptz NOT NULL,
  job_version       int NOT NULL,
  occurrences       int NOT NULL DEFAULT 1,
  reason            text,
  result            jsonb,
  late_report       text,
  PRIMARY KEY (run_id, epoch, created_at)
) PARTITION BY RANGE (created_at);

-- For runs claimed on a day that retention has dropped since: rare, and better kept than impossible to settle.
CREATE TABLE job_runs_default PARTITION OF job_runs DEFAULT;

CREATE INDEX job_runs_job_id ON job_runs (job_id, created_at DESC);

CREATE TABLE dead_letters (
  run_id            uuid PRIMARY KEY,
  job_id            uuid NOT NULL,
  reason            text NOT NULL,
  error_message     text,
  attempts          int NOT NULL,
  scheduled_at      timestamptz NOT NULL,
  died_at           timestamptz NOT NULL,
  redriven_as       uuid
);

CREATE INDEX dead_letters_died_at ON dead_letters (died_at DESC);
CREATE INDEX dead_letters_job_id ON dead_letters (job_id);

CREATE TABLE nodes (
  node_id           uuid PRIMARY KEY,
  incarnation       int NOT NULL,
  address           text NOT NULL,
  last_seen_at      bigint NOT NULL
);

CREATE TABLE shards (
  shard             smallint PRIMARY KEY,
  node_id           uuid,
  epoch             bigint NOT NULL DEFAULT 0,
  expires_at        bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Makes epoch a key column: whoever changes it waits for writers that hold a key-share lock, whoever renews does not.
CREATE UNIQUE INDEX shards_epoch ON shards (shard, epoch);

INSERT INTO shards (shard) SELECT generate_series(0, 63);

CREATE TABLE workers (
  worker_id         text PRIMARY KEY,
  node_id           uuid NOT NULL,
  incarnation       int NOT NULL,
  slots             int NOT NULL,
  handlers          text[] NOT NULL,
  dead              boolean NOT NULL DEFAULT false,
  last_seen_at      bigint NOT NULL
);

-- Likewise: burying a worker waits for claims under way, its heartbeats do not.
CREATE UNIQUE INDEX workers_dead ON workers (worker_id, dead);
