-- Actions on many runs or exports at once: asked for in one request, worked off by the server, with
-- a result for each item. And how the few runs are found that repeat another one's delivery.

CREATE TABLE bulk_actions (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  -- the project under which it was asked for; null: under the organization
  team_id integer REFERENCES projects ON DELETE CASCADE,
  action text NOT NULL CHECK (action IN
    ('retry_runs', 'cancel_runs', 'pause_exports', 'unpause_exports', 'delete_exports')),
  -- {backfill} of unpause_exports
  options jsonb NOT NULL,
  -- who asked, as the activity log names them
  actor jsonb NOT NULL,
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  status text NOT NULL CHECK (status IN ('Running', 'Completed', 'Aborted')),
  -- why the server ended it early; null where it did not
  detail text,
  total integer NOT NULL,
  succeeded integer NOT NULL DEFAULT 0,
  refused integer NOT NULL DEFAULT 0,
  unchanged integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz CHECK ((finished_at IS NULL) = (status = 'Running')),
  last_updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX bulk_actions_by_organization
  ON bulk_actions (organization_id, created_at DESC, id DESC);
-- what is to be worked off, oldest first
CREATE INDEX bulk_actions_open ON bulk_actions (created_at) WHERE status = 'Running';

-- What an action was about when it was asked for, and what came of it; names outlive their things.
CREATE TABLE bulk_action_items (
  bulk_action_id uuid NOT NULL REFERENCES bulk_actions ON DELETE CASCADE,
  number integer NOT NULL,
  batch_export_id uuid NOT NULL,
  name text NOT NULL,
  run_id uuid,
  outcome text NOT NULL DEFAULT 'pending' CHECK (outcome IN
    ('pending', 'succeeded', 'unchanged', 'refused', 'aborted')),
  -- why it was refused
  detail text,
  new_run_id uuid,
  finished_at timestamptz,
  PRIMARY KEY (bulk_action_id, number)
);
CREATE INDEX bulk_action_items_pending ON bulk_action_items (bulk_action_id, number)
  WHERE outcome = 'pending';

-- the few runs that repeat or part another one's delivery: retries, and what makes up
CREATE INDEX batch_export_runs_repeats ON batch_export_runs (batch_export_id, delivery_id)
  WHERE id <> delivery_id;
