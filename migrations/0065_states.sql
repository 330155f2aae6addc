-- One state for each export: since when each of its conditions holds, and what is missing beside
-- failed intervals.

ALTER TABLE batch_exports
  -- when anything changed last that decides what is delivered, where or by whom; null: never
  ADD COLUMN delivery_changed_at timestamptz;

ALTER TABLE batch_export_health
  -- the first attempt of the first run that failed after the last success
  ADD COLUMN failing_since timestamptz,
  ADD COLUMN incomplete_since timestamptz,
  ADD COLUMN unusual_since timestamptz,
  ADD COLUMN rejecting_since timestamptz,
  -- a run of a backfill failed for good, and nothing has delivered its rows since
  ADD COLUMN backfill_failed_since timestamptz,
  -- when a change began a revision that lacks what earlier ones delivered; null: it lacks nothing
  ADD COLUMN lacks_since timestamptz,
  -- the rows that it lacks; null: not known, because some were delivered again
  ADD COLUMN lacks_rows bigint,
  -- the insertion times that it lacks
  ADD COLUMN lacks_from timestamptz,
  ADD COLUMN lacks_until timestamptz;

UPDATE batch_export_health h SET
  failing_since = CASE WHEN h.is_failing THEN failed.since END,
  incomplete_since = CASE WHEN h.is_incomplete THEN failed.since END
FROM batch_exports e CROSS JOIN LATERAL (
  SELECT min(coalesce(r.started_at, r.created_at)) AS since FROM batch_export_runs r
  WHERE r.batch_export_id = e.id AND r.revision = e.revision
    AND r.status IN ('Failed', 'FailedRetryable') AND r.backfill_id IS NULL
    AND r.data_interval_end > coalesce((SELECT max(well.data_interval_end)
      FROM batch_export_runs well WHERE well.batch_export_id = e.id
        AND well.revision = e.revision AND well.status = 'Completed'
        AND well.backfill_id IS NULL AND well.id = well.delivery_id
        AND well.records_completed > 0), '-infinity')) failed
WHERE e.id = h.batch_export_id AND (h.is_failing OR h.is_incomplete);
