-- The event catalogue of a project: which events and properties came in, how many, of which JSON
-- types, first and last when. Counted behind ingestion, a stretch of insertions at a time: the
-- counts of a stretch and the instant up to which is counted are one transaction, so each event
-- counts once. No value of a property is here.

CREATE TABLE event_catalogue_states (
  team_id integer PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
  -- events that were inserted before this instant are counted
  counted_until timestamptz NOT NULL DEFAULT 'epoch',
  -- when that was counted, by which projects take turns
  counted_at timestamptz,
  -- the process that counts has it until then
  claimed_until timestamptz,
  -- what is beyond the bounds: events by name, and values of properties
  other_events bigint NOT NULL DEFAULT 0,
  other_values bigint NOT NULL DEFAULT 0
);

CREATE TABLE event_catalogue (
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  event text NOT NULL,
  events bigint NOT NULL,
  first_seen_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  PRIMARY KEY (team_id, event)
);

-- The latest days, in UTC.
CREATE TABLE event_catalogue_days (
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  event text NOT NULL,
  day date NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (team_id, event, day)
);
-- what is removed after some days
CREATE INDEX event_catalogue_days_by_age ON event_catalogue_days (day);

-- A row for each kind of value that a property of an event has. The event is empty for all events
-- whose name is beyond the bound.
CREATE TABLE event_catalogue_properties (
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  event text NOT NULL,
  property text NOT NULL,
  kind text NOT NULL,
  events bigint NOT NULL,
  first_seen_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  PRIMARY KEY (team_id, event, property, kind)
);
