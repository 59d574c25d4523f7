-- The ended run that a run repeats, when it was redriven or run again, and who asked for that.
ALTER TABLE run_requests ADD COLUMN origin_run_id uuid, ADD COLUMN requested_by text;
CREATE INDEX run_requests_origin_run_id ON run_requests (origin_run_id) WHERE origin_run_id IS NOT NULL;
