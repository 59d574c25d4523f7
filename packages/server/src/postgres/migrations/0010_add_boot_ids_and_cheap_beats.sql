-- Which process a node or worker is: two that start on copies of one data folder differ in nothing else. Rows from before get
-- an id that no process has, so that whoever starts under their name is told apart from them.
ALTER TABLE nodes ADD COLUMN boot_id uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE workers ADD COLUMN boot_id uuid NOT NULL DEFAULT gen_random_uuid();

-- Shards are held for as long as their node is: one row is renewed instead of 64. While something holds an old snapshot open,
-- every renewal leaves a version behind that each claim has to pass (measured: an hour made a claim's guard 2 ms and a
-- renewal of 64 rows 50 ms slower).
ALTER TABLE nodes ADD COLUMN expires_at bigint NOT NULL DEFAULT 0;
ALTER TABLE shards DROP COLUMN expires_at;

-- Beats change no indexed column; room on the page keeps them off the indexes.
ALTER TABLE nodes SET (fillfactor = 50);
ALTER TABLE workers SET (fillfactor = 50);

-- Leases that never reached their worker are looked for from an instant on: what was claimed and settled before it is not walked.
CREATE INDEX leases_worker_id_claimed_at ON leases (worker_id, claimed_at);
DROP INDEX leases_worker_id;
