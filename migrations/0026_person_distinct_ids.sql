-- Exports can have a third model: which distinct ids are one person.

ALTER TABLE batch_exports DROP CONSTRAINT batch_exports_model_check,
  ADD CONSTRAINT batch_exports_model_check
    CHECK (model IN ('events', 'persons', 'person_distinct_ids'));
