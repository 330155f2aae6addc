-- Properties of groups can be columns of typed exports too, as those of events and of persons.

ALTER TABLE schema_columns DROP CONSTRAINT schema_columns_source_check,
  ADD CONSTRAINT schema_columns_source_check CHECK (source IN ('event', 'person', 'group'));

-- Whose properties the rows of a model have; null for a model without properties.
CREATE FUNCTION property_source(of_model text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE of_model WHEN 'events' THEN 'event' WHEN 'persons' THEN 'person'
    WHEN 'groups' THEN 'group' END
$$;

CREATE OR REPLACE FUNCTION schema_columns_at(of_team integer, of_model text, at_number integer)
RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN at_number IS NULL THEN NULL ELSE coalesce(jsonb_agg(
    jsonb_build_object('property', property, 'type', type, 'column', "column") ORDER BY position),
    '[]') END
  FROM schema_columns WHERE team_id = of_team AND filled @> at_number
    AND source = property_source(of_model)
$$;

CREATE OR REPLACE FUNCTION schema_columns_until(of_team integer, of_model text, to_number integer)
RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN to_number IS NULL THEN NULL ELSE coalesce(jsonb_agg(
    jsonb_build_object('property', property, 'type', type, 'column', "column") ORDER BY position),
    '[]') END
  FROM schema_columns WHERE team_id = of_team AND lower(filled) <= to_number
    AND source = property_source(of_model)
$$;

CREATE OR REPLACE FUNCTION schema_changes(of_team integer, of_model text, from_number integer,
  to_number integer)
RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN count(*) > 0 THEN jsonb_build_object(
    'schema_number', to_number,
    'added', coalesce(jsonb_agg(one ORDER BY position) FILTER (WHERE is_added), '[]'),
    'removed', coalesce(jsonb_agg(one ORDER BY position) FILTER (WHERE NOT is_added), '[]')) END
  FROM (
    SELECT position, filled @> to_number AS is_added,
      jsonb_build_object('property', property, 'type', type, 'column', "column") AS one
    FROM schema_columns WHERE team_id = of_team
      AND (filled @> from_number) <> (filled @> to_number)
      AND source = property_source(of_model)
  ) changed
$$;

-- The properties that calls set on groups, by type of the group: a row for each kind of value. The
-- type is empty for all types beyond the bound.
CREATE TABLE event_catalogue_groups (
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  group_type text NOT NULL,
  property text NOT NULL,
  kind text NOT NULL,
  events bigint NOT NULL,
  first_seen_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  PRIMARY KEY (team_id, group_type, property, kind)
);

-- Calls that were inserted before this instant are counted. It stays behind `counted_until` for
-- what was counted by an earlier release, which knows no groups.
ALTER TABLE event_catalogue_states
  ADD COLUMN groups_counted_until timestamptz NOT NULL DEFAULT 'epoch';
