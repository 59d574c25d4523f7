-- What fingerprints of errors are shown by: without it nobody can compute the fingerprint of a guess. Made by whoever needs it first.
CREATE TABLE fingerprint_key (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  key      text NOT NULL
);
