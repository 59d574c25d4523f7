-- Runs are found by their job, so the key begins with it. The first run of a one-off has the id of its job and is found by that
-- key too; only the others need an index on their own id.
ALTER TABLE due DROP CONSTRAINT due_pkey;
ALTER TABLE due ADD CONSTRAINT due_pkey PRIMARY KEY (job_id, run_id);
DROP INDEX due_job_id;
CREATE UNIQUE INDEX due_run_id ON due (run_id) WHERE run_id <> job_id;
