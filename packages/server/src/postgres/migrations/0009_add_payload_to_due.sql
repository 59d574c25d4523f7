-- What a claim hands to the worker, where it finds it without looking up the job. NULL: too large, or from before; then the job
-- is read. It follows the job: whoever edits that edits this.
ALTER TABLE due ADD COLUMN payload text, ADD COLUMN timeout_ms bigint;
