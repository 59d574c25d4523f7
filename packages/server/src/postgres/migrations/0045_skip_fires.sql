-- Fires that people have skipped, as JSON: [{"atMs", "by", "skippedAtMs"}]. NULL: none, as in nearly all jobs.
ALTER TABLE jobs ADD COLUMN skips jsonb;
