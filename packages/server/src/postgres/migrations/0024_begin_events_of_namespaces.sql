-- Events up to this one tell of another namespace of the same name, which was removed before this one was made.
ALTER TABLE namespaces ADD COLUMN events_after bigint NOT NULL DEFAULT 0;

-- Of namespaces from before this migration only the instant tells.
UPDATE namespaces n SET events_after = e.seq
FROM (
  SELECT m.name, max(d.seq) AS seq
  FROM namespaces m JOIN events d ON d.kind = 'job.deleted' AND d.data->>'namespace' = m.name AND d.at < m.created_at
  GROUP BY m.name
) e
WHERE e.name = n.name;
