-- The sessions of events that were stored before sessions were. Without it they are read from the
-- properties at each question.
ALTER TABLE events MATERIALIZE COLUMN session_id IN PARTITION ID {partition};
