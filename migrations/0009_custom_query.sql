-- Exports with a custom query. The query and what it was resolved into stand with the export since 0003; an open run keeps the text that it works with,
-- like its model and its destination, so that an attempt after a change of the export gives the same rows as the attempts before it.

ALTER TABLE batch_export_runs ADD COLUMN custom_query text;

-- A query whose rows cannot be told apart by their insertion is written in one slice, which has no bounds.
ALTER TABLE batch_export_slices ALTER COLUMN inserted_from DROP NOT NULL, ALTER COLUMN inserted_to DROP NOT NULL;
