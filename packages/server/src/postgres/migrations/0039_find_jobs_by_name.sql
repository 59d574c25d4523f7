-- Names of recurring jobs are searched from their beginning, in any case, within a namespace. By bytes, whatever the locale of the database
-- is. One-off jobs are the hottest insert of the product, and get no entry: the newest of them are looked through.
CREATE INDEX jobs_name ON jobs (namespace, lower(name) text_pattern_ops) WHERE schedule_type IN ('CRON', 'INTERVAL');
