-- Cursors get a table of their own, so that no backlog of runs stands between a schedule and its instant. What is left in
-- `due` is ordered by lanes, from which runs are claimed; a limited run that may start holds a numbered place in `admissions`.

CREATE TABLE cursors (
  job_id          uuid NOT NULL PRIMARY KEY,
  fire_at         bigint NOT NULL,
  nominal_at      bigint NOT NULL,
  last_nominal_at bigint,
  resumed_at      bigint,
  job_version     integer NOT NULL,
  shard           smallint NOT NULL,
  held            boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);

INSERT INTO cursors (job_id, fire_at, nominal_at, last_nominal_at, job_version, shard, held)
SELECT job_id, fire_at, nominal_at, last_nominal_at, job_version, shard, held FROM due WHERE kind = 0;

CREATE INDEX cursors_fire_at ON cursors (shard, fire_at, job_id) WHERE NOT held;

-- No two runs of a job hold the same place: this key is what keeps a job within its limit.
CREATE TABLE admissions (
  job_id uuid NOT NULL,
  slot   integer NOT NULL,
  run_id uuid NOT NULL,
  shard  smallint NOT NULL,
  PRIMARY KEY (job_id, slot)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);

ALTER TABLE due RENAME TO former_due;
ALTER INDEX due_pkey RENAME TO former_due_pkey;
DROP INDEX due_job_id;
DROP INDEX due_lane;

-- blocked: 0 open, 1 asks for a place of its job at its instant, 2 waits for one. admitted: it holds one.
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
  payload     text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.2);

INSERT INTO due (run_id, job_id, fire_at, lane_at, nominal_at, tenant, expires_at, timeout_ms, handler_key, epoch, job_version,
  shard, part, priority, kind, attempt, crashes, blocked, ends_job, held, handler, payload)
SELECT d.run_id, d.job_id, d.fire_at, d.fire_at, d.nominal_at,
  (('x' || encode(substr(sha256(convert_to(j.namespace, 'UTF8')), 1, 4), 'hex'))::bit(32)::bigint >> 6 << 26)
    | coalesce(('x' || encode(substr(sha256(convert_to(j.user_id, 'UTF8')), 1, 4), 'hex'))::bit(32)::bigint >> 6, 0),
  d.fire_at + d.start_timeout_ms, d.timeout_ms,
  ('x' || encode(substr(sha256(convert_to(d.handler, 'UTF8')), 1, 4), 'hex'))::bit(32)::integer, d.epoch, d.job_version,
  d.shard, d.shard % 8, d.priority, d.kind, d.attempt, d.crashes, 1, d.ends_job, d.held, d.handler, d.payload
FROM former_due d JOIN jobs j USING (job_id) WHERE d.kind > 0;

-- The only run of a one-off needs no place; everything else asks for one, since nobody has counted yet.
UPDATE due d SET blocked = 0 WHERE kind = 1
  AND NOT EXISTS (SELECT FROM due o WHERE o.job_id = d.job_id AND o.run_id <> d.run_id)
  AND NOT EXISTS (SELECT FROM leases l WHERE l.job_ids @> ARRAY[d.job_id]);

DROP TABLE former_due;

ALTER TABLE due ADD CONSTRAINT due_pkey PRIMARY KEY (run_id);
CREATE INDEX due_lane ON due (part, priority, handler_key, tenant, lane_at, run_id) WHERE blocked = 0 AND NOT held;
CREATE INDEX due_job_id ON due (job_id);
CREATE INDEX due_asking ON due (shard, fire_at, run_id) WHERE blocked = 1 AND NOT held;
CREATE INDEX due_blocked ON due (job_id, fire_at, nominal_at, run_id) WHERE blocked > 0;
CREATE INDEX due_expires_at ON due (shard, expires_at) WHERE expires_at IS NOT NULL;

-- limited: one of its runs at least holds a place of its job.
ALTER TABLE leases ADD COLUMN limited boolean NOT NULL DEFAULT false;
UPDATE leases SET limited = true;

INSERT INTO admissions (job_id, slot, run_id, shard)
SELECT u.job_id, row_number() OVER (PARTITION BY u.job_id ORDER BY l.claimed_at, u.run_id), u.run_id, u.shard
FROM leases l CROSS JOIN LATERAL unnest(l.job_ids, l.run_ids, l.shards) WITH ORDINALITY AS u(job_id, run_id, shard, ord)
WHERE NOT ((u.ord - 1)::smallint = ANY(l.closed));
