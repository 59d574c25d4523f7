-- What the caller knows a job by. Compared by its bytes, so that a range of the index holds every key with one beginning.
-- Jobs without a key are not in the index: making one touches nothing here.
ALTER TABLE jobs ADD COLUMN key text COLLATE "C";
CREATE UNIQUE INDEX jobs_key ON jobs (key, namespace) WHERE key IS NOT NULL;
