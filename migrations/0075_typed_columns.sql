-- The schema of a project: which properties are columns of typed exports, each with one type and
-- one column for good. Every change has the next number, so a number says which columns there were.
-- A run keeps the number that it began with, as it keeps its query.

ALTER TABLE projects ADD COLUMN schema_number integer NOT NULL DEFAULT 0;

CREATE TABLE schema_columns (
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  source text NOT NULL CHECK (source IN ('event', 'person')),
  property text NOT NULL,
  type text NOT NULL
    CHECK (type IN ('text', 'integer', 'float', 'boolean', 'timestamp', 'json')),
  -- its name at destinations, never given to another property or type
  "column" text NOT NULL,
  -- its place among the columns of the source
  position integer NOT NULL,
  -- the schema numbers at which it is filled
  filled int4multirange NOT NULL,
  created_by integer REFERENCES users ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (team_id, source, "column"),
  UNIQUE (team_id, source, property, type),
  UNIQUE (team_id, source, position)
);

-- The columns of a model in a project's schema of that number, as a run reads them; null without a
-- number.
CREATE FUNCTION schema_columns_at(of_team integer, of_model text, at_number integer)
RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN at_number IS NULL THEN NULL ELSE coalesce(jsonb_agg(
    jsonb_build_object('property', property, 'type', type, 'column', "column") ORDER BY position),
    '[]') END
  FROM schema_columns WHERE team_id = of_team AND filled @> at_number
    AND source = CASE of_model WHEN 'events' THEN 'event' WHEN 'persons' THEN 'person' END
$$;

-- All columns that a model had up to a number, those that are not filled any more too: what a table
-- can have.
CREATE FUNCTION schema_columns_until(of_team integer, of_model text, to_number integer)
RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN to_number IS NULL THEN NULL ELSE coalesce(jsonb_agg(
    jsonb_build_object('property', property, 'type', type, 'column', "column") ORDER BY position),
    '[]') END
  FROM schema_columns WHERE team_id = of_team AND lower(filled) <= to_number
    AND source = CASE of_model WHEN 'events' THEN 'event' WHEN 'persons' THEN 'person' END
$$;

-- null: properties are one column of JSON
ALTER TABLE batch_exports ADD COLUMN columns text CHECK (columns = 'typed'),
  -- what comes later into the schema: a column at once, or once a person accepts it
  ADD COLUMN new_columns text NOT NULL DEFAULT 'add' CHECK (new_columns IN ('add', 'wait')),
  -- the number up to which a person accepted columns, with `wait`
  ADD COLUMN schema_number integer;

ALTER TABLE batch_export_runs ADD COLUMN schema_number integer,
  -- values that did not fit the type of their column and went into the rest
  ADD COLUMN values_unfit bigint;
ALTER TABLE batch_export_leftovers ADD COLUMN schema_number integer;

CREATE OR REPLACE FUNCTION remember_leftovers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO batch_export_leftovers (run_id, batch_export_id, team_id, delivery_id, revision,
    attempt, data_interval_start, data_interval_end, selection, model, custom_query, write_rule,
    schema_number, destination_type, destination_config, destination_secrets, worker_id)
  VALUES (OLD.id, OLD.batch_export_id, OLD.team_id, OLD.delivery_id, OLD.revision,
    OLD.attempt, OLD.data_interval_start, OLD.data_interval_end, OLD.selection, OLD.model,
    OLD.custom_query, OLD.write_rule, OLD.schema_number, OLD.destination_type,
    OLD.destination_config, OLD.destination_secrets, OLD.worker_id)
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
