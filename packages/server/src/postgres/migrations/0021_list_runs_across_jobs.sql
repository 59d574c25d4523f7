-- Runs are listed across jobs, newest first. Those that did not succeed are few, and found one by one. Successes are the hottest write of
-- the product, so they get no entry each: their instants are summed up per 32 pages, several spans each, since a run that took long
-- is recorded among much later ones. A list of them is read by windows of time.
CREATE INDEX job_runs_not_succeeded ON job_runs (created_at, run_id, epoch) WHERE status <> 'SUCCESS' AND status <> 'RUNNING';
CREATE INDEX job_runs_created_at ON job_runs USING brin (created_at timestamptz_minmax_multi_ops)
  WITH (pages_per_range = 32, autosummarize = on);
