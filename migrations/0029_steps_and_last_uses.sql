-- What the server knew and nobody could see: how long the steps of a run took, and from where a key
-- was used last.

ALTER TABLE batch_export_runs
  -- the attempts, oldest first, each with how long its steps took; see server/engine/run.ts
  ADD COLUMN steps jsonb NOT NULL DEFAULT '[]';
