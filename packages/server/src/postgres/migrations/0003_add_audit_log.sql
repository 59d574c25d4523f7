-- Who changed what, from where: appended, never edited. before and after hold the fields that changed.
CREATE TABLE audit_log (
  audit_id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at                timestamptz NOT NULL,
  actor_kind        text NOT NULL,
  actor_id          text NOT NULL,
  actor_name        text NOT NULL,
  action            text NOT NULL,
  namespace         text,
  subject_kind      text NOT NULL,
  subject_id        text NOT NULL,
  before            jsonb,
  after             jsonb,
  address           text,
  user_agent        text,
  request_id        text
);

CREATE INDEX audit_log_subject ON audit_log (subject_id, audit_id);
