-- How old the rows of a run were when readers could see them. The cut of a run knows when its
-- oldest and its newest row were inserted, and its end is when they are visible at the latest.
-- `newest_inserted_at` is a microsecond after the row, as the bounds of slices are.

ALTER TABLE batch_export_runs ADD COLUMN oldest_inserted_at timestamptz,
  ADD COLUMN newest_inserted_at timestamptz;

-- Ages of the rows of the latest run of the schedule that had some; null before the first.
ALTER TABLE batch_export_health ADD COLUMN oldest_row_seconds double precision,
  ADD COLUMN newest_row_seconds double precision;
