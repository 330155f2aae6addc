-- Exports that came out of a backup and whose ledger may lack what was delivered after it. Until
-- that was asked at the destination they are paused and their open runs are not due.

CREATE TABLE reconciliations (
  batch_export_id uuid PRIMARY KEY REFERENCES batch_exports ON DELETE CASCADE,
  -- all rows that were inserted before are in the store that was restored, and none of later
  taken_at timestamptz NOT NULL,
  -- it was not paused in the backup, and goes on once it is reconciled
  goes_on boolean NOT NULL,
  -- why it still waits, as a sentence; null: nobody has asked the destination yet
  detail text
);

-- Whoever plans a run for such an export (a backfill, a retry, the schedule of one that a person
-- has unpaused): it waits until the export is reconciled.
CREATE FUNCTION hold_unreconciled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM reconciliations WHERE batch_export_id = NEW.batch_export_id) THEN
    NEW.due_at := '2999-01-01T00:00:00Z';
    NEW.needs_worker := true;
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER batch_export_runs_unreconciled BEFORE INSERT ON batch_export_runs FOR EACH ROW
  WHEN (NEW.status = 'Starting') EXECUTE FUNCTION hold_unreconciled();
