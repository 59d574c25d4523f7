-- Names of jobs are searched from their beginning, in any case, within a namespace. By bytes, whatever the locale of the database is.
CREATE INDEX jobs_name ON jobs (namespace, lower(name) text_pattern_ops);
