-- Who signs in with an OpenID Connect provider is known by its issuer and subject, whatever they are called.
ALTER TABLE users ADD COLUMN issuer text, ADD COLUMN subject text;
CREATE UNIQUE INDEX users_identity ON users (issuer, subject) WHERE issuer IS NOT NULL;
