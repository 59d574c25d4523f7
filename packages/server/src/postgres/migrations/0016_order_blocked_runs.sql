-- What asks and what waits of a job are looked for apart: one of them may be very long.
DROP INDEX due_blocked;
CREATE INDEX due_blocked ON due (job_id, blocked, fire_at, nominal_at, run_id) WHERE blocked > 0;
