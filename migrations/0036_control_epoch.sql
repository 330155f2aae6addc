-- What a standby that was promoted must know of claims that were made under the primary before it.
-- Numbers that count (the attempt of a run, a generation of persons) may come a second time where
-- commits were lost, and an old primary that lives on goes on to count (docs/decisions/0062).

-- PostgreSQL's timeline, which grows with each promotion; 0 where the server does not tell it.
CREATE FUNCTION control_epoch() RETURNS integer LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::integer;
EXCEPTION
  WHEN feature_not_supported OR undefined_function OR insufficient_privilege
    OR object_not_in_prerequisite_state THEN RETURN 0;
END $$;

-- How far the log was written when this was asked; null where the server does not tell it.
CREATE FUNCTION control_position() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN pg_current_wal_insert_lsn()::text;
EXCEPTION
  WHEN feature_not_supported OR undefined_function OR insufficient_privilege
    OR object_not_in_prerequisite_state THEN RETURN NULL;
END $$;

ALTER TABLE batch_export_runs
  -- the timeline under which the run was planned, or claimed last
  ADD COLUMN epoch integer NOT NULL DEFAULT control_epoch();

ALTER TABLE idempotency_keys
  -- the timeline under which the request came: its answer may have been lost with the primary
  ADD COLUMN epoch integer NOT NULL DEFAULT control_epoch();

ALTER TABLE ingestion_states
  -- the timeline under which the batch under way was noted; its writer may hold a lock on a primary
  -- that is none any more, and not know it
  ADD COLUMN batch_epoch integer;
