-- A service key belongs to an organization and to no person, so a program keeps working after the
-- person who made the key has left. A setup link lets somebody without an account set up single
-- sign-on for one domain.
--
-- Processes of the release before do not know both: they refuse the keys and have no page for the
-- links.

CREATE TABLE service_keys (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  -- HMAC-SHA-256 of the key under the server's secret
  key_hash bytea NOT NULL CONSTRAINT service_keys_hash_unique UNIQUE,
  mask_value text NOT NULL,
  -- what the key may do stays as it was granted, whatever becomes of the person who made it; what
  -- owners alone may do, no key of nobody may
  level smallint NOT NULL CHECK (level IN (1, 8)),
  scopes text[] NOT NULL,
  -- null: all projects, and the organization itself
  scoped_teams integer[],
  allowed_ip_ranges text[] NOT NULL DEFAULT '{}',
  -- who saw it when it was made or rotated; null: their account is deleted
  created_by integer REFERENCES users ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  rolled_at timestamptz,
  -- which of the warnings (14 days before, 1 day before) the owners got
  expiry_warned_days smallint,
  last_used_at timestamptz,
  last_used_ip text,
  last_used_user_agent text
);
CREATE INDEX service_keys_by_organization ON service_keys (organization_id, created_at);
CREATE INDEX service_keys_by_creator ON service_keys (created_by) WHERE created_by IS NOT NULL;
CREATE INDEX service_keys_by_expiry ON service_keys (expires_at) WHERE expires_at IS NOT NULL;

-- As idempotency_keys, for requests with a service key: a row there belongs to a person, and the
-- release before relies on that.
CREATE TABLE service_idempotency_keys (
  service_key_id uuid NOT NULL REFERENCES service_keys ON DELETE CASCADE,
  key text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  body_hash bytea NOT NULL,
  claim_id uuid NOT NULL,
  status smallint,
  response_headers jsonb,
  response_sealed bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  locked_until timestamptz NOT NULL,
  epoch integer NOT NULL DEFAULT control_epoch(),
  PRIMARY KEY (service_key_id, key, method, path)
);
CREATE INDEX service_idempotency_keys_by_age ON service_idempotency_keys (created_at);

-- A bulk action of a service key ends with the key, as that of a person ends with their membership.
ALTER TABLE bulk_actions
  ALTER COLUMN user_id DROP NOT NULL,
  ADD COLUMN service_key_id uuid;

CREATE TABLE setup_links (
  id uuid PRIMARY KEY,
  domain_id uuid NOT NULL REFERENCES domains ON DELETE CASCADE,
  -- of whom and under which name the domain was when the link was created: it opens no other
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  domain text NOT NULL,
  -- who gets the link, in the words of the owner
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  -- the owner without whom it ends; null: their account is deleted
  maker_id integer REFERENCES users ON DELETE SET NULL,
  token_hash bytea NOT NULL CONSTRAINT setup_links_token_unique UNIQUE,
  mask_value text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  last_used_at timestamptz
);
CREATE INDEX setup_links_by_domain ON setup_links (domain_id);
CREATE INDEX setup_links_by_organization ON setup_links (organization_id);
CREATE INDEX setup_links_by_maker ON setup_links (maker_id) WHERE maker_id IS NOT NULL;
CREATE INDEX setup_links_by_expiry ON setup_links (expires_at);
