-- Jobs that one request made are one row of the audit log: subject_ids names them all, in the order given, and after is what
-- they have in common, or afters has one text for each. The entry of the job at position n has the id audit_id + n - 1, so a
-- row leaves room for a thousand ids before the next.
ALTER TABLE audit_log ALTER COLUMN subject_id DROP NOT NULL;
ALTER TABLE audit_log
  ADD COLUMN subject_count integer NOT NULL DEFAULT 1,
  ADD COLUMN subject_ids   uuid[],
  ADD COLUMN subject_span  int8range,
  ADD COLUMN afters        text[];
ALTER TABLE audit_log ALTER COLUMN audit_id SET INCREMENT BY 1000;

-- subject_span: from the smallest to the largest of subject_ids, each by its first 60 bits. Ids made together lie close
-- together, so an id is in few spans: one entry per row of the log finds any of its jobs.
CREATE INDEX audit_log_subject_span ON audit_log USING gist (subject_span) WHERE subject_span IS NOT NULL;
