-- What SDKs sent and was refused, with its bytes, so that it can be sent again: most programs hear
-- of a refusal and throw the events away. Kept for some days and up to so many bytes of a project
-- and day, and gone with any erasure of the project, because nobody can tell whose it is.
CREATE TABLE refused_events (
  id uuid PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  received_at timestamptz NOT NULL,
  reason text NOT NULL,
  -- what is wrong, for people
  detail text NOT NULL,
  protocol text NOT NULL,
  -- the path by which it came, and what would be its body there
  path text NOT NULL,
  content bytea NOT NULL,
  event text,
  distinct_id text
);
CREATE INDEX refused_events_by_project ON refused_events (team_id, received_at, id);
-- what is removed after some days
CREATE INDEX refused_events_by_age ON refused_events (received_at);
