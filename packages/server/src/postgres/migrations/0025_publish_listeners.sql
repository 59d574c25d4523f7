-- Where each process listens, be it a node or not: http jobs may not call there.
CREATE TABLE listeners (
  boot_id    uuid PRIMARY KEY,
  addresses  text[] NOT NULL,
  expires_at bigint NOT NULL
) WITH (fillfactor = 50);
