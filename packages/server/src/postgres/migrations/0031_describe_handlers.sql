-- What workers say of the handlers they offer, by name: jobs are checked by it, and people read it. The one who says it last is right.
CREATE TABLE handlers (
  name        text COLLATE "C" PRIMARY KEY,
  description text,
  parameters  text, -- a JSON Schema of its payload
  origin      text NOT NULL,
  seen_at     bigint NOT NULL
);
