-- Sessions of the admin key belong to nobody. A ticket opens one such session, on any server, once.
ALTER TABLE sessions ALTER COLUMN user_id DROP NOT NULL;
ALTER TABLE sessions ADD COLUMN method text NOT NULL DEFAULT 'password';

CREATE TABLE sign_in_tickets (
  hash              text PRIMARY KEY,
  expires_at        timestamptz NOT NULL
);
