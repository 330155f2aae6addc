-- Whether an interval of the export's schedule failed for good and nothing has delivered it since.
ALTER TABLE batch_export_health ADD COLUMN is_incomplete boolean NOT NULL DEFAULT false;

-- What a backfill has delivered since is found out when the next run of the export ends.
UPDATE batch_export_health h SET is_incomplete = true
FROM batch_exports e
WHERE e.id = h.batch_export_id AND e.revision = h.revision AND EXISTS (
  SELECT FROM batch_export_runs r
  WHERE r.batch_export_id = e.id AND r.revision = e.revision
    AND r.status IN ('Failed', 'FailedRetryable', 'TimedOut', 'Terminated')
    AND r.backfill_id IS NULL AND NOT r.is_make_up
    AND NOT EXISTS (SELECT FROM batch_export_runs other
      WHERE other.batch_export_id = r.batch_export_id AND other.revision = r.revision
        AND other.data_interval_start = r.data_interval_start
        AND other.data_interval_end = r.data_interval_end AND other.status = 'Completed'));
