-- What workers that are bound to some namespaces say of the payloads of their handlers: jobs of these namespaces alone are checked by it.
CREATE TABLE bound_handlers (
  namespace  text COLLATE "C" REFERENCES namespaces (name) ON DELETE CASCADE,
  name       text COLLATE "C",
  parameters text NOT NULL, -- a JSON Schema of its payload
  seen_at    bigint NOT NULL,
  PRIMARY KEY (namespace, name)
);
