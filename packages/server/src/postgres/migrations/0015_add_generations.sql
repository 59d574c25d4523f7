-- A database that lost its last moments (a failover to a standby that was behind, a restored backup) gives out transaction ids and
-- epochs again that somebody has already seen. It is told by its timeline, which every promotion raises, and its identity, and
-- counts its generations: what it gives out in a later one is larger than all before. Empty until a server has looked first.
CREATE TABLE storage_generation (
  only_row          boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  generation        integer NOT NULL,
  system_identifier text NOT NULL,      -- empty: not told
  timeline          integer NOT NULL,   -- 0: not told
  database          oid NOT NULL,
  since             timestamptz NOT NULL DEFAULT now()
);

-- Read from the name of the log being written: the control file is behind until the first checkpoint after a promotion. Whatever
-- keeps the database from telling must not keep it from working.
CREATE FUNCTION database_timeline() RETURNS integer LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer;
EXCEPTION WHEN OTHERS THEN
  RETURN 0;
END $$;

CREATE FUNCTION database_system() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT system_identifier::text FROM pg_control_system());
EXCEPTION WHEN OTHERS THEN
  RETURN '';
END $$;

-- A promotion counts from its first statement on, before any server has noticed it; so does the second of two, when the first was
-- lost with it. 3500: see generation-store.ts.
CREATE FUNCTION current_generation() RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
  seen record;
  timeline_now integer;
BEGIN
  SELECT g.generation, g.timeline INTO seen FROM storage_generation g;
  IF NOT FOUND THEN RETURN 0; END IF;
  IF seen.timeline = 0 THEN RETURN seen.generation; END IF;
  timeline_now := database_timeline();
  IF timeline_now IN (0, seen.timeline) THEN RETURN seen.generation; END IF;
  RETURN least(3500, seen.generation + greatest(timeline_now - seen.timeline, 1));
END $$;

-- The transaction that records an event, counted on through the generations. 2^38 transactions lie between two.
CREATE FUNCTION event_xid() RETURNS xid8 LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  generation bigint := current_generation();
BEGIN
  IF generation = 0 THEN RETURN pg_current_xact_id(); END IF;
  RETURN ((generation << 38) + pg_current_xact_id()::text::bigint)::text::xid8;
END $$;

-- Nothing at or after it may be read yet: that transaction, or one before it in this order, is still under way.
CREATE FUNCTION event_horizon() RETURNS xid8 LANGUAGE plpgsql STABLE AS $$
DECLARE
  generation bigint := current_generation();
BEGIN
  IF generation = 0 THEN RETURN pg_snapshot_xmin(pg_current_snapshot()); END IF;
  RETURN ((generation << 38) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint)::text::xid8;
END $$;

ALTER TABLE events ALTER COLUMN xid SET DEFAULT event_xid();
