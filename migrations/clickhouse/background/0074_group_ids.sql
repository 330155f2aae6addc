-- The groups of events that were stored before groups were. Without it they are read from the
-- properties at each question.
ALTER TABLE events MATERIALIZE COLUMN group_id IN PARTITION ID {partition};
