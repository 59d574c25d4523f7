-- Which admin key each server uses, as a digest, and when it last said so. A session or ticket of an admin key that no server uses any
-- more has ended. Those from before do not say which key they are of, so they end here.
CREATE TABLE admin_keys (
  holder  uuid PRIMARY KEY,
  digest  text NOT NULL,
  seen_at timestamptz NOT NULL
);

DELETE FROM sessions WHERE user_id IS NULL;
DELETE FROM sign_in_tickets;
ALTER TABLE sessions ADD COLUMN admin_key text;
ALTER TABLE sign_in_tickets ADD COLUMN admin_key text NOT NULL;
