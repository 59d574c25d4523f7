-- When the first run of a lease reaches its time limit, and the limits of all its runs where they differ: what a worker keeps for longer
-- is taken from it. NULL in leases from before.
ALTER TABLE leases ADD COLUMN times_out_at bigint, ADD COLUMN timeouts integer[];
CREATE INDEX leases_times_out_at ON leases (times_out_at);
