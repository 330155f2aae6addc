-- Whoever sets up a provider of one organization must not open others with it. A session says how
-- it was opened; an organization says which providers it accepts and what it asks of sessions; and
-- what somebody below an owner changes of a provider waits for an owner.

ALTER TABLE sessions
  -- whose provider opened it; null with a provider's method: it reaches no organization
  ADD COLUMN domain_id uuid REFERENCES domains ON DELETE SET NULL,
  -- when the person last showed what is their own: password and second factor, or a passkey
  ADD COLUMN own_factor_at timestamptz,
  ADD COLUMN second_factor_at timestamptz,
  -- the provider is new to an account with a second factor, which was not shown yet
  ADD COLUMN awaits_factor boolean NOT NULL DEFAULT false,
  -- HMAC of the provider's settings with which it was opened
  ADD COLUMN provider_settings_hash bytea;
CREATE INDEX sessions_by_domain ON sessions (domain_id) WHERE domain_id IS NOT NULL;

UPDATE sessions s SET domain_id = d.id FROM users u, domains d
  WHERE u.id = s.user_id AND d.domain = split_part(comparable_address(u.email), '@', 2)
    AND s.method NOT IN ('password', 'link') AND d.state = 'verified'
    AND (s.method = 'saml' OR d.sso_enforcement = s.method);
-- The operator's providers are a first factor of the account: its only one where it has no other.
UPDATE sessions s SET own_factor_at = s.created_at FROM users u
  WHERE u.id = s.user_id AND s.method NOT IN ('password', 'link', 'saml')
    AND u.totp_confirmed_at IS NULL;

-- An HMAC of the provider's settings under which the person showed their own second factor.
ALTER TABLE social_identities ADD COLUMN trusted_settings_hash bytea;

-- Providers of other organizations by whose sign-ins people come in here as well.
CREATE TABLE accepted_providers (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  domain_id uuid NOT NULL REFERENCES domains ON DELETE CASCADE,
  created_by integer REFERENCES users ON DELETE SET NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, domain_id)
);
CREATE INDEX accepted_providers_by_domain ON accepted_providers (domain_id);
CREATE INDEX accepted_providers_by_creator ON accepted_providers (created_by);

-- Which organizations a sign-in through the provider of a domain opens.
CREATE VIEW provider_reach AS
  SELECT id AS domain_id, organization_id FROM domains
  UNION ALL SELECT domain_id, organization_id FROM accepted_providers;

ALTER TABLE organizations
  ADD COLUMN provider_is_second_factor boolean NOT NULL DEFAULT false,
  ADD COLUMN requires_sso boolean NOT NULL DEFAULT false,
  ADD COLUMN session_hours_max integer CHECK (session_hours_max > 0),
  ADD COLUMN idle_minutes_max integer CHECK (idle_minutes_max > 0),
  ADD COLUMN allowed_ip_ranges text[] NOT NULL DEFAULT '{}';
-- Members from elsewhere whom an owner lets in although the organization asks for single sign-on.
ALTER TABLE members ADD COLUMN is_sso_exempt boolean NOT NULL DEFAULT false;

-- What waits for an owner: {changes: {field: value}, set_by, set_at}.
ALTER TABLE domains ADD COLUMN pending json;
