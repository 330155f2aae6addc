-- What of a project's events was refused, changed, not merged or sent again, by hour and reason, so
-- that nothing disappears in silence. Written in batches, one row for an hour and reason.
CREATE TABLE ingestion_warnings (
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  hour timestamptz NOT NULL,
  reason text NOT NULL,
  events bigint NOT NULL,
  last_at timestamptz NOT NULL,
  -- a few of them, newest first: at, from, event, distinct_id, uuid, sent
  examples jsonb NOT NULL,
  PRIMARY KEY (team_id, hour, reason)
);
-- what is removed after 90 days
CREATE INDEX ingestion_warnings_by_age ON ingestion_warnings (hour);

-- What becomes of events of robots, and of those from addresses of the project's own people.
ALTER TABLE projects
  ADD COLUMN robot_events text NOT NULL DEFAULT 'keep'
    CHECK (robot_events IN ('keep', 'mark', 'drop')),
  ADD COLUMN internal_events text NOT NULL DEFAULT 'keep'
    CHECK (internal_events IN ('keep', 'mark', 'drop')),
  ADD COLUMN internal_addresses text[] NOT NULL DEFAULT '{}';
