-- Words that people put on exports, to find those of one team or purpose.
ALTER TABLE batch_exports ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
