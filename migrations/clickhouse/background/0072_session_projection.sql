-- The projection of sessions for events that were stored before it. Without it these events are
-- looked through one by one.
ALTER TABLE events MATERIALIZE PROJECTION sessions IN PARTITION ID {partition};
