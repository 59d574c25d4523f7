-- When a worker that is not among the workers any more, or offers less than before, last offered a handler: a run is given up only
-- after its handler was offered by nobody for long enough.
CREATE TABLE handler_offers (
  handler    text COLLATE "C" PRIMARY KEY,
  offered_at bigint NOT NULL
);
