-- Jobs that several requests of one caller made, written together, are one row of the audit log as well: request_ids then has one
-- id for each job, in the order of subject_ids, and request_id is NULL.
ALTER TABLE audit_log ADD COLUMN request_ids text[];
