-- One stored credential that many exports use: where a server or an account is, and who signs in
-- there. An export keeps its whole config in its own row, so that whoever works on it needs no
-- second look; `connection_id` says whose part of that config comes from where. A process of the
-- release before delivers such an export as it stands.

CREATE TABLE connections (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  destination_type text NOT NULL,
  -- what may be shown, with the defaults of absent keys
  destination_config jsonb NOT NULL,
  -- the secret keys: an AES-256-GCM envelope
  destination_secrets bytea,
  -- of which keys a secret is stored
  secret_keys text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX connections_by_organization ON connections (organization_id, created_at DESC, id DESC);

ALTER TABLE batch_exports
  ADD COLUMN connection_id uuid REFERENCES connections ON DELETE SET NULL;
CREATE INDEX batch_exports_by_connection ON batch_exports (connection_id)
  WHERE connection_id IS NOT NULL;

-- What goes with a deleted organization is counted; after the trigger of 0039, in the order of
-- their names.
CREATE FUNCTION note_connection_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE deletions SET counts = counts || jsonb_build_object(
    'connections', (SELECT count(*) FROM connections WHERE organization_id = OLD.id))
  WHERE id = OLD.id;
  RETURN OLD;
END $$;
CREATE TRIGGER organizations_deletion_connections BEFORE DELETE ON organizations
  FOR EACH ROW EXECUTE FUNCTION note_connection_deletion();
