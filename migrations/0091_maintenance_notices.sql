-- A notice tells once of files of a table that maintenance cannot read.

-- the sentence that the latest notice told; null: none, or they can be read again
ALTER TABLE lake_maintenance ADD COLUMN told text;

-- Targets that took every event there was take the new one too.
UPDATE notice_targets SET events = events || '{table_unreadable}'::text[]
WHERE events @> '{failing,recovered,late,unusual_volume,rejecting,table_gone,schema_drift,
  paused_automatically}' AND NOT events @> '{table_unreadable}';
