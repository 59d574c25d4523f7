-- What happened: one row per change, however many jobs or runs it touched, written by the statement that made the change.
-- Append-only, in daily partitions made ahead and dropped whole by retention.
--
-- The order is (xid, seq). Readers stop before the oldest transaction that is still under way, so nothing that commits late
-- is ever skipped. ids are those of jobs (kind job.…) or of runs (kind run.…); the arrays run in parallel, an array left out
-- stands for NULLs, and a single claimed_at for all elements. Details are joined when somebody reads.
CREATE SEQUENCE events_seq;

CREATE TABLE events (
  at                timestamptz NOT NULL DEFAULT now(),
  xid               xid8 NOT NULL DEFAULT pg_current_xact_id(),
  seq               bigint NOT NULL DEFAULT nextval('events_seq'),
  kind              text NOT NULL,
  ids               uuid[],
  epochs            int[],
  claimed_ats       bigint[],
  next_ats          bigint[],  -- of attempts that are tried again: when
  dead_reasons      text[],    -- of runs that were given up: why
  data              jsonb
) PARTITION BY RANGE (at);

-- Written once and read a few times: compressing costs more than the bytes it saves.
ALTER TABLE events ALTER COLUMN ids SET STORAGE EXTERNAL, ALTER COLUMN epochs SET STORAGE EXTERNAL,
  ALTER COLUMN claimed_ats SET STORAGE EXTERNAL, ALTER COLUMN next_ats SET STORAGE EXTERNAL,
  ALTER COLUMN dead_reasons SET STORAGE EXTERNAL;

-- For a day without a partition of its own: rare, and better than a change that cannot be made.
CREATE TABLE events_default PARTITION OF events DEFAULT;

CREATE INDEX events_place ON events (xid, seq);
-- What is left of a deleted job, for events about its runs that are read later.
CREATE INDEX events_deleted_job ON events (ids) WHERE kind = 'job.deleted';

-- Told to be lost; until it is heard again.
ALTER TABLE nodes ADD COLUMN lost boolean NOT NULL DEFAULT false;
