-- What answers a page shall not cost more where more is stored beside it.

-- The runs of a backfill, of which there may be hundreds of thousands, are counted each time that
-- its progress is shown: by the index alone, and not by reading each of them.
DROP INDEX batch_export_runs_by_backfill;
CREATE INDEX batch_export_runs_by_backfill ON batch_export_runs (backfill_id)
  INCLUDE (status, records_completed, records_total_count) WHERE backfill_id IS NOT NULL;

-- Each version that goes with its plugin is looked for among all plugins.
CREATE INDEX plugins_by_version ON plugins (version_id) WHERE version_id IS NOT NULL;
CREATE INDEX plugins_by_previous_version ON plugins (previous_version_id)
  WHERE previous_version_id IS NOT NULL;
