-- A job that is removed takes the errors with it that groups of failures quote.
CREATE INDEX failure_hours_job_id ON failure_hours (job_id);
