-- What answers a page is found by an index, however much is stored beside it.

-- Runs by a status that few have, and lines of the log that few are: most runs complete and most
-- lines tell what went well, so that these indexes stay small and cost them nothing.
CREATE INDEX batch_export_runs_not_well
  ON batch_export_runs (batch_export_id, status, created_at DESC, id DESC)
  WHERE status IN ('Failed', 'FailedRetryable', 'Cancelled', 'TimedOut', 'Terminated',
    'ContinuedAsNew');
CREATE INDEX batch_export_logs_not_well ON batch_export_logs (batch_export_id, id DESC)
  WHERE level IN ('WARNING', 'ERROR');
-- exports by name
CREATE INDEX batch_exports_by_name ON batch_exports (team_id, lower(name), id)
  WHERE deleted_at IS NULL;
-- the rows that backfills delivered, summed by the index alone
CREATE INDEX batch_export_runs_backfilled ON batch_export_runs (batch_export_id, revision)
  INCLUDE (records_completed) WHERE status = 'Completed' AND backfill_id IS NOT NULL;
