-- A notice tells of each change of a schema once, and of values that do not fit once for each
-- schema; and an export with `wait` says which columns wait for somebody to accept them.

ALTER TABLE batch_exports
  -- the schema number up to which notices have told of its columns; null: no typed run yet
  ADD COLUMN schema_told integer,
  -- the schema number whose values that do not fit were told of
  ADD COLUMN misfits_told integer;

-- The columns of a model that two schema numbers do not both fill; null where there are none.
CREATE FUNCTION schema_changes(of_team integer, of_model text, from_number integer,
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
      AND source = CASE of_model WHEN 'events' THEN 'event' WHEN 'persons' THEN 'person' END
  ) changed
$$;

-- Targets that took every event there was take the new ones too.
UPDATE notice_targets SET events = events || ARRAY(
  SELECT unnest('{table_gone,schema_drift}'::text[]) EXCEPT SELECT unnest(events))
WHERE events @> '{failing,recovered,late,unusual_volume,rejecting,paused_automatically}';
