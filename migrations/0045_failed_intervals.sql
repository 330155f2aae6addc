-- The earliest interval of a schedule whose run failed, by one look at an index, which stays as
-- small as runs that fail are few.
CREATE INDEX batch_export_runs_failed
  ON batch_export_runs (batch_export_id, revision, data_interval_start, created_at DESC)
  WHERE status IN ('Failed', 'FailedRetryable', 'TimedOut', 'Terminated')
    AND backfill_id IS NULL AND NOT is_make_up;
