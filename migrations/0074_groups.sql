-- Exports can have a fifth model: groups, made of the `$groupidentify` events of a type and a key.

ALTER TABLE batch_exports DROP CONSTRAINT batch_exports_model_check,
  ADD CONSTRAINT batch_exports_model_check
    CHECK (model IN ('events', 'persons', 'person_distinct_ids', 'sessions', 'groups'));
