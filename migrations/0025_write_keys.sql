-- Public keys under which a project's SDKs send events. The project's own api_token is one more.

CREATE TABLE write_keys (
  id uuid PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  -- in the open: it stands in web pages, and can do nothing but send
  value text NOT NULL CONSTRAINT write_keys_value_unique UNIQUE,
  expires_at timestamptz,
  -- set when a successor was made
  rolled_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX write_keys_by_project ON write_keys (team_id, created_at DESC, id DESC);
