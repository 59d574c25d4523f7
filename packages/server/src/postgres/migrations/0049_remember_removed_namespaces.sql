-- Names of namespaces that were removed, and when, by the clock of the database: what was granted by such a name may still be believed somewhere.
CREATE TABLE removed_namespaces (
  name       text COLLATE "C" PRIMARY KEY,
  removed_at bigint NOT NULL
);
