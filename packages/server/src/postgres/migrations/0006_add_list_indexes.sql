-- Jobs that were stopped, paused or have failed are few among many: found by their status, newest first. Jobs are made
-- SCHEDULED, so making one touches nothing here.
CREATE INDEX jobs_status ON jobs (status, job_id) WHERE status <> 'SCHEDULED';
