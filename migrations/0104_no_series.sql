-- Destinations of code passed over events in a row until the delivery engine of tools took them
-- (0094). Nothing was released before 1.0, so no release reads where such a row began.
-- Oldest release: 1.0.0
ALTER TABLE plugin_cursors DROP COLUMN series_inserted_at, DROP COLUMN series_event_uuid;
