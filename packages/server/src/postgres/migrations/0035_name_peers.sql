-- How other servers reach a process, and the public key that its requests to them are checked with. NULL: it does not say.
ALTER TABLE listeners ADD COLUMN peer jsonb;
