-- Destinations of code are delivered by the engine of tools: `failures` and `retry_at` of a cursor
-- are of its delivery, which never stops. Loading, tasks and jobs count and pause for themselves.
-- A release before this one counts all of them in `failures`.

ALTER TABLE plugin_cursors
  -- failures in a row of loading, tasks and jobs; too many stop the config
  ADD COLUMN work_failures integer NOT NULL DEFAULT 0,
  -- until then nothing of the config runs
  ADD COLUMN work_retry_at timestamptz;

-- Which events a destination of code gets: {subscribe, sample_percent, consent}; null: all.
ALTER TABLE plugin_configs ADD COLUMN event_choice json;

-- Events that were passed over since the last one that was taken come again: they are set aside if
-- they are refused again.
UPDATE plugin_cursors SET inserted_at = series_inserted_at, event_uuid = series_event_uuid,
  series_inserted_at = NULL, series_event_uuid = NULL
WHERE series_inserted_at IS NOT NULL;
