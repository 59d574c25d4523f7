-- Worker keys: the handlers that their workers may offer. NULL: an ordinary key.
ALTER TABLE api_keys ADD COLUMN worker_handlers text[];

-- What workers say of themselves when they register.
ALTER TABLE workers
  ADD COLUMN name     text,
  ADD COLUMN language text,
  ADD COLUMN version  text,
  ADD COLUMN labels   jsonb NOT NULL DEFAULT '{}',
  -- Somebody asked it to take no more runs; its heartbeats tell it.
  ADD COLUMN draining boolean NOT NULL DEFAULT false,
  -- Handlers that have not returned though their runs were reported; its heartbeats say how many.
  ADD COLUMN stuck    integer NOT NULL DEFAULT 0;
