-- A cursor knows the last occurrence that was fired. When it goes (its schedule ended, or the job became a one-off), the job
-- keeps that: a plan made later never goes back to or before it.
ALTER TABLE jobs ADD COLUMN last_nominal_at bigint;
