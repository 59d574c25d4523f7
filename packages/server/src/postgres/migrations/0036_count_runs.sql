-- What is counted of the runs that an event tells the end of, as JSON text (storage/run-digest.ts). NULL: it is found in the history.
ALTER TABLE events ADD COLUMN counted text;
ALTER TABLE events ALTER COLUMN counted SET STORAGE EXTERNAL;

-- Attempts that ended, by the minute and by the hour in which that was recorded. Namespace '*' and handler '' stand for all of them.
-- The arrays are histograms: counts by bucket (storage/log-histogram.ts). Rows are added to every few seconds: room for that in the page.
CREATE TABLE run_minutes (
  namespace text NOT NULL,
  handler   text NOT NULL,
  at        timestamptz NOT NULL,
  started   bigint NOT NULL,
  succeeded bigint NOT NULL,
  failed    bigint NOT NULL,
  timed_out bigint NOT NULL,
  cancelled bigint NOT NULL,
  skipped   bigint NOT NULL,
  retried   bigint NOT NULL,
  lost      bigint NOT NULL,
  delays    int[] NOT NULL,
  durations int[] NOT NULL,
  PRIMARY KEY (namespace, handler, at)
) WITH (fillfactor = 60);
CREATE INDEX run_minutes_at ON run_minutes (at);

CREATE TABLE run_hours (LIKE run_minutes INCLUDING ALL) WITH (fillfactor = 60);

-- Failures that are alike, by the hour. Fingerprint 'other' stands for those past the bound of an hour and namespace.
CREATE TABLE failure_hours (
  namespace   text NOT NULL,
  at          timestamptz NOT NULL,
  fingerprint text NOT NULL,
  handler     text NOT NULL,
  message     text NOT NULL,
  count       bigint NOT NULL,
  first_at    timestamptz NOT NULL,
  last_at     timestamptz NOT NULL,
  run_id      uuid NOT NULL,
  job_id      uuid NOT NULL,
  job_ids     uuid[] NOT NULL,
  PRIMARY KEY (namespace, at, fingerprint)
) WITH (fillfactor = 60);
CREATE INDEX failure_hours_at ON failure_hours (at);

-- Up to which event runs are counted. It moves in the transaction that adds to the counts, so each is counted once.
CREATE TABLE count_cursors (
  name       text PRIMARY KEY,
  xid        xid8 NOT NULL,
  seq        bigint NOT NULL,
  counted_at timestamptz NOT NULL
);
-- Counts begin now: what ended before is not read again.
INSERT INTO count_cursors SELECT 'runs', event_horizon(), 0, now();
