-- Domains that organizations claim and prove by DNS, and what a proved one decides about signing in. One row is a claim; where its proof stands is in the row, so
-- that every process of the server can carry the look-ups on.

CREATE TABLE domains (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  -- lower case and ASCII, in the order of ASCII; one claim per name over the whole server, also of claims that race
  domain text COLLATE "C" NOT NULL CONSTRAINT domains_domain_unique UNIQUE CHECK (domain = lower(domain)),
  verification_challenge text NOT NULL,
  jit_provisioning_enabled boolean NOT NULL DEFAULT false,
  sso_enforcement text NOT NULL DEFAULT '',
  saml_entity_id text,
  saml_acs_url text,
  saml_x509_cert text,
  -- the latest end of the certificates in saml_x509_cert, and how many days before it the last warning went out
  saml_expires_at timestamptz,
  saml_warned_days smallint,
  state text NOT NULL CHECK (state IN ('pending', 'verified', 'failed', 'lapsed')),
  since_at timestamptz NOT NULL,
  -- of a verified domain: the first look-up in a row that was answered without the challenge
  missing_since_at timestamptz CHECK (missing_since_at IS NULL OR state = 'verified'),
  reason text NOT NULL,
  last_checked_at timestamptz,
  -- null: the server looks no more by itself, and the name may be claimed by another organization
  next_check_at timestamptz,
  -- a process is looking it up until then; after that another may
  checking_until timestamptz,
  created_at timestamptz NOT NULL
);
CREATE INDEX domains_by_organization ON domains (organization_id, domain);
CREATE INDEX domains_by_next_check ON domains (next_check_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX domains_by_saml_expiry ON domains (saml_expires_at) WHERE saml_expires_at IS NOT NULL;
