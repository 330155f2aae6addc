-- How the rows of an export go into a table: {mode, primary_key, version_key}; null: by the rule of
-- its model. A run keeps the rule that it began with, as it keeps its query.

ALTER TABLE batch_exports ADD COLUMN write_rule jsonb;
ALTER TABLE batch_export_runs ADD COLUMN write_rule jsonb;
ALTER TABLE batch_export_leftovers ADD COLUMN write_rule jsonb;

CREATE OR REPLACE FUNCTION remember_leftovers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO batch_export_leftovers (run_id, batch_export_id, team_id, delivery_id, revision,
    attempt, data_interval_start, data_interval_end, selection, model, custom_query, write_rule,
    destination_type, destination_config, destination_secrets, worker_id)
  VALUES (OLD.id, OLD.batch_export_id, OLD.team_id, OLD.delivery_id, OLD.revision,
    OLD.attempt, OLD.data_interval_start, OLD.data_interval_end, OLD.selection, OLD.model,
    OLD.custom_query, OLD.write_rule, OLD.destination_type, OLD.destination_config,
    OLD.destination_secrets, OLD.worker_id)
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
