-- Counts per window, shared by all servers. Unlogged: after a crash of the database everybody starts again at nothing.
CREATE UNLOGGED TABLE counters (
  name              text NOT NULL,
  window_ms         bigint NOT NULL,
  window_start      bigint NOT NULL,
  count             bigint NOT NULL,
  PRIMARY KEY (name, window_ms, window_start)
);
