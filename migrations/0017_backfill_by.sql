-- A backfill says by which time it selects rows. What a paused schedule left out is known by the time at which it was taken in, which no range of event time can name.
ALTER TABLE batch_export_backfills ADD COLUMN selects_by text NOT NULL DEFAULT 'timestamp' CHECK (selects_by IN ('timestamp', 'inserted_at'));
-- Persons have no other time.
UPDATE batch_export_backfills backfill SET selects_by = 'inserted_at' FROM batch_exports export WHERE export.id = backfill.batch_export_id AND export.model = 'persons';
