-- A backfill says what it will do and when, and what it left alone. What a run had begun when its project was deleted
-- is remembered until it is removed from the destination. And a slice may end
-- between rows of one insertion, where a file would be larger than it may.

ALTER TABLE batch_export_backfills
  -- what a person is to know of it now, as a sentence; null of those from before
  ADD COLUMN detail text,
  -- when its watermark has settled, so that its first runs can be planned
  ADD COLUMN settles_at timestamptz,
  -- rows of the range that this export had delivered already, or had in other runs, when the runs of this backfill were planned
  ADD COLUMN records_elsewhere bigint NOT NULL DEFAULT 0;

-- What runs had begun that were deleted with their project or organization, until it is removed from the destination. A
-- trigger and not the deleting statement: rows go by cascades, and a worker that is killed in the same moment knows nothing.
CREATE TABLE batch_export_leftovers (
  run_id uuid PRIMARY KEY,
  batch_export_id uuid NOT NULL,
  team_id integer NOT NULL,
  delivery_id uuid NOT NULL,
  revision integer NOT NULL,
  attempt integer NOT NULL,
  data_interval_start timestamptz NOT NULL,
  data_interval_end timestamptz NOT NULL,
  selection jsonb NOT NULL,
  model text NOT NULL,
  custom_query text,
  destination_type text NOT NULL,
  destination_config jsonb,
  -- as those of the run: an envelope for its export
  destination_secrets bytea,
  -- the worker that had the run: it removes this while it lives
  worker_id uuid,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION remember_leftovers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO batch_export_leftovers (run_id, batch_export_id, team_id, delivery_id, revision, attempt, data_interval_start,
    data_interval_end, selection, model, custom_query, destination_type, destination_config, destination_secrets, worker_id)
  VALUES (OLD.id, OLD.batch_export_id, OLD.team_id, OLD.delivery_id, OLD.revision, OLD.attempt, OLD.data_interval_start,
    OLD.data_interval_end, OLD.selection, OLD.model, OLD.custom_query, OLD.destination_type, OLD.destination_config,
    OLD.destination_secrets, OLD.worker_id)
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

-- an open run has a destination once a worker has taken it
CREATE TRIGGER batch_export_runs_leftovers AFTER DELETE ON batch_export_runs FOR EACH ROW
  WHEN (OLD.status IN ('Starting', 'Running') AND OLD.destination_type IS NOT NULL) EXECUTE FUNCTION remember_leftovers();

ALTER TABLE batch_export_slices
  -- the first row of the slice among those of the instant inserted_from; null: all of them
  ADD COLUMN key_from text,
  -- the first row of the next slice among those of the instant inserted_to; null: the slice has none of that instant
  ADD COLUMN key_to text;
