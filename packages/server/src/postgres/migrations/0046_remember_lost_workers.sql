-- Workers that were given up for dead, with what they held then, for people: kept for an hour, and no more than some hundreds. Nothing of
-- the engine reads them.
CREATE TABLE lost_workers (
  worker_id    text PRIMARY KEY,
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
  held_runs    uuid[] NOT NULL
);
CREATE INDEX lost_workers_lost_at ON lost_workers (lost_at);
