-- A run of an export with the mode `replace` writes a generation of its table: all rows as of its
-- end. `stands`: its rows are in the table. `replaced`: a later generation took their place, so no
-- receipt of it is expected at the destination. Null: the run adds rows to others.

ALTER TABLE batch_export_runs ADD COLUMN generation text
  CHECK (generation IN ('stands', 'replaced'));

CREATE INDEX batch_export_runs_standing ON batch_export_runs (batch_export_id)
  WHERE generation = 'stands';
