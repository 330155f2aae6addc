-- Deleted projects whose events and persons are still to be removed, and certificates of those that
-- were. Whatever deletes a project (its organization too) notes it here, in the same transaction.

CREATE TABLE removals (
  team_id integer PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_name text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  -- when a process took it last; one that was killed is followed by another one
  claimed_at timestamptz,
  -- rows that were there when the first process looked
  events bigint,
  persons bigint,
  ended_at timestamptz,
  -- what was removed, as JSON, and the server's Ed25519 signature of exactly that text
  certificate text,
  signature text
);

CREATE INDEX removals_open ON removals (requested_at) WHERE ended_at IS NULL;

CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO removals (team_id, organization_id, project_name)
    VALUES (OLD.id, OLD.organization_id, OLD.name) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE TRIGGER projects_removal AFTER DELETE ON projects
  FOR EACH ROW EXECUTE FUNCTION note_removal();
