-- Where a job lives, what it is labelled with, and what its runs take up. NULL tags are none: most rows stay narrow.
ALTER TABLE jobs
  ADD COLUMN namespace text NOT NULL DEFAULT 'default',
  ADD COLUMN labels jsonb,
  ADD COLUMN resources jsonb;

-- Two namespaces know nothing of each other's keys.
DROP INDEX jobs_idempotency_key;
CREATE UNIQUE INDEX jobs_idempotency_key ON jobs (namespace, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Jobs of the default namespace are found by the primary key; only those of others pay for an index.
CREATE INDEX jobs_namespace ON jobs (namespace, job_id) WHERE namespace <> 'default';
CREATE INDEX jobs_labels ON jobs USING gin (labels jsonb_path_ops) WHERE labels IS NOT NULL;
