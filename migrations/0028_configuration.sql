-- Configuration as code: which objects a configuration manages and what it applied last, and the
-- plans that wait to be applied.

CREATE TABLE configuration_objects (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  kind text NOT NULL,
  -- ids are integers and uuids; the objects of ten tables have no common key to refer to
  object_id text NOT NULL,
  -- the object that it lies in, such as the project of an export; empty: the organization
  parent_id text NOT NULL,
  key text NOT NULL,
  source text NOT NULL,
  commit_id text,
  -- the fields that the files named, as they stood after the apply, without secrets
  fields jsonb NOT NULL,
  -- an HMAC for each secret that the files named
  secrets jsonb NOT NULL,
  applied_at timestamptz NOT NULL,
  PRIMARY KEY (kind, object_id)
);
CREATE INDEX configuration_objects_by_organization
  ON configuration_objects (organization_id, kind);

CREATE TABLE configuration_plans (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  hash text NOT NULL,
  -- what was asked for, with its secrets
  request_sealed bytea NOT NULL,
  -- what was answered
  answer jsonb NOT NULL,
  -- a version of each object that was looked at, by its path
  versions jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  applied_at timestamptz,
  CONSTRAINT configuration_plans_hash_unique UNIQUE (organization_id, hash)
);
CREATE INDEX configuration_plans_by_expiry ON configuration_plans (expires_at);
