-- The projection of groups for events that were stored before it. Without it these events are
-- looked through one by one.
ALTER TABLE events MATERIALIZE PROJECTION groups IN PARTITION ID {partition};
