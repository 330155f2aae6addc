-- Whatever deletes a project (its organization too) lets go of its exports in the same transaction:
-- they are emptied, what they have open ends, and their history, which may be millions of rows, is
-- removed in small lots afterwards. By cascade it took minutes, in which nobody could write there.

ALTER TABLE batch_exports
  ALTER COLUMN team_id DROP NOT NULL,
  -- the deleted project that it was of: then team_id is null
  ADD COLUMN deleted_team_id integer;
CREATE INDEX batch_exports_released ON batch_exports (deleted_team_id)
  WHERE deleted_team_id IS NOT NULL;

CREATE FUNCTION release_exports() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- In one order, as everybody who locks several of them. While they are locked nothing is planned.
  PERFORM 1 FROM batch_exports WHERE team_id = OLD.id ORDER BY id FOR UPDATE;
  UPDATE batch_exports SET team_id = NULL, deleted_team_id = OLD.id,
    deleted_at = coalesce(deleted_at, now()), name = '', custom_query = NULL, schema = NULL,
    destination_config = NULL, destination_secrets = NULL, pause_reason = NULL, created_by = NULL
  WHERE team_id = OLD.id;
  -- A worker that has one of these runs no longer finds it, cleans up at the destination and stops.
  -- Two statements, since each has an index of few rows.
  DELETE FROM batch_export_runs WHERE team_id = OLD.id
    AND status IN ('Starting', 'Running') AND worker_id IS NULL;
  DELETE FROM batch_export_runs WHERE team_id = OLD.id
    AND status IN ('Starting', 'Running') AND worker_id IS NOT NULL;
  UPDATE batch_export_backfills SET status = 'Cancelled', finished_at = now()
    WHERE finished_at IS NULL AND batch_export_id IN (
      SELECT id FROM batch_exports WHERE deleted_team_id = OLD.id);
  RETURN OLD;
END $$;

CREATE TRIGGER projects_release_exports BEFORE DELETE ON projects
  FOR EACH ROW EXECUTE FUNCTION release_exports();
