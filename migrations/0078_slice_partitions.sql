-- The day and the event that all rows of a slice share, where files are parted by them:
-- {date, event, timezone}; null: by neither.

ALTER TABLE batch_export_slices ADD COLUMN partition jsonb;
