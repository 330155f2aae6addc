-- Exports can have a fourth model: sessions, made of the events of one `$session_id`.

ALTER TABLE batch_exports DROP CONSTRAINT batch_exports_model_check,
  ADD CONSTRAINT batch_exports_model_check
    CHECK (model IN ('events', 'persons', 'person_distinct_ids', 'sessions'));
