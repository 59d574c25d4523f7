-- What a run saved last, to go on from there: given to its next attempt, removed when the run succeeds or is cancelled.
CREATE TABLE checkpoints (
  run_id    uuid PRIMARY KEY,
  epoch     integer NOT NULL,      -- of the attempt that saved it
  seq       integer NOT NULL,      -- how many that attempt has saved
  bytes     integer NOT NULL,
  data      text NOT NULL,         -- JSON
  saved_at  timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX checkpoints_saved_at ON checkpoints (saved_at);

-- Whether a run of the lease was given a checkpoint or has saved one: only then is there something to remove when it ends.
ALTER TABLE leases ADD COLUMN checkpointed boolean NOT NULL DEFAULT false;

-- How far the attempt is, as it said last.
ALTER TABLE job_runs ADD COLUMN progress double precision, ADD COLUMN progress_message text;
