-- What a project wants of its events before they are stored: rules that drop, hash, rename or set,
-- a tracking plan, and properties of the device. Nobody can take back what an export has delivered,
-- so what must not leave is taken out on the way in.

-- Counts every change of rules and plan, so that each process sees by one small row whether what it
-- knows is still right. Its lock puts the changes of a project in a row.
CREATE TABLE ingestion_rule_sets (
  team_id integer PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
  version bigint NOT NULL,
  -- the key by which rules hash, sealed; made with the first such rule and kept for good, so that
  -- the same value has the same hash for as long as the project stands
  hash_key bytea
);

CREATE TABLE ingestion_rules (
  id uuid PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  name text NOT NULL,
  -- none: all events
  events text[] NOT NULL,
  action text NOT NULL,
  property text,
  target text NOT NULL,
  new_name text,
  value jsonb,
  only_if_missing boolean NOT NULL,
  enabled boolean NOT NULL,
  position integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ingestion_rules_by_project ON ingestion_rules (team_id, position, created_at, id);

-- Events that a rule changed or dropped, by hour. No reference to the rule: counts outlive it.
CREATE TABLE ingestion_rule_counts (
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  hour timestamptz NOT NULL,
  -- the id of a rule, or user_agent
  source text NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (team_id, hour, source)
);
-- what is removed after 90 days
CREATE INDEX ingestion_rule_counts_by_age ON ingestion_rule_counts (hour);

CREATE TABLE planned_events (
  id uuid PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  event text NOT NULL,
  description text NOT NULL,
  mode text NOT NULL,
  -- a list of name, type, required
  properties jsonb NOT NULL,
  other_properties text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (team_id, event)
);

ALTER TABLE projects
  ADD COLUMN unplanned_events text NOT NULL DEFAULT 'allow'
    CHECK (unplanned_events IN ('allow', 'warn', 'refuse')),
  ADD COLUMN fill_device_properties boolean NOT NULL DEFAULT false;
