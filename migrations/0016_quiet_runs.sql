-- Runs whose interval brought no rows are completed many at a time, without a worker for each (docs/decisions/0020).

-- true: it was looked at and is for a worker, because it has rows or its end has to be told
ALTER TABLE batch_export_runs ADD COLUMN needs_worker boolean NOT NULL DEFAULT false;

-- the planned runs that nobody has looked at yet, those that wait longest first
CREATE INDEX batch_export_runs_unseen ON batch_export_runs (created_at)
  WHERE status = 'Starting' AND attempt = 0 AND worker_id IS NULL AND backfill_id IS NULL AND NOT needs_worker;

-- what the volume of a run is compared with, read from the index alone: of an hourly export some 700 runs for each that ends
CREATE INDEX batch_export_runs_compared ON batch_export_runs (batch_export_id, revision, data_interval_start DESC) INCLUDE (records_completed)
  WHERE status = 'Completed' AND backfill_id IS NULL AND id = delivery_id;
