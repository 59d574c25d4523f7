-- The number that the worker gave the checkpoint: within an epoch, a lower one that arrives later changes nothing.
ALTER TABLE checkpoints ALTER COLUMN seq TYPE bigint USING 0;

-- A log has a part for each server that wrote it: a worker may have gone from one server to another within an epoch. node_id is the
-- server that wrote the part; is_shared: it did so where every server reads. NULL stands only in rows that were written before.
ALTER TABLE run_logs ADD COLUMN is_shared boolean NOT NULL DEFAULT false;
UPDATE run_logs SET is_shared = true WHERE node_id IS NULL;
ALTER TABLE run_logs DROP CONSTRAINT run_logs_pkey;
CREATE UNIQUE INDEX run_logs_parts ON run_logs (run_id, epoch, node_id);
-- Those that a server has to close.
CREATE INDEX run_logs_open ON run_logs (node_id) WHERE NOT ended;
