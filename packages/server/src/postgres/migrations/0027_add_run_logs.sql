-- Where the output of an attempt is kept, and how much of it there is. Written for attempts that say something alone.
CREATE TABLE run_logs (
  run_id     uuid NOT NULL,
  epoch      integer NOT NULL,
  -- The folder of the log, and what its retention goes by.
  day        date NOT NULL,
  -- The server that has it in a folder of its own; NULL: every server reaches it.
  node_id    text,
  bytes      bigint NOT NULL,
  lines      bigint NOT NULL,
  first_at   timestamptz NOT NULL,
  last_at    timestamptz NOT NULL,
  ended      boolean NOT NULL,
  -- Some of it could not be kept.
  incomplete boolean NOT NULL,
  PRIMARY KEY (run_id, epoch)
) WITH (fillfactor = 70);

CREATE INDEX run_logs_day ON run_logs (day);
