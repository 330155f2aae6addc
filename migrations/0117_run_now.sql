-- "Run now" has words of its own: it delivers ahead of the schedule, and no past.
ALTER TABLE batch_export_backfills
  -- POST run_now/ started it
  ADD COLUMN is_run_now boolean NOT NULL DEFAULT false;
