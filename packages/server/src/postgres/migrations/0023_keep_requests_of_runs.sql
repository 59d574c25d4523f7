-- What a person said when they asked for a run: why, with which input, and the payload that follows from the input. Runs that were
-- asked for without any of these have no row here.
CREATE TABLE run_requests (
  run_id        uuid PRIMARY KEY,
  job_id        uuid NOT NULL,
  requested_at  timestamptz NOT NULL,
  reason        text,
  input         text,   -- JSON: a merge patch (RFC 7386) over the payload of the job
  payload       text,   -- JSON: what the run gets instead of the payload of its job; NULL without an input
  request_hash  text    -- of the request that came with an idempotency key
);
CREATE INDEX run_requests_job_id ON run_requests (job_id);
CREATE INDEX run_requests_requested_at ON run_requests (requested_at);

-- The later run of the same job whose success made the letter obsolete.
ALTER TABLE dead_letters ADD COLUMN resolved_by uuid;
