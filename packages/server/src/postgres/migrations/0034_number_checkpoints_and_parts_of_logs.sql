-- The number that the worker gave the checkpoint: within an epoch, a lower one that arrives later changes nothing.
ALTER TABLE checkpoints ALTER COLUMN seq TYPE bigint USING 0;

-- A log has a part for each server that wrote it: a worker may have gone from one server to another within an epoch. node_id is the
-- server that has the part in a folder of its own; writer the one that wrote it where every server reads it.
ALTER TABLE run_logs ADD COLUMN writer text;
ALTER TABLE run_logs DROP CONSTRAINT run_logs_pkey;
CREATE UNIQUE INDEX run_logs_parts ON run_logs (run_id, epoch, coalesce(node_id, writer, ''));
-- Those that a server has to close.
CREATE INDEX run_logs_open ON run_logs (coalesce(node_id, writer, ''), run_id) WHERE NOT ended;
